"""The fields of JobHealth."""

from nomad_stateful.schema import rules
from nomad_stateful.schema.aws_place import AWS_CONFIG, account_id
from nomad_stateful.schema.fields import integer, mapping, text
from nomad_stateful.schema.tables import ResourceTable
from nomad_stateful.schema.timeouts import timeout_s

JOB_HEALTH = ResourceTable(
    "JobHealth",
    "Exists once the newest version of a job runs and passes its checks.",
    inputs={
        "jobId": text("Id of the job.", required=True, replaces=True, rule=rules.name("mysql-server")),
        "group": text("The job's group that must run.", required=True, replaces=True, rule=rules.name("mysql")),
        "namespace": text("The job's Nomad namespace.", default="default", replaces=True, rule=rules.name("default")),
        "allocations": integer(
            "Allocations that have to be healthy.",
            default=1,
            rule=rules.whole_number(1, 10000, "It is the count of the group; 1 is the default"),
        ),
        "triggers": mapping("Any values; when one changes, the job's health is waited for again."),
        "region": text("AWS region of the job's EBS volumes; empty: the AWS configuration's.", default=""),
        "accountId": account_id(
            "AWS account of the job's EBS volumes. Where it is given, what keeps the job waiting is looked for in EC2: "
            "an attachment that nothing claims, uses or has mounted is detached, any other is named."
        ),
        "awsConfig": AWS_CONFIG,
        "timeoutS": timeout_s("Seconds to wait before failing.", 300),
        "ownerId": text("Owner id of the claim to the job, if there is one: deletion stops at another's.", default=""),
    },
    outputs={
        "allocationId": text("The healthy allocation."),
        "nodeName": text("The client it runs on."),
    },
)
