"""Where the strings of a configuration arrive: in resources, and in jobs as Nomad itself reads them."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.program import settings
from nomad_stateful.program.settings.errors import SettingsError
from sandbox.standins.plugins.nomad.jobspec import JobSource, JobspecParser
from tests.injection.leaves import Leaf, with_values
from tests.unit.program.recorder import record
from tools import toolchain

JOB = "nomad:index/job:Job"
# A string that each kind of key takes, and that stands nowhere else.
MARKERS = (
    *("mk{}x", "/mk{}x", "/mk{}x/d", "local/mk{}x", "mk{}x.sql", "mk{}x:1.0", "MK{}X", "kmk{}x"),
    *(
        "-----BEGIN CERTIFICATE-----mk{}x",
        "arn:aws:kms:us-west-2:123456789012:alias/mk{}x",
        "--mk{}x",
        "--mk{}x=1",
        "${{meta.mk{}x}}",
    ),
)
RENDERED = {f"{name}.config": database.options.text for name, database in DATABASES.items()}
"""Keys whose values are written down in the language of the file they stand in."""


@cache
def _parser() -> JobspecParser:
    return JobspecParser(str(toolchain.ensure().nomad))


def refused(config: dict[str, Any]) -> SettingsError | None:
    """Why the settings refuse a configuration."""
    try:
        settings.parse(config)
    except SettingsError as error:
        return error
    return None


def markers(config: dict[str, Any], places: list[Leaf]) -> dict[Leaf, str]:
    """For each place that takes one at all a string of its own."""
    chosen: dict[Leaf, str] = {}
    for number, leaf in enumerate(places):
        fitting = (form.format(number) for form in MARKERS)
        taken = next((mark for mark in fitting if refused(with_values(config, {leaf: mark})) is None), None)
        if taken is not None:
            chosen[leaf] = taken
    return chosen


def arrived(config: dict[str, Any]) -> dict[str, Any]:
    """What the program makes of a configuration, by the names of its resources."""
    made: dict[str, Any] = {}
    for name, resource in record(config).items():
        source = JobSource.from_inputs(dict(resource.inputs)) if resource.typ == JOB else None
        made[name] = dict(resource.inputs) if source is None else _parser().parse(source)
    return made


def versions(made: dict[str, Any]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Takes out of the resources what tells a gate that its job changes. Gives it by gate, each with the job."""
    jobs = {(job["Namespace"], job["ID"]): job for job in made.values() if "TaskGroups" in job}
    gates = {name: one for name, one in made.items() if "consumerJobId" in one and "job" in one.get("triggers", {})}
    taken = {}
    for name, gate in gates.items():
        triggers = dict(gate["triggers"])
        taken[name] = (triggers.pop("job"), jobs[gate["namespace"], gate["consumerJobId"]])
        made[name] = {**gate, "triggers": triggers}
    return taken


def replaced(value: Any, values: Mapping[str, str]) -> Any:
    """A document in which strings are put for markers."""
    pattern = re.compile("|".join(map(re.escape, sorted(values, key=len, reverse=True))))

    def walk(part: Any) -> Any:
        if isinstance(part, str):
            return pattern.sub(lambda found: values[found[0]], part)
        if isinstance(part, dict):
            return {walk(key): walk(item) for key, item in part.items()}
        return [walk(item) for item in part] if isinstance(part, list) else part

    return walk(value)


def written(leaf: Leaf, value: str) -> str:
    """A value as it stands in a file."""
    render = RENDERED.get(".".join(str(part) for part in leaf.path[:-1]))
    return value if render is None or leaf.names_an_entry else render(value)
