"""The Job resource's inputs: what they may be, which of them differ, and what Nomad gets of them."""

from __future__ import annotations

from nomad_stateful.plugin_server.plugin import CheckFailure, Kind, Props
from nomad_stateful.plugin_server.values import contains_unknown
from sandbox.standins.plugins.nomad.inputs import Field, plain
from sandbox.standins.plugins.nomad.jobspec import JobSource

FIELDS: dict[str, Field] = {
    "jobspec": Field("string", required=True),
    "hcl2": Field("object"),
    "json": Field("bool"),
    "detach": Field("bool", default=True),
    "deregisterOnDestroy": Field("bool", default=True),
    "deregisterOnIdChange": Field("bool", default=True),
    "policyOverride": Field("bool"),
    "purgeOnDestroy": Field("bool"),
    "preserveCounts": Field("bool", default=False),
    "rerunIfDead": Field("bool", default=False),
    "readAllocationIds": Field("bool"),
}
_FLAGS = tuple(name for name, field in FIELDS.items() if field.shape == "bool")
_HCL2_KEYS = {"allowFs", "vars"}


def hcl2_failures(hcl2: Props) -> list[CheckFailure]:
    """Returns what is wrong with the hcl2 block."""
    unknown_keys = sorted(set(plain(hcl2)) - _HCL2_KEYS)
    failures = [CheckFailure("", f"hcl2.{key} is not an input of a Job: remove it") for key in unknown_keys]
    variables = hcl2.get("vars")
    if variables is None or contains_unknown(variables):
        return failures
    if not isinstance(variables, dict):
        return [*failures, CheckFailure("", "hcl2.vars must be a map of strings")]
    wrong = sorted(name for name, value in variables.items() if not isinstance(value, str))
    rule = "must be a string: write objects, lists, numbers and booleans as JSON text"
    return failures + [CheckFailure("", f"hcl2.vars.{name} {rule}") for name in wrong]


def flag_changes(old: Props, new: Props) -> dict[str, Kind]:
    """Returns the flags that differ; one that is not set equals false."""
    return {
        name: Kind.UPDATE if name in old else Kind.ADD
        for name in _FLAGS
        if contains_unknown(new.get(name)) or bool(old.get(name)) != bool(new.get(name))
    }


def given_hcl2(props: Props) -> Props:
    """Returns what the hcl2 block says: variables that are there, and allowFs where it is true."""
    hcl2 = props.get("hcl2")
    if not isinstance(hcl2, dict):
        return {} if hcl2 is None else {"vars": hcl2}
    variables = {"vars": hcl2["vars"]} if hcl2.get("vars") not in (None, {}) else {}
    return variables | ({"allowFs": True} if hcl2.get("allowFs") is True else {})


def submission(source: JobSource) -> Props:
    """Returns what Nomad keeps of a jobspec beside the job."""
    submission: Props = {"Source": source.text, "Format": "json" if source.is_json else "hcl2"}
    return submission | ({"VariableFlags": dict(source.variables)} if source.variables else {})
