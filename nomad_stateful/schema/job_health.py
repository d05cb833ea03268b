"""The fields of JobHealth."""

from nomad_stateful.schema import aws_place, rules, timeouts
from nomad_stateful.schema.fields import integer, mapping, text, texts
from nomad_stateful.schema.properties import Integer, Properties, RequiredText, Text, TextMap, Texts, computed


class JobHealthProperties(Properties):
    """Exists once the newest version of a job runs and passes its checks."""

    job_id: RequiredText = text("Id of the job.", required=True, replaces=True, rule=rules.name("orders"))
    group: RequiredText = text(
        "The job's group that must run.", required=True, replaces=True, rule=rules.name("server")
    )
    namespace: Text = text("The job's Nomad namespace.", default="default", replaces=True, rule=rules.name("default"))
    allocations: Integer = integer(
        "Allocations that have to be healthy; of a system job at least so many, and all that are placed.",
        default=1,
        rule=rules.whole_number(1, 10000, "It is the count of the group; 1 is the default"),
    )
    serving: Texts = texts(
        "Ids of jobs in the namespace. While there is none of them, nobody depends on the job's health yet, and create "
        "waits for allocations that run alone.",
        # Not an empty list: what an earlier release made has none, and would be updated.
        default=None,
    )
    triggers: TextMap = mapping("Any values; when one changes, the job's health is waited for again.")
    region: Text = text("AWS region of the job's EBS volumes; by default the provider's.", default="")
    account_id: Text = aws_place.account_id(
        "AWS account of the job's EBS volumes; by default the provider's. Where it is known, what keeps the "
        "job waiting is looked for in EC2: an attachment that nothing claims, uses or has mounted is detached, any "
        "other is named."
    )
    aws_config: Text = aws_place.AWS_CONFIG
    timeout_s: Integer = timeouts.seconds("Seconds to wait before failing.", 300)
    owner_id: Text = text("Owner id of the claim to the job, if there is one: deletion stops at another's.", default="")
    allocation_id = computed(text("The healthy allocation."))
    node_name = computed(text("The client it runs on."))


JOB_HEALTH = JobHealthProperties.table
