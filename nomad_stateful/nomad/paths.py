"""Paths below /v1/ of Nomad's API, with ids quoted: an id may hold a slash, such as that of a periodic job's run."""

from urllib.parse import quote


def job_path(job_id: str) -> str:
    """Returns where the API has a job."""
    return f"job/{quote(job_id, safe='')}"


def volume_path(volume_id: str) -> str:
    """Returns where the API has a CSI volume."""
    return f"volume/csi/{quote(volume_id, safe='')}"


def plugin_path(plugin_id: str) -> str:
    """Returns where the API has a CSI plugin."""
    return f"plugin/csi/{quote(plugin_id, safe='')}"
