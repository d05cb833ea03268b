"""The fields of Ownership."""

from nomad_stateful.schema import rules
from nomad_stateful.schema.fields import text
from nomad_stateful.schema.tables import ResourceTable

KINDS = ("job", "volume")
NOTHING = "nothing"
"""What a stack expects under an id that it is about to make something under: that there is nothing."""
UNCLAIMED = "unclaimed"
"""That what there is has no claim, and may be taken."""

OWNERSHIP = ResourceTable(
    "Ownership",
    "The claim to a job's or a volume's id, which one stack alone can have.",
    inputs={
        "kind": text('What is claimed: "job" or "volume".', required=True, replaces=True, rule=rules.one_of(*KINDS)),
        "resourceId": text("Id of the job or volume in Nomad.", required=True, replaces=True, rule=rules.volume_name()),
        "namespace": text("Its Nomad namespace.", default="default", replaces=True, rule=rules.name("default")),
        "stack": text(
            "Full name of the stack, organization/project/stack, for those who meet the claim.",
            required=True,
            rule=rules.not_empty("my-org/nomad-stateful/prod"),
        ),
        "expects": text(
            f'What may be there when the claim is taken: "{NOTHING}", something "{UNCLAIMED}", or a claim by its owner '
            "id.",
            default=NOTHING,
            rule=rules.not_empty(NOTHING),
        ),
    },
    outputs={"ownerId": text("Random; it stands in the claim.")},
)
