"""What the engine is answered, in the protocol's messages."""

from collections.abc import Iterable

from google.protobuf.struct_pb2 import Struct

from nomad_stateful.plugin_server.diffing import Kind, top_level
from nomad_stateful.plugin_server.engine_log import told
from nomad_stateful.plugin_server.plugin import Checked, Diff
from nomad_stateful.plugin_server.stubs import provider_pb2
from nomad_stateful.plugin_server.values import marshal

_KINDS: dict[Kind, provider_pb2.PropertyDiff.Kind.ValueType] = {
    Kind.ADD: provider_pb2.PropertyDiff.ADD,
    Kind.ADD_REPLACE: provider_pb2.PropertyDiff.ADD_REPLACE,
    Kind.DELETE: provider_pb2.PropertyDiff.DELETE,
    Kind.DELETE_REPLACE: provider_pb2.PropertyDiff.DELETE_REPLACE,
    Kind.UPDATE: provider_pb2.PropertyDiff.UPDATE,
    Kind.UPDATE_REPLACE: provider_pb2.PropertyDiff.UPDATE_REPLACE,
}


def check_failure(key: str, reason: str) -> provider_pb2.CheckFailure:
    return provider_pb2.CheckFailure(property=key, reason=told(reason))


def check_response(checked: Checked, secrets: Iterable[str]) -> provider_pb2.CheckResponse:
    failures = [check_failure(f.property, f.reason) for f in checked.failures]
    return provider_pb2.CheckResponse(inputs=marshal(checked.inputs, secrets), failures=failures)


def diff_response(diff: Diff) -> provider_pb2.DiffResponse:
    """Returns one truth in the three ways that the engine wants: names, replacing names and detailed paths."""
    replaces = list(dict.fromkeys([*diff.replaces, *(top_level(p) for p, k in diff.detailed.items() if k.replaces)]))
    detailed = {}
    for path, kind in diff.detailed.items():
        shown = kind.as_replace() if top_level(path) in replaces else kind
        detailed[path] = provider_pb2.PropertyDiff(kind=_KINDS[shown], inputDiff=True)
    changed = bool(detailed or replaces)
    return provider_pb2.DiffResponse(
        changes=provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE,
        diffs=list(dict.fromkeys(top_level(path) for path in detailed)),
        replaces=replaces,
        stables=diff.stables,
        deleteBeforeReplace=diff.delete_before_replace,
        detailedDiff=detailed,
        hasDetailedDiff=True,
    )


def invoke_response(result: Struct) -> provider_pb2.InvokeResponse:
    response = provider_pb2.InvokeResponse()
    getattr(response, "return").CopyFrom(result)  # a field named like a keyword
    return response
