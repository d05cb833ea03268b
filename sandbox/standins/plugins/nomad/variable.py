"""nomad:index/variable:Variable: a Nomad variable, its items always secret."""

from __future__ import annotations

import re
from urllib.parse import quote

from nomad_stateful.plugin_server.plugin import Checked, CheckFailure, Diff, Props, ReadResult, ResourceType, input_diff
from nomad_stateful.plugin_server.values import contains_unknown
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.nomad.config import Connection, told, unless_gone
from sandbox.standins.plugins.nomad.inputs import Field, checked, pick, plain, refreshed_inputs
from sandbox.standins.plugins.nomad.job_state import import_identity

_FIELDS: dict[str, Field] = {
    "path": Field("string", required=True),
    "namespace": Field("string", default="default"),
    "items": Field("map", required=True),
}
_PATH = re.compile(r"[A-Za-z0-9\-_~/]+")
_PATH_LIMIT = 128
_FORCING = frozenset({"path", "namespace"})


class Variable(ResourceType):
    """Writes items to a path; whatever was there before is overwritten."""

    token = "nomad:index/variable:Variable"
    secret_outputs = frozenset({"items"})

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def check(self, ctx: Context, olds: Props, news: Props) -> Checked:
        """Paths by Nomad's rules, and at least one item."""
        inputs, failures = checked(_FIELDS, news, self.token)
        path = inputs.get("path")
        if isinstance(path, str) and path:
            failures += _path_failures(path)
        return Checked(inputs, failures + _items_failures(inputs))

    def diff(self, ctx: Context, id: str, state: Props, old_inputs: Props, news: Props) -> Diff:
        """A variable elsewhere is another one."""
        changes = input_diff(pick(state, _FIELDS), pick(plain(news), _FIELDS), _FORCING)
        replaces = sorted({path for path, kind in changes.items() if kind.replaces})
        return Diff(changes, replaces)

    def preview_create(self, ctx: Context, inputs: Props) -> Props:
        planned: Props = plain(inputs)
        return planned

    def preview_update(self, ctx: Context, id: str, state: Props, inputs: Props) -> Props:
        return self.preview_create(ctx, inputs)

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        """Its id is <path>@<namespace>."""
        path, namespace = inputs["path"], inputs.get("namespace") or "default"
        identity = f"{path}@{namespace}"
        body = {"Namespace": namespace, "Path": path, "Items": plain(inputs["items"])}
        with told(f"error creating variable {identity}"):
            self._connection.api.put(_api_path(path), body, namespace=namespace)
        return identity, self.preview_create(ctx, inputs)

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        """Writes the items again."""
        return self.create(ctx, inputs)[1]

    def read(self, ctx: Context, id: str, inputs: Props, state: Props) -> ReadResult | None:
        """The items as they are.

        An import fails as it does with the official plugin, which does not read the path out of the id.
        """
        path, namespace = str(state.get("path") or ""), str(state.get("namespace") or "")
        found = unless_gone(
            f"error reading variable {path}@{namespace}",
            lambda: self._connection.api.get(_api_path(path), namespace=namespace),
        )
        if found is None:
            return None
        outputs: Props = {"path": path, "namespace": namespace, "items": found.get("Items") or {}}
        return ReadResult(f"{path}@{namespace}", refreshed_inputs(inputs, outputs), outputs)

    def delete(self, ctx: Context, id: str, state: Props) -> None:
        path, namespace = import_identity(id)
        unless_gone(
            f"error deleting variable {id}", lambda: self._connection.api.delete(_api_path(path), namespace=namespace)
        )


def _api_path(path: str) -> str:
    return f"var/{quote(path, safe='/~')}"


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
    items = inputs.get("items")
    if items is None or contains_unknown(items) or plain(items):
        return []
    return [CheckFailure("", "items is empty: Nomad takes no variable without items")]
