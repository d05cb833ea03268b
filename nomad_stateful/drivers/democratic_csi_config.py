"""What democratic-csi needs in its configuration file: it starts without it, and fails at its first probe or volume.

https://github.com/democratic-csi/democratic-csi/tree/master/examples
"""

from collections.abc import Iterator
from typing import Any

from nomad_stateful.drivers.model import ConfigProblem, NetworkShare

ZFS_NFS = "zfs-generic-nfs"
CLIENT = "nfs-client"
SHARE_PROPERTIES = "nfs.shareStrategySetDatasetProperties.properties"
_NEEDED = {
    ZFS_NFS: ("zfs.datasetParentName", "zfs.detachedSnapshotsDatasetParentName", "nfs.shareHost"),
    CLIENT: ("nfs.shareHost", "nfs.shareBasePath", "nfs.controllerBasePath"),
}
_STRATEGY = "setDatasetProperties"


def config_problem(text: str) -> ConfigProblem | None:
    """Returns what is wrong with a configuration, without any value of it; other ``driver`` kinds are not checked."""
    try:
        config = _read(text)
    except ValueError as error:
        return ConfigProblem(str(error), "follow upstream's examples")
    return next(_problems(config), None)


def controller_share(text: str) -> NetworkShare | None:
    """Returns the share in which a controller of nfs-client makes its folders, which it does not mount by itself."""
    config = _read(text)
    if config.get("driver") != CLIENT:
        return None
    server, share, base = (str(_get(config, key)) for key in _NEEDED[CLIENT])
    return NetworkShare(server, share, base)


def _read(text: str) -> dict[str, Any]:
    import yaml  # of one driver alone

    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        # The parser's message quotes the text, which may hold a key.
        mark = getattr(error, "problem_mark", None)
        raise ValueError(f"it is not valid YAML{f' (line {mark.line + 1})' if mark else ''}") from None
    if not isinstance(found, dict):
        raise ValueError("it is not a mapping")
    return found


def _problems(config: dict[str, Any]) -> Iterator[ConfigProblem]:
    kind = config.get("driver")
    if not isinstance(kind, str) or not kind:
        yield ConfigProblem("driver is missing", f"set it, for example driver: {ZFS_NFS}")
        return
    for key in _NEEDED.get(kind, ()):
        if not _get(config, key):
            yield ConfigProblem(f"{key} is missing, which {kind} needs", "add it")
    if kind == ZFS_NFS:
        yield from _zfs_problems(config)


def _zfs_problems(config: dict[str, Any]) -> Iterator[ConfigProblem]:
    volumes, snapshots = (f"{str(_get(config, key)).strip('/')}/" for key in _NEEDED[ZFS_NFS][:2])
    if volumes.startswith(snapshots) or snapshots.startswith(volumes):
        yield ConfigProblem(
            "zfs.datasetParentName and zfs.detachedSnapshotsDatasetParentName overlap",
            "use two datasets that do not contain each other",
        )
    if _get(config, "nfs.shareStrategy") != _STRATEGY:
        yield ConfigProblem(f"nfs.shareStrategy is not {_STRATEGY}, the only supported one", f"set it to {_STRATEGY}")
    properties = _get(config, SHARE_PROPERTIES)
    if not isinstance(properties, dict) or not any(properties.get(key) for key in ("share", "sharenfs")):
        yield ConfigProblem(
            f"{SHARE_PROPERTIES} sets neither sharenfs nor share, so no volume would be exported",
            'add it, with sharenfs: "on" for example',
        )
    connection = config.get("sshConnection")
    if connection is not None and not _get(config, "sshConnection.host"):
        yield ConfigProblem("sshConnection.host is missing", "name the file server")
    if connection is not None and not any(_get(config, f"sshConnection.{key}") for key in ("privateKey", "password")):
        yield ConfigProblem("sshConnection has no privateKey and no password", "add the key that may log in")


def _get(config: dict[str, Any], key: str) -> Any:
    found: Any = config
    for part in key.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found
