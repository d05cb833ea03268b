"""The fields of the resources that jobs and plugins have: their health, ids, groups and secrets."""

from nomad_stateful.schema import common, rules
from nomad_stateful.schema.fields import boolean, integer, mapping, text, texts
from nomad_stateful.schema.properties import Boolean, Integer, Properties, RequiredText, Text, TextMap, Texts, computed


class PluginHealthProperties(Properties):
    """Exists once a CSI plugin is healthy: its controllers, and a node plugin in every zone."""

    plugin_id: RequiredText = text(
        "Id of the CSI plugin, as in its jobs' csi_plugin blocks.",
        required=True,
        replaces=True,
        rule=rules.name("aws-ebs"),
    )
    controllers: Integer = integer(
        "Healthy controllers to wait for; 0 for a driver without a controller.",
        default=1,
        rule=rules.whole_number(0, 100, "0 is for a driver without a controller"),
    )
    zones: Texts = texts(
        "Availability zones in each of which at least one node plugin must be healthy; empty: one anywhere.",
        rule=rules.unique_names('For example ["us-west-2a"]'),
    )
    zone_keys: Texts = texts(
        "Topology keys in which the driver names a node's zone, the preferred one first.",
        rule=rules.unique_names('For example ["topology.ebs.csi.aws.com/zone"]'),
    )
    timeout_s: Integer = common.seconds("Seconds to wait before failing.", 300)
    triggers: TextMap = mapping("Any values; when one changes, the plugin's health is waited for again.")
    provider = computed(text("Name the driver reports."))
    provider_version = computed(text("Version the driver reports."))
    topology_key = computed(
        text("First of zoneKeys that every healthy node reports; empty when the driver reports none.")
    )
    topology_keys = computed(texts("All topology keys the healthy nodes report, sorted."))
    controllers_healthy = computed(integer("Healthy controllers."))
    nodes_healthy = computed(integer("Healthy node plugins."))
    zones_healthy = computed(mapping("Healthy node plugins by availability zone.", "integer"))


class JobHealthProperties(Properties):
    """Exists once the newest version of a job runs and passes its checks."""

    job_id: RequiredText = text("Id of the job.", required=True, replaces=True, rule=rules.name("orders"))
    group: RequiredText = text(
        "The job's group that must run.", required=True, replaces=True, rule=rules.name("server")
    )
    namespace: Text = common.namespace("The job's Nomad namespace.")
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
    account_id: Text = common.account_id(
        "AWS account of the job's EBS volumes; by default the provider's. Where it is known, what keeps the "
        "job waiting is looked for in EC2: an attachment that nothing claims, uses or has mounted is detached, any "
        "other is named."
    )
    aws_config: Text = common.AWS_CONFIG
    timeout_s: Integer = common.seconds("Seconds to wait before failing.", 300)
    owner_id: Text = text("Owner id of the claim to the job, if there is one: deletion stops at another's.", default="")
    allocation_id = computed(text("The healthy allocation."))
    node_name = computed(text("The client it runs on."))


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
    namespace: Text = common.namespace("Its Nomad namespace.")
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


class ReplicationGroupProperties(Properties):
    """The decision which member begins a database's replication group, and the group's id."""

    job_id: RequiredText = text(
        "Id of the job that leads to the group.", required=True, replaces=True, rule=rules.volume_name()
    )
    namespace: Text = common.namespace("Its Nomad namespace.")
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
    timeout_s: Integer = common.seconds("Seconds that dissolving it may take.", 300)
    first = computed(text("Job of the member that begins it; empty once it is dissolved."))
    group_id = computed(text("A UUID, under which the group's transactions are numbered; empty once it is dissolved."))


MIN_LENGTH = 8
MAX_LENGTH = 256


class GeneratedSecretProperties(Properties):
    """A random password, kept in the stack's encrypted state only."""

    length: Integer = integer(
        f"Number of characters, {MIN_LENGTH} to {MAX_LENGTH}.",
        default=32,
        replaces=True,
        rule=rules.whole_number(MIN_LENGTH, MAX_LENGTH, "32 is a good length"),
    )
    keepers: TextMap = mapping("Any values; when one changes, a new secret is generated.", replaces=True)
    result = computed(text("The secret: letters and digits, at least one of each kind.", secret=True))
