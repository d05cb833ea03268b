"""The AWS account: whose the credentials are, what they and the clients' role may do, and encryption."""

from collections.abc import Iterator
from typing import Any

from nomad_stateful.drivers.ebs import MANAGED_TAG, MANAGED_TAG_VALUE
from nomad_stateful.drivers.ebs_policy import DESCRIBE_ACTIONS, Mode
from nomad_stateful.operate.doctor.facts import Facts, NotChecked, listed
from nomad_stateful.operate.doctor.finding import Finding, problem, warning
from nomad_stateful.resource_types import EBS_VOLUME, IAM_POLICY

_CREDENTIALS = "https://www.pulumi.com/registry/packages/aws/installation-configuration/"
_SIMULATE = "https://docs.aws.amazon.com/IAM/latest/UserGuide/access_policies_testing-policies.html"

ROLE_ACTIONS = (
    "iam:AttachRolePolicy",
    "iam:CreatePolicy",
    "iam:CreatePolicyVersion",
    "iam:DeletePolicy",
    "iam:DeletePolicyVersion",
    "iam:DetachRolePolicy",
    "iam:GetPolicy",
    "iam:GetPolicyVersion",
    "iam:GetRole",
    "iam:ListAttachedRolePolicies",
    "iam:ListPolicyVersions",
    "iam:SetDefaultPolicyVersion",
)
VOLUME_ACTIONS = (
    "ec2:CreateTags",
    "ec2:CreateVolume",
    "ec2:DeleteTags",
    "ec2:DeleteVolume",
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeInstances",
    "ec2:DescribeVolumes",
    "ec2:DescribeVolumesModifications",
    "ec2:DetachVolume",
    "ec2:ModifyVolume",
)
SNAPSHOT_ACTIONS = ("ec2:CreateSnapshot", "ec2:DescribeSnapshots")
_KEYS = "https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption-requirements.html"
_DEFAULT = "https://docs.aws.amazon.com/ebs/latest/userguide/encryption-by-default.html"
_IAM = "docs/iam.md"
_PROFILES = "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_switch-role-ec2_instance-profiles.html"


def credentials(facts: Facts) -> Iterator[Finding]:
    """The AWS credentials are valid, and those of the stack's account."""
    try:
        account, arn = facts.caller()
    except NotChecked as error:
        why = "nothing in AWS can be made or read, and an `up` stops at its first resource"
        cure = "set AWS_PROFILE (`aws sso login`), or the stack's aws:profile; `aws sts get-caller-identity` shows them"
        yield problem(f"no AWS credentials that work: {error}", why, cure, _CREDENTIALS)
        return
    wanted = facts.place.account_id
    if wanted and account != wanted:
        what = f"the credentials are of account {account} ({arn}), the stack's resources are in {wanted}"
        why = "a refresh there takes every volume for deleted"
        yield problem(what, why, "set AWS_PROFILE or aws:profile to one of that account", _CREDENTIALS)
    allowed = [str(one) for one in facts.sources.allowed_accounts]
    if allowed and account not in allowed:
        what = f"the credentials are of account {account}, and aws:allowedAccountIds is {', '.join(allowed)}"
        yield problem(what, "the aws provider refuses it", "use credentials of that account", _CREDENTIALS)


def region(facts: Facts) -> Iterator[Finding]:
    """The clients are in the stack's region."""
    wanted = facts.place.region
    if not wanted:
        what, why = "no region is configured", "the aws provider does not start without one"
        yield problem(what, why, "`pulumi config set aws:region REGION`, or set AWS_REGION", _CREDENTIALS)
        return
    names = {zone["ZoneName"] for zone in facts.ask("ec2", "describe_availability_zones")["AvailabilityZones"]}
    zones = {client.zone for client in facts.clients()} - {""}
    if (strange := sorted(zones - names)) and not zones & names:
        what = f"the stack is in {wanted}, the Nomad clients are in {', '.join(strange)}"
        why = "a volume is attached in its own region only"
        yield problem(what, why, "correct aws:region, or NOMAD_ADDR", _CREDENTIALS)


def permissions(facts: Facts) -> Iterator[Finding]:
    """The AWS credentials may do what `pulumi up` and `destroy` do, as IAM simulates it for any resource."""
    _, arn = facts.caller()
    if ":root" in arn:
        return
    volumes = [volume for volume in facts.volumes() if volume.get("provision", "pulumi") == "pulumi"]
    actions = [*ROLE_ACTIONS, *(VOLUME_ACTIONS if volumes else ())]
    if any(volume.get("finalSnapshot") for volume in volumes):
        actions += SNAPSHOT_ACTIONS
    refused = facts.simulate(PolicySourceArn=_principal(facts, arn), ActionNames=sorted(actions))
    if refused:
        what = f"{arn} may not {', '.join(refused)} on every resource"
        why = "an `up` or `destroy` that needs it stops there, unless a policy allows it for the resource in question"
        yield warning(what, why, "allow these actions for whoever runs Pulumi", _SIMULATE)


def _principal(facts: Facts, arn: str) -> str:
    """Returns the ARN that policies are attached to: of a session, its role's."""
    kind, _, name = arn.split(":", 5)[5].partition("/")
    if kind != "assumed-role":
        return arn
    found = facts.ask("iam", "get_role", RoleName=name.partition("/")[0])
    return str(found["Role"]["Arn"])


def keys_usable(facts: Facts) -> Iterator[Finding]:
    """The KMS keys of the volumes exist and are enabled."""
    for key in sorted({str(volume["kmsKeyArn"]) for volume in facts.volumes() if volume.get("kmsKeyArn")}):
        state = str(facts.ask("kms", "describe_key", KeyId=key)["KeyMetadata"]["KeyState"])
        if state != "Enabled":
            pending = state == "PendingDeletion"
            command = "cancel-key-deletion" if pending else "enable-key"
            then = f" && aws kms enable-key --key-id {key}" if pending else ""
            why = "a volume under it is not attached any more once it is detached, and is lost with its key"
            yield problem(f"the key {key} is {state}", why, f"aws kms {command} --key-id {key}{then}", _KEYS)


def encrypts_by_default(facts: Facts) -> Iterator[Finding]:
    """What EC2 makes without being asked to encrypt it is encrypted: copies, root volumes, others' volumes."""
    if not facts.ask("ec2", "get_ebs_encryption_by_default")["EbsEncryptionByDefault"]:
        what = f"EBS encryption by default is off in {facts.place.region}"
        why = "volumes with encrypted: false, and those made by hand from a plain snapshot, are written unencrypted"
        cure = f"aws ec2 enable-ebs-encryption-by-default --region {facts.place.region}"
        yield warning(what, why, cure, _DEFAULT)


def role_is_the_clients(facts: Facts) -> Iterator[Finding]:
    """clientRole is the role of the clients' instance profiles."""
    wanted = facts.client_role()
    for instance_id, instance in sorted(facts.instances().items()):
        profile = (instance.get("IamInstanceProfile") or {}).get("Arn", "")
        if not profile:
            what = f"instance {instance_id} has no instance profile"
            cure = (
                f"aws ec2 associate-iam-instance-profile --instance-id {instance_id} --iam-instance-profile Name=NAME"
            )
            yield problem(what, "the driver there has no credentials, and attaches nothing", cure, _PROFILES)
            continue
        name = profile.rpartition("/")[2]
        found = facts.ask("iam", "get_instance_profile", InstanceProfileName=name)["InstanceProfile"]
        roles = [role["RoleName"] for role in found["Roles"]]
        if wanted not in roles:
            what = f"instance {instance_id} has the role {', '.join(roles) or 'of no name'}, and clientRole is {wanted}"
            why = "the stack gives the driver's permissions to clientRole: the driver on that instance has none"
            cure = (
                f"set clientRole to {roles[0] if roles else 'its role'}, or give the instance the profile of {wanted}"
            )
            yield problem(what, why, cure, _PROFILES)


def role_has_policy(facts: Facts) -> Iterator[Finding]:
    """The driver's policy, as the stack made it, is attached to clientRole."""
    made = [str(one["arn"]) for one in facts.made(IAM_POLICY)]
    if not made:
        raise NotChecked("the stack has made no policy yet: `pulumi up` does, and attaches it")
    role = facts.client_role()
    answer = facts.ask("iam", "list_attached_role_policies", RoleName=role)
    attached = {one["PolicyArn"] for one in answer["AttachedPolicies"]}
    for arn in made:
        if arn not in attached:
            what = f"{arn} is not attached to the role {role}"
            yield problem(what, "the driver's calls to EC2 are refused", "pulumi up --refresh", _IAM)


def role_may_attach(facts: Facts) -> Iterator[Finding]:
    """The clients' role may do what the EBS driver does with volumes that carry the driver's tag."""
    made = [str(one["arn"]) for one in facts.made(EBS_VOLUME)]
    if not made:
        raise NotChecked("the stack has made no EBS volume yet")
    role = facts.ask("iam", "get_role", RoleName=facts.client_role())["Role"]["Arn"]
    partition, _, region, account = made[0].split(":")[1:5]
    instances = f"arn:{partition}:ec2:{region}:{account}:instance/*"
    tag: dict[str, Any] = {
        "ContextKeyName": f"ec2:ResourceTag/{MANAGED_TAG}",
        "ContextKeyValues": [MANAGED_TAG_VALUE],
        "ContextKeyType": "string",
    }
    describing = sorted(action for action, mode, since in DESCRIBE_ACTIONS if mode is Mode.REGISTER and not any(since))
    questions: list[dict[str, Any]] = [
        {"ActionNames": describing},
        {"ActionNames": ["ec2:AttachVolume", "ec2:DetachVolume"], "ResourceArns": [made[0]], "ContextEntries": [tag]},
        {"ActionNames": ["ec2:AttachVolume", "ec2:DetachVolume"], "ResourceArns": [instances]},
    ]
    refused = {action for question in questions for action in facts.simulate(PolicySourceArn=role, **question)}
    if refused:
        what = f"the role {role} may not {listed(sorted(refused))}"
        why = "the driver cannot attach a volume, and its consumers stay pending"
        cure = "pulumi up --refresh; where the policy is attached, look for a deny, a boundary or a control policy"
        yield problem(what, why, cure, _IAM)
