"""nomad:index/namespace:Namespace."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApi, NomadNotFound
from nomad_stateful.plugin_server.plugin import UNKNOWN, Checked, Diff, Props, ReadResult, ResourceType, input_diff
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.nomad.config import Connection
from sandbox.standins.plugins.nomad.inputs import Field, autoname, checked, is_autonamed, pick, plain, refreshed_inputs

_FIELDS: dict[str, Field] = {
    "name": Field("string"),
    "description": Field("string"),
    "quota": Field("string"),
    "meta": Field("map"),
    "capabilities": Field("object"),
    "nodePoolConfig": Field("object"),
    "vaultConfig": Field("object"),
    "consulConfig": Field("object"),
}
_LISTS = {"default": "Default", "alloweds": "Allowed", "denieds": "Denied"}
_OBJECTS: dict[str, tuple[str, dict[str, str]]] = {
    "capabilities": (
        "Capabilities",
        {
            "enabledTaskDrivers": "EnabledTaskDrivers",
            "disabledTaskDrivers": "DisabledTaskDrivers",
            "enabledNetworkModes": "EnabledNetworkModes",
            "disabledNetworkModes": "DisabledNetworkModes",
        },
    ),
    "nodePoolConfig": ("NodePoolConfiguration", _LISTS),
    "vaultConfig": ("VaultConfiguration", _LISTS),
    "consulConfig": ("ConsulConfiguration", _LISTS),
}
_DEFAULT = "default"
_DELETE_TRIES = 10
_DELETE_PAUSE_S = 5.0


class Namespace(ResourceType):
    """A namespace; the built-in `default` is only ever changed, never deleted."""

    token = "nomad:index/namespace:Namespace"

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def _api(self) -> NomadApi:
        return self._connection.api

    def check(self, ctx: Context, olds: Props, news: Props) -> Checked:
        inputs, failures = checked(_FIELDS, news, self.token)
        return Checked(autoname(ctx, olds, inputs), failures)

    def diff(self, ctx: Context, id: str, state: Props, old_inputs: Props, news: Props) -> Diff:
        """Another name is another namespace; an explicit one is deleted before it is made again."""
        new = plain(news)
        old = {name: state.get(name) for name in _FIELDS}
        if "nodePoolConfig" not in new:
            old["nodePoolConfig"] = None  # the server fills it in
        for block in _OBJECTS.keys() & new.keys():
            # The official plugin keeps an empty list where nothing is set.
            old[block], new[block] = ({k: v for k, v in (one.get(block) or {}).items() if v} for one in (old, new))
        changes = input_diff({k: v for k, v in old.items() if v or k in new}, new, {"name"})
        replaces = ["name"] if any(kind.replaces for kind in changes.values()) else []
        return Diff(changes, replaces, bool(replaces) and not is_autonamed(news))

    def preview_create(self, ctx: Context, inputs: Props) -> Props:
        planned: Props = plain(inputs)
        return {"nodePoolConfig": UNKNOWN} | planned

    def preview_update(self, ctx: Context, id: str, state: Props, inputs: Props) -> Props:
        planned: Props = plain(inputs)
        return pick(state, ("nodePoolConfig",)) | planned

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        given, name = plain(inputs), str(inputs["name"])
        body: Props = {
            "Name": name,
            "Description": given.get("description") or "",
            "Quota": given.get("quota") or "",
            "Meta": given.get("meta") or {},
        }
        for key, (api_name, parts) in _OBJECTS.items():
            if given.get(key) is not None:
                body[api_name] = {parts[part]: value for part, value in given[key].items()}
        try:
            self._api.put(f"namespace/{quote(name, safe='')}", body)
        except ProviderError as error:
            raise ProviderError(f"error writing namespace {name}: {error}") from None
        found = self._find(name) or {}
        return name, _outputs(found, given) | {"name": name}

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        return self.create(ctx, inputs)[1]

    def read(self, ctx: Context, id: str, inputs: Props, state: Props) -> ReadResult | None:
        found = self._find(id)
        if found is None:
            return None
        importing = not inputs and not state
        outputs = _outputs(found, {name: {} for name in _OBJECTS} if importing else pick(state, _FIELDS))
        given = {k: v for k, v in outputs.items() if v} if importing else refreshed_inputs(inputs, outputs)
        return ReadResult(id, given, outputs)

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        """Tried again while jobs in it are still stopping; one that is gone is the official plugin's error too."""
        if id == _DEFAULT:
            self._api.put(f"namespace/{_DEFAULT}", {"Name": _DEFAULT, "Description": "Default shared namespace"})
            return
        for _ in range(_DELETE_TRIES):
            try:
                self._api.delete(f"namespace/{quote(id, safe='')}")
                return
            except ProviderError as error:
                if "has non-terminal jobs" not in str(error):
                    raise ProviderError(f"error deleting namespace {id}: {error}") from None
            ctx.log("info", f"namespace {id} still has running jobs: stop them to have it deleted", ephemeral=True)
            ctx.wait(_DELETE_PAUSE_S)
        raise ProviderError(
            f"too many failures attempting to delete namespace {id}: it still has running jobs; stop them"
        )

    def _find(self, name: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = self._api.get(f"namespace/{quote(name, safe='')}")
            return found
        except NomadNotFound:
            return None
        except ProviderError as error:
            raise ProviderError(f"error reading namespace {name}: {error}") from None


def _outputs(found: dict[str, Any], known: Props) -> Props:
    """Blocks appear where they were given, or where the server fills them in."""
    outputs: Props = {
        "name": found.get("Name") or "",
        "description": found.get("Description") or "",
        "quota": found.get("Quota") or "",
        "meta": found.get("Meta") or {},
    }
    for key, (api_name, parts) in _OBJECTS.items():
        block = found.get(api_name)
        if block and (key in known or key == "nodePoolConfig"):
            outputs[key] = {part: block[name] for part, name in parts.items() if block.get(name)}
    return {key: value for key, value in outputs.items() if value != {} or key in known}
