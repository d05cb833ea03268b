"""The fields of ReplicationGroup."""

from nomad_stateful.schema import rules, timeouts
from nomad_stateful.schema.fields import boolean, text, texts
from nomad_stateful.schema.properties import Boolean, Integer, Properties, RequiredText, Text, Texts, computed


class ReplicationGroupProperties(Properties):
    """The decision which member begins a database's replication group, and the group's id."""

    job_id: RequiredText = text(
        "Id of the job that leads to the group.", required=True, replaces=True, rule=rules.volume_name()
    )
    namespace: Text = text("Its Nomad namespace.", default="default", replaces=True, rule=rules.name("default"))
    candidate: RequiredText = text(
        "Job of the member that is to begin it, unless that is decided already.",
        required=True,
        rule=rules.volume_name(),
    )
    dissolved: Boolean = boolean(
        "Whether a single server goes on with the candidate's volume: before anything that depends on this changes, "
        "the others are stopped, and the candidate has every row.",
        default=False,
    )
    others: Texts = texts("Jobs of the other members, for a group that is dissolved.", default=[])
    member_group: Text = text("Group of the members' jobs, such as mysql, for a group that is dissolved.", default="")
    timeout_s: Integer = timeouts.seconds("Seconds that dissolving it may take.", 300)
    first = computed(text("Job of the member that begins it; empty once it is dissolved."))
    group_id = computed(text("A UUID, under which the group's transactions are numbered; empty once it is dissolved."))


REPLICATION_GROUP = ReplicationGroupProperties.table
