"""Which plugin gets which version of its driver, what an update would change, and what is refused before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nomad_stateful.drivers.catalogue import DRIVERS
from nomad_stateful.drivers.model import parse_version
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.operate.engine import Change
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.resource_types import NOMAD_JOB

PLUGINS = "nomad-stateful:plugins"


class UpgradeRefusedError(OperateError):
    """The upgrade cannot be done; nothing was changed."""

    exit_status = 4


@dataclass(frozen=True)
class Wanted:
    """A plugin of the settings, and what it is to run."""

    plugin_id: str
    index: int
    """Its place in the settings."""
    before: str
    version: str
    node_job: str
    settings: Mapping[str, str]
    """Changes of the settings by path."""
    earlier: Mapping[str, str]
    """What they were."""


def wanted(plugins: Sequence[Mapping[str, Any]], plugin_id: str, version: str, *, down: bool) -> Wanted:
    """Returns what is to be done with the settings' plugins; `down` allows an older version. Raises RefusedError."""
    index = _index(plugins, plugin_id)
    plugin = plugins[index]
    name, driver = str(plugin["id"]), str(plugin.get("driver") or "ebs")
    key = f"plugins.{name}"
    if driver != "ebs":
        raise UpgradeRefusedError(
            f"{key}.driver is {driver}: mounts of this driver may end with its node plugin, so its consumers have to "
            "be drained first. Set its version, and run `pulumi up` on clients that are drained (nomad-stateful drain)"
        )
    before = str(plugin.get("version") or DRIVERS[driver].default_version)
    _check_version(key, before, version, down=down)
    if ":" in str(plugin.get("image") or "").rpartition("/")[2]:
        raise UpgradeRefusedError(
            f"{key}.image is {plugin['image']}: it pins the version by itself. Leave its tag out, `pulumi up`, repeat"
        )
    path = f"{PLUGINS}[{index}].version"
    node_job = str((plugin.get("jobIds") or {}).get("node") or f"plugin-{name}-node")
    return Wanted(name, index, before, version, node_job, {path: version}, {path: before})


def _index(plugins: Sequence[Mapping[str, Any]], plugin_id: str) -> int:
    names = [str(plugin.get("id")) for plugin in plugins]
    if plugin_id in names:
        return names.index(plugin_id)
    of_ebs = [number for number, plugin in enumerate(plugins) if str(plugin.get("driver") or "ebs") == "ebs"]
    if not plugin_id and len(of_ebs) == 1:
        return of_ebs[0]
    what = f"--plugin is {plugin_id}: the stack has no such plugin" if plugin_id else "--plugin is not set"
    raise UpgradeRefusedError(f"{what}. Use one of {', '.join(names) or 'none'}")


def _check_version(key: str, before: str, version: str, *, down: bool) -> None:
    try:
        old, new = parse_version(before), parse_version(version)
    except ValueError:
        raise UpgradeRefusedError(
            f"VERSION is {version}: it must be a released version, such as v1.48.0; {key} has {before}"
        ) from None
    if not version.startswith("v"):
        raise UpgradeRefusedError(f"VERSION is {version}: write v{version}, as the releases are named")
    if new[0] != old[0]:
        raise UpgradeRefusedError(
            f"VERSION is {version}: {key} has {before}, and another major version may need other settings. Read its "
            "release notes, set it, and run `pulumi up`"
        )
    if new < old and not down:
        raise UpgradeRefusedError(
            f"VERSION is {version}: {key} has {before}, which is newer. An older driver may not know what the newer "
            "one did (docs/clients.md); --downgrade if it is meant"
        )


def refuse_others(wanted: Wanted, found: Sequence[Change]) -> None:
    """Raises UpgradeRefusedError where an `up` would change more than the plugin."""
    others = [
        one.name for one in found if one.op != "update" or (one.type == NOMAD_JOB and wanted.plugin_id not in one.name)
    ]
    if others:
        raise UpgradeRefusedError(
            f"an update would change more than plugin {wanted.plugin_id}: {', '.join(sorted(others))}. Run `pulumi up` "
            "for what is pending first, or `pulumi preview` to see it"
        )


def changed_job(api: NomadApi, job_id: str, found: Sequence[Change]) -> dict[str, Any] | None:
    """Returns a job as the update will register it, None where it does not change. Raises NomadError."""
    for one in found:
        spec = str(one.inputs.get("jobspec") or "")
        if one.type == NOMAD_JOB and f'"{job_id}"' in spec:
            variables = (one.inputs.get("hcl2") or {}).get("vars") or {}
            file = "\n".join(f"{name} = {value}" for name, value in variables.items())
            body = {"JobHCL": spec, "Variables": file, "Canonicalize": True}
            return dict(api.put("jobs/parse", body))
    return None
