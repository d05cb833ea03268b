"""How the drill's empty server gets a dump: by the tasks of the stack's own job that restores dumps.

Its `fetch` brings the dump from S3, here to the scratch volume, and compares its checksum; the script of its `restore`
loads it, once the server answers. So a drill proves what `nomad-stateful restore` would do.
"""

from __future__ import annotations

import copy

from nomad_stateful.operate.drill.model import DrillError, Dump, Json

FETCH = "fetch"
"""The task that fetches the dump."""
_RESTORE = "restore"
_SCRIPT = "local/restore.sh"
_FOLDER = ".drill-dump"


def argument(fetcher: Json, name: str) -> str:
    """Returns what a task of the agent's is given as --NAME. Raises DrillError."""
    words = [str(word) for word in fetcher["Config"].get("args") or []]
    found = next((word for word in words if word.startswith(f"--{name}=")), None)
    if found is None:
        raise DrillError(
            f"the stack's job that restores dumps has no --{name} in its task {fetcher['Name']}, as in an earlier "
            "release: run `pulumi up`"
        )
    return found.partition("=")[2]


def add(job: Json, restore: Json, dump: Dump) -> None:
    """Changes the drill's job so that its server is filled from the dump; `restore` is the stack's job that restores.

    Raises DrillError.
    """
    known = {task["Name"]: task for task in restore["TaskGroups"][0]["Tasks"]}
    fetcher, loader = copy.deepcopy(known[FETCH]), known[_RESTORE]
    script = next((one for one in loader["Templates"] if one["DestPath"] == _SCRIPT), None)
    if script is None:
        raise DrillError(f"job {restore['ID']} loads dumps in another way than this release: run `pulumi up`")
    [group] = job["TaskGroups"]
    server, checker = group["Tasks"][0], group["Tasks"][-1]
    mounts = copy.deepcopy(server["VolumeMounts"])
    folder = f"{mounts[0]['Destination']}/{_FOLDER}"
    job["Meta"] = {**(job.get("Meta") or {}), "dump": dump.id, "from": "s3"}
    words = [word for word in fetcher["Config"]["args"] if not str(word).startswith("--folder=")]
    fetcher["Config"] = {**fetcher["Config"], "args": [*words, f"--folder={folder}"]}
    fetcher |= {"VolumeMounts": mounts, "Services": None, "RestartPolicy": None}
    checker |= {"VolumeMounts": mounts, "Resources": dict(loader["Resources"])}
    checker["Env"] |= {"DRILL_DUMP": dump.id, "DUMPS": folder}
    checker["Templates"].append(copy.deepcopy(script))
    group["Tasks"].insert(0, fetcher)
