"""The checks, in the order in which they are made and told: what others build on comes first."""

from nomad_stateful.operate.doctor.checks import account, clients, cluster, replication, versions, volumes
from nomad_stateful.operate.doctor.facts import Facts
from nomad_stateful.operate.doctor.finding import Check

_AWS, _IAM, _NOMAD, _CLIENTS, _CSI = "AWS account", "IAM", "Nomad", "Clients", "Volumes and plugins"
_GROUP = "Replication group"

CHECKS: tuple[Check, ...] = (
    Check(_AWS, "credentials are those of the stack's account", account.credentials),
    Check(_AWS, "the clients are in the stack's region", account.region),
    Check(_AWS, "KMS keys are enabled", account.keys_usable),
    Check(_AWS, "EBS encryption by default", account.encrypts_by_default),
    Check(_IAM, "the credentials may do what `up` and `destroy` do", account.permissions),
    Check(_IAM, "clientRole is the clients' role", account.role_is_the_clients),
    Check(_IAM, "the driver's policy is attached to clientRole", account.role_has_policy),
    Check(_IAM, "clientRole may attach the volumes", account.role_may_attach),
    Check(_NOMAD, "Nomad answers and has a leader", cluster.answers),
    Check(_NOMAD, "three servers or more", cluster.leans_on_several),
    Check(_NOMAD, "versions of the servers", versions.servers),
    Check(_NOMAD, "the token is valid", cluster.token),
    Check(_NOMAD, "the token's capabilities", cluster.capabilities),
    Check(_NOMAD, "clocks agree", cluster.clocks_agree),
    Check(_CLIENTS, "versions of the clients", versions.clients),
    Check(_CLIENTS, "versions of docker", versions.docker),
    Check(_CLIENTS, "task drivers are healthy", clients.drivers_offered),
    Check(_CLIENTS, "docker allows privileged containers and mounts", clients.privileged),
    Check(_CLIENTS, "the driver reaches the metadata service", clients.reachable),
    Check(_CLIENTS, "the metadata service wants tokens (IMDSv2)", clients.wants_tokens),
    Check(_CLIENTS, "max_kill_timeout", clients.kill_timeouts),
    Check(_CLIENTS, "drain_on_shutdown", clients.drain_on_shutdown),
    Check(_CLIENTS, "attach slots left", clients.slots_left),
    Check(_CSI, "zones of volumes have clients", volumes.zones_have_clients),
    Check(_CSI, "the stack's jobs are in Nomad, and not stopped", volumes.jobs_deployed),
    Check(_CSI, "versions of the drivers", versions.drivers),
    Check(_CSI, "plugins are healthy in every zone", volumes.plugins_healthy),
    Check(_CSI, "the driver knows the attach limit", clients.slots_known_to_driver),
    Check(_CSI, "volumes are registered", volumes.registered),
    Check(_CSI, "nothing holds a volume that should not", volumes.held),
    Check(_GROUP, "every member is ONLINE, and one writes", replication.members),
    Check(_GROUP, "the decision who begins it is the state's", replication.decision),
    Check(_GROUP, "routers pass their check", replication.routers),
)


def concerning(facts: Facts) -> list[Check]:
    """Returns the checks of a stack: those of a replication group where it has one, or is to have one."""
    has_group = facts.has_group()
    return [check for check in CHECKS if check.group != _GROUP or has_group]
