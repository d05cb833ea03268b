"""The IAM role of the Nomad clients, with which the driver calls EC2."""

from collections.abc import Iterator
from typing import Any

from nomad_stateful.drivers.ebs import MANAGED_TAG, MANAGED_TAG_VALUE
from nomad_stateful.drivers.ebs_policy import DESCRIBE_ACTIONS, Mode
from nomad_stateful.operate.doctor.facts import Facts, NotChecked, listed
from nomad_stateful.operate.doctor.finding import Finding, problem
from nomad_stateful.resource_types import EBS_VOLUME, IAM_POLICY

_PAGE = "docs/iam.md"
_PROFILES = "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_switch-role-ec2_instance-profiles.html"


def is_the_clients(facts: Facts) -> Iterator[Finding]:
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


def has_policy(facts: Facts) -> Iterator[Finding]:
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
            yield problem(what, "the driver's calls to EC2 are refused", "pulumi up --refresh", _PAGE)


def may_attach(facts: Facts) -> Iterator[Finding]:
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
        yield problem(what, why, cure, _PAGE)
