"""The fields of Ownership."""

from nomad_stateful.schema import rules
from nomad_stateful.schema.fields import text
from nomad_stateful.schema.properties import Properties, RequiredText, Text, computed

KINDS = ("job", "volume")
NOTHING = "nothing"
"""What a stack expects under an id that it is about to make something under: that there is nothing."""
UNCLAIMED = "unclaimed"
"""That what there is has no claim, and may be taken."""


class OwnershipProperties(Properties):
    """The claim to a job's or a volume's id, which one stack alone can have."""

    kind: RequiredText = text(
        'What is claimed: "job" or "volume".', required=True, replaces=True, rule=rules.one_of(*KINDS)
    )
    resource_id: RequiredText = text(
        "Id of the job or volume in Nomad.", required=True, replaces=True, rule=rules.volume_name()
    )
    namespace: Text = text("Its Nomad namespace.", default="default", replaces=True, rule=rules.name("default"))
    stack: RequiredText = text(
        "Full name of the stack, organization/project/stack, for those who meet the claim.",
        required=True,
        rule=rules.not_empty("my-org/nomad-stateful/prod"),
    )
    expects: Text = text(
        f'What may be there when the claim is taken: "{NOTHING}", something "{UNCLAIMED}", or a claim by its owner id.',
        default=NOTHING,
        rule=rules.not_empty(NOTHING),
    )
    owner_id = computed(text("Random; it stands in the claim."))


OWNERSHIP = OwnershipProperties.table
