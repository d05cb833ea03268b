"""What getPlacement takes and returns."""

from typing import Any

from nomad_stateful.plugin_server.plugin import CheckFailure
from nomad_stateful.schema import rules
from nomad_stateful.schema.fields import ObjectType, boolean, integer, mapping, objects, text
from nomad_stateful.schema.tables import FunctionTable

_EXAMPLE = 'give each part a name, a count of at least 1 and constraints, such as {"name": "all", "count": 1}'
_NEEDED = "give a job file, and the parts of its group"


def _parts(key: str, value: Any) -> list[CheckFailure]:
    if not value:
        return [CheckFailure(key, f"{key} is required: {_NEEDED}")]
    if isinstance(value, list) and all(_is_part(part) for part in value):
        return []
    return [CheckFailure(key, f"{key} is not a list of parts: {_EXAMPLE}")]


def _is_part(part: Any) -> bool:
    return isinstance(part, dict) and bool(part.get("name")) and int(part.get("count") or 0) >= 1


CONSTRAINT = ObjectType(
    "PlacementConstraint",
    "A constraint on clients.",
    {"attribute": text("What is compared."), "operator": text("How."), "value": text("With what.")},
    given=True,
)
PART = ObjectType(
    "PlacementPart",
    "Instances of a group that ask the same of a client.",
    {
        "name": text("The part's name.", required=True),
        "count": integer("Instances.", required=True),
        "constraints": objects(CONSTRAINT, "Further constraints on their clients."),
    },
    given=True,
)
FAILURE = ObjectType(
    "PlacementFailure",
    "Instances for which there is no client, and what Nomad counted.",
    {
        "part": text("The part that is not placed."),
        "missing": integer("Instances of it without a client."),
        "clients": integer("Clients that were looked at: ready, eligible, of the job's node pool and datacenters."),
        "unfit": mapping("How many of them fail a constraint, by the constraint.", "integer"),
        "full": mapping("How many have too little left of a resource, by the resource.", "integer"),
    },
)
GET_PLACEMENT = FunctionTable(
    "getPlacement",
    "Whether Nomad's scheduler would find clients for a job, of which nothing is submitted.",
    inputs={
        "jobspec": text("Text of a job file (HCL) with one group.", required=True, rule=rules.required_text(_NEEDED)),
        "variables": text("Values of its variables, as in a variables file.", default=""),
        "namespace": text("The job's Nomad namespace, by default its own."),
        "parts": objects(
            PART, "The group's instances, by what they ask of a client beyond the job.", required=True, rule=_parts
        ),
        "constraints": objects(
            CONSTRAINT,
            "What all instances ask beyond the job; not asked of the version that is registered.",
            default=[],
        ),
    },
    outputs={
        "jobId": text("Id of the job."),
        "notChecked": text("Why Nomad was not asked: what the token may not; else empty."),
        "refused": text("Why Nomad refuses the job; else empty."),
        "registeredToo": boolean("Whether the version that is registered would not be placed either."),
        "failures": objects(FAILURE, "What is not placed, by part."),
    },
)
