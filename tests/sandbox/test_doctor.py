"""The doctor names the cause on broken sandboxes, one after the other, and finds nothing once each is mended."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml

from tests.sandbox.whole_stack import take_exec_from_clients
from tools.trial.running import Running, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

Env = dict[str, str]
Break = Callable[[Running], AbstractContextManager[Env]]


@dataclass(frozen=True)
class Case:
    """A fault: the check that names it, and what it says of it."""

    check: str
    says: str
    broken: Break = field(repr=False)

    @property
    def name(self) -> str:
        """Name of its test."""
        return self.broken.__name__


CASES: list[Case] = []


def case(check: str, says: str) -> Callable[[Callable[[Running], Iterator[Env]]], Break]:
    """Adds a fault; what it yields is set for the doctor, what follows mends it."""

    def add(work: Callable[[Running], Iterator[Env]]) -> Break:
        made = contextmanager(work)
        CASES.append(Case(check, says, made))
        return made

    return add


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    take_exec_from_clients(running)
    with running.up():
        yield running


def examined(stack: Running, env: Env) -> dict[str, dict[str, Any]]:
    """The checks by their names."""
    done = stack.run(stack.python, "-m", "nomad_stateful.operate", "doctor", "--json", more_env=env)
    assert done.stdout, done.stderr
    known = json.loads(done.stdout)
    assert (done.returncode == 0) == known["ok"]
    return {check["name"]: check for check in known["checks"]}


@contextmanager
def settings(stack: Running, change: Callable[[dict[str, Any]], None]) -> Iterator[Env]:
    """Other settings, which no `up` has made true."""
    path = stack.project / "Pulumi.dev.yaml"
    before = path.read_text()
    whole = yaml.safe_load(before)
    change(whole["config"])
    path.write_text(yaml.safe_dump(whole))
    try:
        yield {}
    finally:
        path.write_text(before)


def management(stack: Running) -> Env:
    return {"NOMAD_TOKEN": (stack.project / ".sandbox/nomad/management.token").read_text().strip()}


def nomad(stack: Running, *words: str) -> None:
    done = stack.run("nomad", *words, more_env=management(stack))
    assert done.returncode == 0, done.stdout + done.stderr


def mend(stack: Running) -> None:
    """What the doctor says to do."""
    done = stack.run("pulumi", "up", "--refresh", "--yes", "--skip-preview", "--non-interactive")
    assert done.returncode == 0, done.stdout + done.stderr


def instance(stack: Running) -> str:
    found = stack.ec2.describe_instances()["Reservations"]
    return str(found[0]["Instances"][0]["InstanceId"])


@case("credentials are those of the stack's account", "no AWS credentials that work")
def no_credentials(_: Running) -> Iterator[Env]:
    empty = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "")
    yield {**empty, "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null"}


@case("EBS encryption by default", "EBS encryption by default is off in us-west-2")
def nothing_is_encrypted_by_default(stack: Running) -> Iterator[Env]:
    stack.ec2.disable_ebs_encryption_by_default()
    yield {}
    stack.ec2.enable_ebs_encryption_by_default()


@case("KMS keys are enabled", "is Disabled")
def a_key_is_disabled(stack: Running) -> Iterator[Env]:
    kms = stack.aws("kms")
    made = kms.create_key()["KeyMetadata"]
    kms.disable_key(KeyId=made["KeyId"])
    with settings(stack, lambda config: config["nomad-stateful:volumes"][0].update(kmsKeyArn=made["Arn"])):
        yield {}


@case("clientRole is the clients' role", "has the role nomad-client, and clientRole is other")
def clients_have_another_role(stack: Running) -> Iterator[Env]:
    with settings(stack, lambda config: config.update({"nomad-stateful:clientRole": "other"})):
        yield {}


@case("the driver's policy is attached to clientRole", "is not attached to the role nomad-client")
def the_policy_is_detached(stack: Running) -> Iterator[Env]:
    iam = stack.aws("iam")
    attached = iam.list_attached_role_policies(RoleName="nomad-client")["AttachedPolicies"]
    for one in attached:
        iam.detach_role_policy(RoleName="nomad-client", PolicyArn=one["PolicyArn"])
    yield {}
    for one in attached:
        iam.attach_role_policy(RoleName="nomad-client", PolicyArn=one["PolicyArn"])


@case("Nomad answers and has a leader", "Nomad does not answer")
def nomad_is_elsewhere(_: Running) -> Iterator[Env]:
    yield {"NOMAD_ADDR": "http://127.0.0.1:1"}


def token(stack: Running, rules: str, *words: str) -> str:
    """A token with such a policy."""
    file = stack.project / "narrow.hcl"
    file.write_text(rules)
    nomad(stack, "acl", "policy", "apply", "narrow", str(file))
    created = stack.run(
        "nomad", "acl", "token", "create", "-policy=narrow", "-json", *words, more_env=management(stack)
    )
    assert created.returncode == 0, created.stderr
    return str(json.loads(created.stdout)["SecretID"])


def full(stack: Running) -> str:
    return (stack.project / "nomad_stateful/program/nomad-policy.hcl").read_text()


@case("the token's capabilities", "lacks csi-write-volume")
def the_token_may_not_register_volumes(stack: Running) -> Iterator[Env]:
    yield {"NOMAD_TOKEN": token(stack, full(stack).replace('"csi-write-volume",', ""))}


@case("the token is valid", "the Nomad token expires at")
def the_token_is_about_to_expire(stack: Running) -> Iterator[Env]:
    yield {"NOMAD_TOKEN": token(stack, full(stack), "-ttl=1h")}


@case("task drivers are healthy", "task driver exec is not healthy on")
def clients_have_no_exec(stack: Running) -> Iterator[Env]:
    mounts = [{"volume": "archive", "path": "/data"}]
    consumer = {"name": "web", "taskDriver": "exec", "command": "/bin/sleep", "args": ["9"], "mounts": mounts}
    with settings(stack, lambda config: config.update({"nomad-stateful:consumers": [consumer]})):
        yield {}


@case("the driver reaches the metadata service", "the metadata service of i-")
def the_metadata_service_is_off(stack: Running) -> Iterator[Env]:
    stack.ec2.modify_instance_metadata_options(InstanceId=instance(stack), HttpEndpoint="disabled")
    yield {}
    stack.ec2.modify_instance_metadata_options(InstanceId=instance(stack), HttpEndpoint="enabled")


@case("the metadata service wants tokens (IMDSv2)", "answers without a token")
def the_metadata_service_wants_no_token(stack: Running) -> Iterator[Env]:
    stack.ec2.modify_instance_metadata_options(InstanceId=instance(stack), HttpTokens="optional")
    yield {}
    stack.ec2.modify_instance_metadata_options(InstanceId=instance(stack), HttpTokens="required")


@case("max_kill_timeout", "mysql.killTimeout is 20m, and max_kill_timeout of")
def clients_cut_the_kill_timeout(stack: Running) -> Iterator[Env]:
    with settings(stack, lambda config: config["nomad-stateful:mysql"].update(killTimeout="20m")):
        yield {}


@case("zones of volumes have clients", "in us-west-2c: there is none")
def a_zone_has_no_client(stack: Running) -> Iterator[Env]:
    with settings(stack, lambda config: config["nomad-stateful:volumes"][0].update(zone="us-west-2c")):
        yield {}


@case("zones of volumes have clients", "only client client-2 for volume")
def a_zone_has_one_usable_client(stack: Running) -> Iterator[Env]:
    [node] = [one["ID"] for one in stack.nomad.get("nodes") if one["Name"] == "client-1"]
    nomad(stack, "node", "eligibility", "-disable", node)
    yield {}
    nomad(stack, "node", "eligibility", "-enable", node)


@case("versions of the drivers", "the settings pin v1.47.0")
def the_driver_has_another_version(stack: Running) -> Iterator[Env]:
    with settings(stack, lambda config: config["nomad-stateful:plugins"][0].update(version="v1.47.0")):
        yield {}


@case("the stack's jobs are in Nomad, and not stopped", "job mysql-server is stopped")
def somebody_stopped_mysql(stack: Running) -> Iterator[Env]:
    nomad(stack, "job", "stop", "mysql-server")
    yield {}
    mend(stack)


@case("plugins are healthy in every zone", "plugin aws-ebs0: ")
def somebody_stopped_the_controllers(stack: Running) -> Iterator[Env]:
    nomad(stack, "job", "stop", "plugin-aws-ebs0-controller")

    def gone() -> bool | None:
        return True if not stack.nomad.get("plugin/csi/aws-ebs0")["ControllersHealthy"] else None

    eventually(gone, 60, "no controller is healthy")
    yield {}
    mend(stack)


@pytest.mark.parametrize("fault", CASES, ids=lambda one: one.name)
def test_the_cause_is_named_and_gone_when_it_is_mended(stack: Running, fault: Case) -> None:
    with fault.broken(stack) as env:
        found = examined(stack, env)[fault.check]
        assert found["findings"], found
        assert any(fault.says in one["what"] for one in found["findings"]), found
        assert all(one["why"] and one["cure"] and one["link"] for one in found["findings"])
        print(f"{fault.name}: {found['state']}: {found['findings'][0]['what']}")
    mended = examined(stack, {})
    open_ = {name for name, check in mended.items() if check["findings"] and fault.says in str(check["findings"])}
    assert not open_, mended
