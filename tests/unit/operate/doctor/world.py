"""A stack, a cluster and an account in which nothing is wrong: a test breaks one thing of it."""

from copy import deepcopy
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any

from botocore.exceptions import ClientError

from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.volumes import Volume
from nomad_stateful.nomad.api import NomadError, NomadNotFound
from nomad_stateful.operate.doctor.facts import Facts, Sources

ACCOUNT, ROLE, VOLUME = "111122223333", "nomad-client", "vol-0123456789abcdef0"
VOLUME_ARN = f"arn:aws:ec2:us-west-2:{ACCOUNT}:volume/{VOLUME}"
POLICY_ARN = f"arn:aws:iam::{ACCOUNT}:policy/ebs-driver"
ROLE_ARN = f"arn:aws:iam::{ACCOUNT}:role/{ROLE}"
IN_ORDER = "2.0.5"
RULES = """
namespace "default" {
  # "sentinel-override"
  capabilities = ["submit-job", "read-job", "list-jobs", "csi-register-plugin", "csi-write-volume", "csi-mount-volume"]
  variables {
    path "nomad/jobs/*" { capabilities = ["read", "write", "destroy"] }
  }
}
node { policy = "read" }
plugin { policy = "read" }
"""


def node(name: str, zone: str, instance_id: str) -> dict[str, Any]:
    """A client that is ready, with docker set up for CSI plugins."""
    return {
        "ID": f"node-{name}",
        "Name": name,
        "Status": "ready",
        "SchedulingEligibility": "eligible",
        "HTTPAddr": f"{name}:4646",
        "Attributes": {
            "nomad.version": IN_ORDER,
            "platform.aws.placement.availability-zone": zone,
            "unique.platform.aws.instance-id": instance_id,
            "driver.docker.version": "27.0.3",
            "driver.docker.privileged.enabled": "true",
            "driver.docker.volumes.enabled": "true",
        },
        "Drivers": {"docker": {"Healthy": True, "HealthDescription": "Healthy"}},
        "CSINodePlugins": {"aws-ebs0": {"Healthy": True, "NodeInfo": {"ID": instance_id, "MaxVolumes": 26}}},
    }


def instance(instance_id: str, *volumes: str) -> dict[str, Any]:
    """An EC2 instance with its root volume and others."""
    return {
        "InstanceId": instance_id,
        "InstanceType": "t3.medium",
        "IamInstanceProfile": {"Arn": f"arn:aws:iam::{ACCOUNT}:instance-profile/clients"},
        "MetadataOptions": {"HttpTokens": "required", "HttpEndpoint": "enabled", "HttpPutResponseHopLimit": 2},
        "NetworkInterfaces": [{}],
        "BlockDeviceMappings": [{"Ebs": {"VolumeId": f"vol-root-{instance_id}"}}, *map(_mapping, volumes)],
        "State": {"Name": "running"},
    }


def _with_date() -> dict[str, Any]:
    return {"ResponseMetadata": {"HTTPHeaders": {"date": formatdate(usegmt=True)}}}


def _mapping(volume_id: str) -> dict[str, Any]:
    return {"Ebs": {"VolumeId": volume_id}}


class FakeApi:
    """A Nomad agent of canned answers; what is an exception is raised."""

    address = "http://nomad:4646"

    def __init__(self, answers: dict[str, Any], now: datetime | None = None) -> None:
        self.answers = answers
        self.now = now

    def get(self, path: str, **_params: Any) -> Any:
        found = self.answers.get(path)
        if isinstance(found, Exception):
            raise found
        if found is None:
            raise NomadNotFound(404, path)
        return deepcopy(found)

    def find(self, path: str, **params: Any) -> Any:
        try:
            return self.get(path, **params)
        except NomadNotFound:
            return None

    def reach(self) -> None:
        if isinstance(self.answers.get("status/leader"), Exception):
            raise self.answers["status/leader"]

    def clock(self, timeout_s: float = 0) -> datetime:
        return self.now or datetime.now(UTC)

    def close(self) -> None:
        """Nothing to close."""


class FakeAws:
    """A client of one AWS service: an answer by call, which may be a function of its arguments, or an exception."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self._answers = answers

    def __getattr__(self, call: str) -> Any:
        def made(**arguments: Any) -> Any:
            found = self._answers[call]
            if isinstance(found, Exception):
                raise found
            return found(**arguments) if callable(found) else found

        return made


class FakeEbs:
    """EC2's volumes: by id, and free where it was told of none."""

    def __init__(self, states: dict[str, Volume], instances: dict[str, str]) -> None:
        self._states = states
        self._instances = instances

    def state(self, volume_id: str) -> Volume:
        return self._states.get(volume_id, Volume(VOLUME, "available"))

    def instance_states(self, instance_ids: list[str]) -> dict[str, str]:
        return {one: self._instances.get(one, "running") for one in instance_ids}


def refused(call: str) -> ClientError:
    """What boto3 raises where a permission is missing."""
    return ClientError({"Error": {"Code": "AccessDenied", "Message": f"not authorized to perform {call}"}}, call)


class World:
    """Everything that the checks ask for; `facts` after it was broken."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {
            "clientRole": ROLE,
            "plugins": [{"id": "aws-ebs0", "driver": "ebs", "version": "v1.48.0", "controllers": 1}],
            "volumes": [{"name": "mysql", "zone": "us-west-2a"}],
            "mysql": {"jobId": "mysql-server", "volume": "mysql", "killTimeout": "1m"},
        }
        self.nodes = [node("client-1", "us-west-2a", "i-1"), node("client-2", "us-west-2a", "i-2")]
        self.instances = [instance("i-1", VOLUME), instance("i-2")]
        self.resources: list[dict[str, Any]] = [
            {"type": "aws:iam/policy:Policy", "outputs": {"arn": POLICY_ARN}},
            {"type": "aws:ebs/volume:Volume", "outputs": {"arn": VOLUME_ARN}},
            {"type": "nomad:index/job:Job", "id": "mysql-server", "outputs": {"namespace": "default"}},
        ]
        self.place = AwsPlace("us-west-2", ACCOUNT)
        self.account = ACCOUNT
        self.allowed_accounts: list[str] = [ACCOUNT]
        self.client_agent: dict[str, Any] = {
            "agent/self": {
                "config": {"LeaveOnTerm": True, "Client": {"MaxKillTimeout": "2m", "Drain": {"Deadline": "2m"}}}
            }
        }
        self.clocks: dict[str, datetime] = {}
        self.ebs: dict[str, Volume] = {}
        self.instance_states: dict[str, str] = {}
        self.nomad = self._nomad()
        self.aws = self._aws()

    def _nomad(self) -> dict[str, Any]:
        healthy = {"Healthy": True, "HealthDescription": "healthy", "ProviderVersion": "v1.48.0"}
        attaches = {**healthy, "ControllerInfo": {"SupportsAttachDetach": True}, "AllocID": "controller"}
        return {
            "status/leader": "10.0.0.1:4647",
            "agent/members": {
                "Members": [
                    {"Name": f"server-{number}", "Status": "alive", "Tags": {"build": IN_ORDER}} for number in (1, 2, 3)
                ]
            },
            "acl/token/self": {"Type": "client", "Policies": ["program"], "Roles": None, "ExpirationTime": None},
            "acl/policy/program": {"Rules": RULES},
            "jobs": [],
            "job/mysql-server": {"ID": "mysql-server", "Stop": False},
            "volumes": [{"ID": "mysql", "ExternalID": VOLUME, "PluginID": "aws-ebs0", "Namespace": "default"}],
            "plugin/csi/aws-ebs0": {
                "Provider": "ebs.csi.aws.com",
                "Version": "v1.48.0",
                "ControllerRequired": True,
                "Controllers": {"node-client-1": attaches},
                "Nodes": {"node-client-1": healthy, "node-client-2": healthy},
            },
        }

    def _aws(self) -> dict[str, dict[str, Any]]:
        profile = {"InstanceProfile": {"Roles": [{"RoleName": ROLE}]}}
        slots = {"MaximumEbsAttachments": 27, "AttachmentLimitType": "shared"}
        return {
            "sts": {"get_caller_identity": _with_date},
            "ec2": {
                "describe_availability_zones": {"AvailabilityZones": [{"ZoneName": "us-west-2a"}]},
                "describe_instances": lambda **_: {"Reservations": [{"Instances": self.instances}]},
                "describe_instance_types": {"InstanceTypes": [{"EbsInfo": slots}]},
                "get_ebs_encryption_by_default": {"EbsEncryptionByDefault": True},
            },
            "iam": {
                "get_role": {"Role": {"Arn": ROLE_ARN}},
                "get_instance_profile": profile,
                "list_attached_role_policies": {"AttachedPolicies": [{"PolicyArn": POLICY_ARN}]},
                "simulate_principal_policy": self.simulate(),
            },
            "kms": {"describe_key": {"KeyMetadata": {"KeyState": "Enabled"}}},
        }

    @staticmethod
    def simulate(*denied: str) -> Any:
        """What IAM answers where it denies some actions."""

        def answer(**asked: Any) -> Any:
            said = {True: "implicitDeny", False: "allowed"}
            return {
                "EvaluationResults": [
                    {"EvalActionName": action, "EvalDecision": said[action in denied]}
                    for action in asked["ActionNames"]
                ]
            }

        return answer

    def facts(self) -> Facts:
        """What a check sees of this world."""
        for one in self.nodes:
            self.nomad[f"node/{one['ID']}"] = one
        self.nomad.setdefault(
            "nodes", [{"ID": one["ID"], "Name": one["Name"], "Status": one["Status"]} for one in self.nodes]
        )
        api: Any = FakeApi(self.nomad, self.clocks.get("server"))
        aws = {service: FakeAws(answers) for service, answers in self.aws.items()}
        sources = Sources(
            settings=self.settings,
            resources=self.resources,
            place=self.place,
            allowed_accounts=self.allowed_accounts,
            nomad=lambda: api,
            program=lambda: api,
            client=lambda one: FakeApi(self.client_agent, self.clocks.get(one.name)),  # type: ignore[arg-type, return-value]
            aws=lambda service, _place: aws[service],
            ebs=lambda _place: FakeEbs(self.ebs, self.instance_states),  # type: ignore[arg-type, return-value]
            caller=self._caller,
        )
        return Facts(sources)

    def _caller(self, _place: AwsPlace) -> tuple[str, str]:
        if not self.account:
            raise NomadError("the SSO session has expired")
        return self.account, f"arn:aws:sts::{self.account}:assumed-role/deployer/session"
