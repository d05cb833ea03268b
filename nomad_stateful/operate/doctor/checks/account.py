"""Whose the AWS credentials are, and whether they may do what `pulumi up` does."""

from collections.abc import Iterator

from nomad_stateful.operate.doctor.facts import Facts, NotChecked
from nomad_stateful.operate.doctor.finding import Finding, problem, warning

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
