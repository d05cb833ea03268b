"""The fields of ReplicationGroup."""

from nomad_stateful.schema import rules
from nomad_stateful.schema.fields import text
from nomad_stateful.schema.properties import Properties, RequiredText, Text, computed


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
    first = computed(text("Job of the member that begins it."))
    group_id = computed(text("A UUID, under which the group's transactions are numbered."))


REPLICATION_GROUP = ReplicationGroupProperties.table
