"""nomad:index/variable:Variable: a Nomad variable, its items always secret."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadNotFound
from nomad_stateful.plugin_server.plugin import Checked, CheckFailure, Diff, Props, ReadResult, ResourceType, input_diff
from nomad_stateful.plugin_server.values import UNKNOWN, contains_unknown
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.nomad.config import Connection
from sandbox.standins.plugins.nomad.inputs import Field, checked, pick, plain, refreshed_inputs
from sandbox.standins.plugins.nomad.job_state import import_identity

_FIELDS: dict[str, Field] = {
    "path": Field("string", required=True),
    "namespace": Field("string", default="default"),
    "items": Field("map"),
    "itemsWo": Field("string"),
    "itemsWoVersion": Field("int"),
}
_PATH = re.compile(r"[A-Za-z0-9\-_~/]+")
_PATH_LIMIT = 128
_FORCING = frozenset({"path", "namespace"})


class Variable(ResourceType):
    """Writes items to a path; whatever was there before is overwritten."""

    token = "nomad:index/variable:Variable"
    secret_outputs = frozenset({"items", "itemsWo"})

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def check(self, ctx: Context, olds: Props, news: Props) -> Checked:
        """Paths by Nomad's rules; exactly one source of items."""
        inputs, failures = checked(_FIELDS, news, self.token)
        path = inputs.get("path")
        if isinstance(path, str) and path:
            failures += _path_failures(path)
        return Checked(inputs, failures + _items_failures(inputs))

    def diff(self, ctx: Context, id: str, state: Props, old_inputs: Props, news: Props) -> Diff:
        """A variable elsewhere is another one; write-only items count by their version."""
        old = {name: state.get(name) for name in _FIELDS if name != "itemsWo"}
        new = {name: plain(news).get(name) for name in _FIELDS if name != "itemsWo"}
        if "items" not in plain(news):
            old["items"] = None  # what a version wrote is not compared
        changes = input_diff(old, new, _FORCING)
        replaces = sorted({path for path, kind in changes.items() if kind.replaces})
        return Diff(changes, replaces)

    def preview_create(self, ctx: Context, inputs: Props) -> Props:
        return _outputs(inputs)

    def preview_update(self, ctx: Context, id: str, state: Props, inputs: Props) -> Props:
        return _outputs(inputs)

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        """Its id is <path>@<namespace>."""
        path, namespace = inputs["path"], inputs.get("namespace") or "default"
        identity = f"{path}@{namespace}"
        body = {"Namespace": namespace, "Path": path, "Items": _items(inputs)}
        try:
            self._connection.api.put(_api_path(path), body, namespace=namespace)
        except ProviderError as error:
            raise ProviderError(f"error creating variable {identity}: {error}") from None
        return identity, _outputs(inputs)

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        """Writes the items again."""
        return self.create(ctx, inputs)[1]

    def read(self, ctx: Context, id: str, inputs: Props, state: Props) -> ReadResult | None:
        """The items as they are, unless they are write-only.

        An import fails as it does with the official plugin, which does not read the path out of the id.
        """
        path, namespace = str(state.get("path") or ""), str(state.get("namespace") or "")
        try:
            found = self._connection.api.get(_api_path(path), namespace=namespace)
        except NomadNotFound:
            return None
        except ProviderError as error:
            raise ProviderError(f"error reading variable {path}@{namespace}: {error}") from None
        outputs: Props = pick(state, _FIELDS) | {"path": path, "namespace": namespace}
        if not state.get("itemsWoVersion"):
            outputs["items"] = found.get("Items") or {}
        return ReadResult(f"{path}@{namespace}", refreshed_inputs(inputs, outputs), outputs)

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        path, namespace = import_identity(id)
        try:
            self._connection.api.delete(_api_path(path), namespace=namespace)
        except NomadNotFound:
            return
        except ProviderError as error:
            raise ProviderError(f"error deleting variable {id}: {error}") from None


def _api_path(path: str) -> str:
    return f"var/{quote(path, safe='/~')}"


def _items(inputs: Props) -> dict[str, str]:
    if inputs.get("itemsWo") is None:
        return dict(plain(inputs.get("items") or {}))
    parsed: dict[str, str] = json.loads(inputs["itemsWo"])
    return parsed


def _outputs(inputs: Props) -> Props:
    """Write-only items are written, never kept."""
    return {key: value for key, value in plain(inputs).items() if key != "itemsWo"}


def _path_failures(path: str) -> list[CheckFailure]:
    parts = path.split("/")
    reason = ""
    if len(path) > _PATH_LIMIT:
        reason = f"path {path} is longer than {_PATH_LIMIT} characters: shorten it"
    elif not _PATH.fullmatch(path):
        reason = f"path {path} contains invalid characters: use letters, digits, '-', '_', '~' and '/'"
    elif parts == ["nomad"]:
        reason = "path of 'nomad' is a reserved top-level directory path: use nomad/jobs/<job> or a path of your own"
    elif parts[0] == "nomad" and parts[1] not in ("jobs", "job-templates"):
        reason = f"only paths at 'nomad/jobs' or 'nomad/job-templates' are valid below 'nomad', not {path}"
    elif parts[:2] == ["nomad", "job-templates"] and len(parts) != 3:
        reason = f"path {path} must have the form nomad/job-templates/<template>"
    return [CheckFailure("path", reason)] if reason else []


def _items_failures(inputs: Props) -> list[CheckFailure]:
    """Reasons never hold a value: items are secret."""
    items, write_only = inputs.get("items"), inputs.get("itemsWo")
    if (items is None) == (write_only is None):
        return [CheckFailure("", "a variable needs exactly one of items and itemsWo")]
    version = inputs.get("itemsWoVersion")
    if write_only is not None and version is None:
        return [CheckFailure("itemsWoVersion", "itemsWo needs itemsWoVersion: raise it to have changed items written")]
    if version is not None and write_only is None:
        return [CheckFailure("itemsWoVersion", "itemsWoVersion goes with itemsWo: remove it")]
    if isinstance(version, int) and version < 1:
        return [CheckFailure("itemsWoVersion", f"itemsWoVersion is {version}: it starts at 1")]
    if items is not None and not contains_unknown(items) and not plain(items):
        return [CheckFailure("", "items is empty: Nomad takes no variable without items")]
    return [] if write_only is None or write_only is UNKNOWN else _write_only_failures(write_only)


def _write_only_failures(text: Any) -> list[CheckFailure]:
    try:
        parsed = json.loads(text)
    except (TypeError, ValueError):
        parsed = None
    if isinstance(parsed, dict) and parsed and all(isinstance(value, str) for value in parsed.values()):
        return []
    return [CheckFailure("", "itemsWo must be a JSON object with at least one item and only strings as values")]
