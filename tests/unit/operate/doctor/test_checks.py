"""Each broken world is told with its cause, by the check that it is about, and by no other."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import NoCredentialsError

from nomad_stateful.ebs.tags import GIVEN_UP_TAG
from nomad_stateful.ebs.volumes import Attachment, Volume
from nomad_stateful.nomad.api import NomadApiError, NomadUnreachable
from nomad_stateful.operate.doctor import command as report
from nomad_stateful.operate.doctor.checks import clients, cluster, volumes
from nomad_stateful.operate.doctor.facts import Facts
from nomad_stateful.operate.doctor.finding import Check, Finding
from nomad_stateful.operate.doctor.table import CHECKS, concerning
from nomad_stateful.program.settings.consumer import Consumer
from nomad_stateful.program.settings.database import DatabaseSection
from nomad_stateful.resource_types import NOMAD_CSI_REGISTRATION, NOMAD_CSI_VOLUME
from tests.unit.operate.doctor.world import VOLUME, World, instance, node, refused

# No volume is registered in this world; the tests of these two register some.
CHECKED = [check for check in concerning(World().facts()) if check.run not in (volumes.registered, volumes.held)]
GROUP = [check for check in CHECKS if check not in concerning(World().facts())]


def examined(world: World) -> list[report.Result]:
    return report.examine(CHECKED, world.facts())


def test_nothing_is_wrong_with_a_world_in_order() -> None:
    results = examined(World())
    assert [
        (result.check.name, result.findings, result.not_checked) for result in results if result.state != "ok"
    ] == []
    assert report.text(results).endswith(f"0 problems, 0 warnings; {len(CHECKED)} checks in order, 0 not made")


Damage = Callable[[World], None]
BROKEN: list[Any] = []


def tells(level: str, check: str, what: str) -> Callable[[Damage], Damage]:
    """Has a damage to a world tested: which check tells of it, and how."""

    def keep(damage: Damage) -> Damage:
        BROKEN.append(pytest.param(damage, check, level, what, id=damage.__name__))
        return damage

    return keep


problem, warning = partial(tells, "problem"), partial(tells, "warning")


@problem("credentials are those", "of account 999999999999")
def other_account(world: World) -> None:
    world.account = "999999999999"
    world.allowed_accounts = []


@problem("credentials are those", "no AWS credentials that work: the SSO session has expired")
def no_credentials(world: World) -> None:
    world.account = ""


@problem("clientRole is", "instance i-1 has the role workers, and clientRole is nomad-client")
def other_role(world: World) -> None:
    world.aws["iam"]["get_instance_profile"] = {"InstanceProfile": {"Roles": [{"RoleName": "workers"}]}}


@problem("clientRole is", "instance i-1 has no instance profile")
def no_profile(world: World) -> None:
    del world.instances[0]["IamInstanceProfile"]


@problem("policy is attached", "is not attached to the role nomad-client")
def detached_policy(world: World) -> None:
    world.aws["iam"]["list_attached_role_policies"] = {"AttachedPolicies": []}


@problem("may attach", "may not ec2:AttachVolume")
def denied_attach(world: World) -> None:
    world.aws["iam"]["simulate_principal_policy"] = world.simulate("ec2:AttachVolume")


@warning("may do what `up`", "may not ec2:CreateVolume on every resource")
def denied_create(world: World) -> None:
    world.aws["iam"]["simulate_principal_policy"] = world.simulate("ec2:CreateVolume")


@problem("reaches the metadata", "the hop limit of i-2 is 1")
def one_hop(world: World) -> None:
    world.instances[1]["MetadataOptions"]["HttpPutResponseHopLimit"] = 1


@problem("reaches the metadata", "the metadata service of i-1 is disabled")
def no_metadata(world: World) -> None:
    world.instances[0]["MetadataOptions"]["HttpEndpoint"] = "disabled"


@warning("wants tokens", "answers without a token")
def optional_tokens(world: World) -> None:
    world.instances[0]["MetadataOptions"]["HttpTokens"] = "optional"


@problem("KMS keys", "is PendingDeletion")
def key_to_be_deleted(world: World) -> None:
    world.settings["volumes"][0]["kmsKeyArn"] = "arn:aws:kms:us-west-2:111122223333:key/k"
    world.aws["kms"]["describe_key"] = {"KeyMetadata": {"KeyState": "PendingDeletion"}}


@warning("encryption by default", "EBS encryption by default is off in us-west-2")
def unencrypted(world: World) -> None:
    world.aws["ec2"]["get_ebs_encryption_by_default"] = {"EbsEncryptionByDefault": False}


@problem("stack's region", "the stack is in us-west-2, the Nomad clients are in us-west-2a")
def other_region(world: World) -> None:
    world.aws["ec2"]["describe_availability_zones"] = {"AvailabilityZones": [{"ZoneName": "eu-west-1a"}]}


@problem("has a leader", "the Nomad servers have no leader")
def no_leader(world: World) -> None:
    world.nomad["status/leader"] = ""


@problem("versions of the servers", "can panic the leader (GH-27262, fixed in 1.11.2)")
def old_servers(world: World) -> None:
    world.nomad["agent/members"]["Members"][0]["Tags"]["build"] = "1.11.0"


@warning("versions of the servers", "purged before its first evaluation")
def purge_panic(world: World) -> None:
    world.nomad["agent/members"]["Members"][0]["Tags"]["build"] = "1.11.3"


@warning("versions of the clients", "through a link in its logs' folder (CVE-2026-6959, GH-27918")
def escaping_tasks(world: World) -> None:
    world.nodes[1]["Attributes"]["nomad.version"] = "1.11.3"


@warning("versions of the servers", "other allocations are not placed either (GH-28285)")
def shared_fate_of_a_set(world: World) -> None:
    world.settings["volumes"].append({"name": "shards", "zone": "us-west-2a", "sizeGib": 1, "count": 2})


@problem("versions of the clients", "a volume can be unmounted")
def old_client(world: World) -> None:
    world.nodes[1]["Attributes"]["nomad.version"] = "1.10.5"


@warning("versions of docker", "client client-2: docker 19.03.15: it knows no cgroups v2")
def old_docker(world: World) -> None:
    world.nodes[1]["Attributes"]["driver.docker.version"] = "19.03.15"


@warning("versions of the drivers", "runs v1.48.0 of its driver, the settings pin v1.50.0")
def other_driver_version(world: World) -> None:
    world.settings["plugins"][0]["version"] = "v1.50.0"


@warning("token is valid", "the Nomad token expires at")
def expiring_token(world: World) -> None:
    world.nomad["acl/token/self"]["ExpirationTime"] = (datetime.now(UTC) + timedelta(hours=1)).isoformat()


@problem("capabilities", "lacks csi-register-plugin in namespace default")
def write_without_plugins(world: World) -> None:
    rules = 'namespace "default" { policy = "write" }\nnode { policy = "read" }\nplugin { policy = "read" }\n'
    world.nomad["acl/policy/program"] = {"Rules": rules}


@problem("capabilities", "the token's policy has no plugin { policy }")
def no_plugin_policy(world: World) -> None:
    kept = world.nomad["acl/policy/program"]["Rules"].replace('plugin { policy = "read" }', "")
    world.nomad["acl/policy/program"] = {"Rules": kept}


@problem("clocks", "the clock of client client-2 is 5")
def slow_clock(world: World) -> None:
    world.clocks["client-2"] = datetime.now(UTC) - timedelta(minutes=10)


@problem("privileged containers", "docker on client-1 has no `allow_privileged = true`")
def unprivileged(world: World) -> None:
    del world.nodes[0]["Attributes"]["driver.docker.privileged.enabled"]


@problem("task drivers", "docker is not healthy on client-2 (Failed to connect to docker daemon)")
def no_docker(world: World) -> None:
    world.nodes[1]["Drivers"]["docker"] = {"Healthy": False, "HealthDescription": "Failed to connect to docker daemon"}


@warning("max_kill_timeout", "mysql.killTimeout is 1m, and max_kill_timeout of client-1, client-2 is 30s")
def short_kill(world: World) -> None:
    world.client_agent["agent/self"]["config"]["Client"]["MaxKillTimeout"] = "30s"


@warning("drain_on_shutdown", "client-1, client-2 does not drain")
def no_drain(world: World) -> None:
    world.client_agent["agent/self"]["config"]["Client"]["Drain"] = None


@problem("attach slots left", "client client-1 (t3.medium) has 27 of at most 27 volumes attached")
def full_instance(world: World) -> None:
    for number in range(25):
        world.instances[0]["BlockDeviceMappings"].append({"Ebs": {"VolumeId": f"vol-{number}"}})
        world.nomad["volumes"].append({"ID": f"v{number}", "ExternalID": f"vol-{number}", "PluginID": "aws-ebs0"})


@warning("attach limit", "lets Nomad put 26 volumes on client-2, where EC2 attaches 25")
def greedy_driver(world: World) -> None:
    world.instances[1]["BlockDeviceMappings"].append({"Ebs": {"VolumeId": "vol-of-somebody"}})


@problem("zones of volumes", "no usable client for volume mysql in us-west-2a")
def no_client_in_zone(world: World) -> None:
    for one in world.nodes:
        one["SchedulingEligibility"] = "ineligible"


@warning("zones of volumes", "only client client-1 for volume mysql in us-west-2a")
def one_client_in_zone(world: World) -> None:
    world.nodes[1]["SchedulingEligibility"] = "ineligible"


@problem("plugins are healthy", "no healthy node plugin in us-west-2a")
def sick_node_plugin(world: World) -> None:
    for info in world.nomad["plugin/csi/aws-ebs0"]["Nodes"].values():
        info["Healthy"] = False


@problem("plugins are healthy", "a controller of CSI plugin aws-ebs0 is unhealthy")
def sick_controller(world: World) -> None:
    world.settings["plugins"][0]["controllers"] = 1
    controllers = world.nomad["plugin/csi/aws-ebs0"]["Controllers"]
    controllers["node-client-2"] = {"Healthy": False, "HealthDescription": "killed", "AllocID": "abcdef0123"}


@problem("not stopped", "job mysql-server is stopped (namespace default)")
def stopped_job(world: World) -> None:
    world.nomad["job/mysql-server"]["Stop"] = True


@problem("not stopped", "job mysql-server is not in Nomad (namespace default)")
def purged_job(world: World) -> None:
    world.nomad["job/mysql-server"] = None


@pytest.mark.parametrize(("damage", "check", "level", "what"), BROKEN)
def test_what_is_broken_is_named(damage: Damage, check: str, level: str, what: str) -> None:
    world = World()
    damage(world)
    results = examined(world)
    told = {result.check.name: result for result in results if result.findings}
    (name,) = [name for name in told if check in name]
    assert set(told) == {name}
    finding = next(finding for finding in told[name].findings if what in finding.what)
    assert finding.level == level
    assert finding.why
    assert finding.cure
    assert finding.link.startswith(("https://", "docs/"))
    assert report.is_ok(results) is (level == "warning")


@pytest.mark.parametrize(
    ("version", "of_servers", "of_clients"),
    [
        (
            "1.11.3",
            ["CVE-2026-7474", "GH-27832", "GH-27852", "GH-28275", "GH-28394", "purged before its first evaluation"],
            ["CVE-2026-6959", "CVE-2026-7474", "CVE-2026-14891", "CVE-2026-14896"],
        ),
        ("2.0.3", ["GH-28275", "GH-28394"], ["CVE-2026-14891", "CVE-2026-14896"]),
        ("2.0.5", [], []),
    ],
)
def test_each_fault_of_a_version_is_a_warning_with_its_cure(
    version: str, of_servers: list[str], of_clients: list[str]
) -> None:
    world = World()
    for one in world.nodes:
        one["Attributes"]["nomad.version"] = version
    for server in world.nomad["agent/members"]["Members"]:
        server["Tags"]["build"] = version
    told = {result.check.name: list(result.findings) for result in examined(world) if result.findings}
    assert len(told) == bool(of_servers) + bool(of_clients)
    for check, wanted in (("versions of the servers", of_servers), ("versions of the clients", of_clients)):
        findings = told.get(check, [])
        assert [text for text, finding in zip(wanted, findings, strict=True) if text not in finding.what] == []
        assert all(finding.level == "warning" for finding in findings)
        assert {finding.cure for finding in findings if "fixed in" in finding.what} == (
            {"upgrade to 2.0.5 or newer, the servers first"} if wanted else set()
        )


def test_what_cannot_be_asked_is_neither_right_nor_wrong() -> None:
    world = World()
    world.aws["iam"]["simulate_principal_policy"] = refused("SimulatePrincipalPolicy")
    world.aws["ec2"]["get_ebs_encryption_by_default"] = refused("GetEbsEncryptionByDefault")
    world.client_agent["agent/self"] = NomadUnreachable("cannot reach Nomad at http://client-1:4646")
    results = examined(world)
    assert report.is_ok(results)
    open_ = {result.check.name: result.not_checked for result in results if result.state == "not checked"}
    assert len(open_) == 5
    assert "not authorized to perform SimulatePrincipalPolicy" in open_["clientRole may attach the volumes"]
    assert "cannot reach Nomad at http://client-1:4646" in open_["max_kill_timeout"]
    assert not any(result.findings for result in results)


def test_an_answer_of_another_shape_leaves_the_other_checks() -> None:
    world = World()
    world.aws["ec2"]["get_ebs_encryption_by_default"] = {}
    (open_,) = [result for result in examined(world) if result.state != "ok"]
    assert open_.not_checked == "an answer was not as this check expects it (KeyError: 'EbsEncryptionByDefault')"


def test_a_check_that_aws_does_not_answer_ends_no_other() -> None:
    def signed(_facts: Facts) -> Iterator[Finding]:
        yield from ()
        raise NoCredentialsError

    checks = [Check("g", "signed", signed), Check("g", "other", lambda _facts: iter(()))]
    first, second = report.examine(checks, World().facts())
    assert (first.state, first.not_checked) == ("not checked", "Unable to locate credentials")
    assert second.state == "ok"


def test_the_clock_of_aws_is_open_without_credentials() -> None:
    world = World()
    world.aws["sts"]["get_caller_identity"] = NoCredentialsError()
    [told] = [one for one in examined(world) if one.check.name == "clocks agree"]
    assert told.not_checked == "no time from AWS"


def test_without_nomad_one_check_is_red_and_what_builds_on_it_is_open() -> None:
    world = World()
    world.nomad["status/leader"] = NomadUnreachable("cannot reach Nomad at http://nomad:4646")
    results = examined(world)
    assert [result.check.name for result in results if result.findings] == ["Nomad answers and has a leader"]
    assert sum(result.state == "not checked" for result in results) > 10
    assert report.text(results).count("cannot reach Nomad") == 2
    assert "1 problem, 0 warnings" in report.summary(results)
    assert not report.is_ok(results)


def test_before_the_first_up_nothing_of_the_stack_is_missed() -> None:
    world = World()
    world.resources = []
    world.place = replace(world.place, account_id="")
    world.nomad["plugin/csi/aws-ebs0"] = None
    world.nomad["volumes"] = []
    world.instances[0] = instance("i-1")
    results = report.examine(CHECKS, world.facts())
    assert [finding.what for result in results for finding in result.findings] == []


def test_a_group_that_is_not_deployed_is_not_checked() -> None:
    world = World()
    world.settings["mysql"] = {"group": {}}
    assert concerning(world.facts()) == list(CHECKS)
    assert {check.group for check in GROUP} == {"Replication group"}
    results = report.examine(GROUP, world.facts())
    assert {result.not_checked for result in results} == {"the stack has deployed no replication group yet"}
    assert report.summary(results) == "0 problems, 0 warnings; 0 checks in order, 3 not made"


def moved(world: World, role: str, age_s: float) -> None:
    """An instance of the plugin that Nomad placed so long ago on client-1, and that is not healthy yet."""
    info = {"Healthy": False, "HealthDescription": "initial fingerprint not completed", "AllocID": "8f3c2a1b-00"}
    world.nomad["plugin/csi/aws-ebs0"]["Controllers" if role == "controller" else "Nodes"] = {"node-client-1": info}
    job = {"ID": "plugin", "Namespace": "default", "Status": "running"}
    task = {"CSIPluginConfig": {"ID": "aws-ebs0", "Type": role}}
    world.nomad["jobs"] = [job]
    world.nomad["job/plugin"] = {**job, "TaskGroups": [{"Name": role, "Tasks": [task]}]}
    placed = {"ID": "8f3c2a1b-00", "NodeID": "node-client-1", "NodeName": "client-1", "TaskGroup": role}
    states = {"DesiredStatus": "run", "ClientStatus": "running", "CreateTime": int((time.time() - age_s) * 1e9)}
    world.nomad["job/plugin/allocations"] = [{**placed, **states}]


@pytest.mark.parametrize(
    ("role", "told", "late"),
    [
        ("controller", "a controller is starting since", "0 of 1 controllers healthy"),
        ("node", "the node plugin is starting since", "no healthy node plugin in us-west-2a"),
    ],
)
def test_what_starts_after_a_drain_is_told_and_no_problem_until_it_takes_too_long(
    role: str, told: str, late: str
) -> None:
    world = World()
    moved(world, role, age_s=20)
    (result,) = [one for one in examined(world) if one.findings]
    (finding,) = result.findings
    assert (finding.level, told in finding.what) == ("warning", True)
    moved(world, role, age_s=130)
    (result,) = [one for one in examined(world) if one.findings]
    assert [(one.level, late in one.what) for one in result.findings] == [("problem", True)]


def test_a_sick_controller_beside_one_that_starts_is_a_problem() -> None:
    world = World()
    moved(world, "controller", age_s=20)
    sick = {"Healthy": False, "HealthDescription": "killed", "AllocID": "abcdef0123"}
    world.nomad["plugin/csi/aws-ebs0"]["Controllers"]["node-client-2"] = sick
    found = [finding for result in examined(world) for finding in result.findings]
    assert [(one.level, "abcdef01" in one.what) for one in found] == [("warning", False), ("problem", True)]


def test_a_cluster_without_access_control_needs_no_capabilities() -> None:
    world = World()
    world.nomad["acl/token/self"] = NomadApiError(400, "ACL support disabled")
    assert all(result.state == "ok" for result in examined(world))


def test_a_third_client_in_another_zone_helps_nobody() -> None:
    world = World()
    world.nodes = [node("client-3", "us-west-2b", "i-1")]
    world.nomad["plugin/csi/aws-ebs0"]["Nodes"] = {}
    told = [finding.what for result in examined(world) for finding in result.findings]
    assert "no usable client for volume mysql in us-west-2a: there is none" in told


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ('namespace "*" { capabilities = ["submit-job"] }', {"submit-job"}),
        ('namespace "*" { policy = "write" }\nnamespace "default" { capabilities = ["read-job"] }', {"read-job"}),
        ('namespace "default" { capabilities = ["deny", "read-job"] }', set()),
        ('namespace "other" { policy = "write" }', set()),
        ('namespace "default" {\n variables { path "*" { capabilities = ["list"] } }\n}', set()),
    ],
)
def test_the_most_specific_block_of_a_policy_counts(rules: str, found: set[str]) -> None:
    assert cluster.allowed(rules, "default") == found


def test_a_kill_timeout_that_is_left_out_is_the_settings_default() -> None:
    for section in (DatabaseSection, Consumer):
        assert section.model_fields["kill_timeout"].default == clients.KILL_TIMEOUT


def test_scripts_get_an_object() -> None:
    world = World()
    denied_attach(world)
    told: dict[str, Any] = json.loads(json.dumps(report.as_object(examined(world))))
    assert told["ok"] is False
    (wrong,) = [check for check in told["checks"] if check["state"] == "problem"]
    assert wrong["group"] == "IAM"
    assert set(wrong["findings"][0]) == {"level", "what", "why", "cure", "link"}


def test_the_text_has_the_cure_below_what_is_wrong() -> None:
    world = World()
    one_hop(world)
    printed = report.text(examined(world))
    assert (
        "  PROBLEM the hop limit of i-2 is 1, and plugin aws-ebs0 runs in containers\n"
        "            why:  the token's answer does not reach a container on a bridge: the driver gets no credentials\n"
        "            cure: aws ec2 modify-instance-metadata-options --instance-id i-2 --http-put-response-hop-limit 2\n"
    ) in printed


def test_a_registration_that_is_gone_or_anothers_is_told() -> None:
    world = World()
    made = {NOMAD_CSI_REGISTRATION: ("mysql", "vol-other"), NOMAD_CSI_VOLUME: ("archive", VOLUME)}
    world.resources += [
        {"type": kind, "outputs": {"volumeId": volume, "externalId": external, "namespace": "default"}}
        for kind, (volume, external) in made.items()
    ]
    told = [finding.what for finding in volumes.registered(world.facts())]
    assert told == [
        f"volume mysql is {VOLUME} in Nomad, the stack's is vol-other",
        "volume archive is not registered in namespace default",
    ]


@pytest.mark.parametrize(
    ("status", "since", "told"),
    [("ready", "", 1), ("down", "", 0), ("ready", "2026-11-22 10:16:00 UTC", 0)],
    ids=["its client answers", "its client is down", "attached since"],
)
def test_a_volume_that_was_abandoned_with_its_zone_and_is_used_again_is_told(
    status: str, since: str, told: int
) -> None:
    world = World()
    world.nodes[0]["Status"] = status
    made = {"volumeId": "mysql", "externalId": VOLUME, "namespace": "default"}
    world.resources.append({"type": NOMAD_CSI_REGISTRATION, "outputs": made})
    claim = {"ID": "a1", "NodeID": "node-client-1", "Namespace": "default", "JobID": "mysql-server"}
    claim |= {"DesiredStatus": "run", "ClientStatus": "running"}
    world.nomad["volume/csi/mysql"] = {"ID": "mysql", "PluginID": "aws-ebs0", "Allocations": [claim]}
    tags = {GIVEN_UP_TAG: "2026-11-22 10:15:00 UTC"}
    world.ebs[VOLUME] = Volume(VOLUME, "in-use", [Attachment("i-1", "/dev/xvdba", "attached", since)], tags=tags)
    found = [one for one in volumes.held(world.facts()) if "was abandoned with its zone" in one.what]
    assert [one.cure for one in found] == [f"aws ec2 delete-tags --resources {VOLUME} --tags Key={GIVEN_UP_TAG}"] * told
