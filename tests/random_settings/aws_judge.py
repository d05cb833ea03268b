"""What EC2 and IAM document as their limits, written down once more and apart from the program's own rules.

https://docs.aws.amazon.com/ebs/latest/userguide/ebs-volume-types.html
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Tags.html#tag-restrictions
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.cloud.lifecycle import policies
from sandbox.standins.plugins.aws import lifecycle_details
from sandbox.standins.plugins.aws.inputs import coerce
from tests.random_settings.resources import Resources

# Type -> smallest and largest GiB; smallest and largest IOPS and how many for each GiB; most MiB/s.
SIZES = {
    "gp2": (1, 16384),
    "gp3": (1, 65536),
    "io1": (4, 16384),
    "io2": (4, 65536),
    "st1": (125, 16384),
    "sc1": (125, 16384),
    "standard": (1, 1024),
}
IOPS = {"gp3": (3000, 80000, 500), "io1": (100, 64000, 50), "io2": (100, 256000, 1000)}
GP3_MIBPS = (125, 2000)
GP3_MIBPS_PER_IOPS = 0.25
MOST_TAGS, LONGEST_KEY, LONGEST_VALUE = 50, 128, 256
DRIVERS_TAGS = ("CSIVolumeName", "ebs.csi.aws.com/cluster", "CSIVolumeSnapshotName")
LARGEST_POLICY, LONGEST_DESCRIPTION = 6144, 1000
LARGEST_ROLE_POLICY = 10_240
KEY = r"arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:(key/(mrk-)?[0-9a-f-]{32,36}|alias/[A-Za-z0-9/_-]{1,250})"


def complaints(resources: Resources, config: Mapping[str, Any]) -> list[str]:
    """Everything that AWS would refuse of a program's resources, or that it would have other than configured."""
    found = []
    for name, resource in resources.items():
        judge = _JUDGES.get(resource.typ)
        found += [f"{name}: {said}" for said in judge(resource.inputs)] if judge else []
    return found + [f"tags: {said}" for said in _overridden(resources, config)]


def of_driver(job: Mapping[str, Any]) -> list[str]:
    """What EC2 would refuse of what a driver makes with the tags on its command line."""
    task = job["TaskGroups"][0]["Tasks"][0]
    pairs = [word.partition("=")[2] for word in task["Config"].get("args") or [] if word.startswith("--extra-tags=")]
    tags = dict(pair.partition("=")[::2] for text in pairs for pair in text.split(","))
    return list(_tags({**tags, **dict.fromkeys(DRIVERS_TAGS, "x")})) if tags else []


def _volume(inputs: Mapping[str, Any]) -> Iterator[str]:
    kind, size = inputs["type"], int(inputs["size"])
    low, high = SIZES[kind]
    if not low <= size <= high:
        yield f"{kind} of {size} GiB"
    yield from _iops(kind, size, inputs.get("iops"))
    throughput = inputs.get("throughput")
    if throughput is not None:
        if kind != "gp3" or not GP3_MIBPS[0] <= throughput <= GP3_MIBPS[1]:
            yield f"{kind} with {throughput} MiB/s"
        elif throughput > GP3_MIBPS_PER_IOPS * (inputs.get("iops") or 3000):
            yield f"{throughput} MiB/s with {inputs.get('iops')} IOPS"
    if inputs.get("kmsKeyId") and not re.fullmatch(KEY, inputs["kmsKeyId"]):
        yield f"no key is {inputs['kmsKeyId']}"
    if inputs.get("snapshotId") and not re.fullmatch(r"snap-([0-9a-f]{8}|[0-9a-f]{17})", inputs["snapshotId"]):
        yield f"no snapshot is {inputs['snapshotId']}"
    yield from _tags(inputs["tags"])


def _iops(kind: str, size: int, iops: int | None) -> Iterator[str]:
    if kind not in IOPS:
        if iops is not None:
            yield f"{kind} with IOPS"
        return
    least, most, per_gib = IOPS[kind]
    if iops is None:
        if kind != "gp3":
            yield f"{kind} without IOPS"
    elif not least <= iops <= most:
        yield f"{kind} with {iops} IOPS"
    elif iops > max(per_gib * size, 3000 if kind == "gp3" else 0):
        yield f"{kind} with {iops} IOPS on {size} GiB"


def _tags(tags: Mapping[str, str]) -> Iterator[str]:
    if len(tags) > MOST_TAGS:
        yield f"{len(tags)} tags"
    for key, value in tags.items():
        if not 0 < len(key) <= LONGEST_KEY or len(value) > LONGEST_VALUE:
            yield f"a tag's key of {len(key)}, its value of {len(value)} characters"
        if key.lower().startswith("aws:"):
            yield f"the key {key} is AWS's"


def _overridden(resources: Resources, config: Mapping[str, Any]) -> Iterator[str]:
    """A tag that was configured is the one that is made."""
    wanted = {volume["name"]: volume.get("tags") or {} for volume in config["volumes"]}
    for resource in resources.values():
        if resource.typ == "aws:ebs/volume:Volume":
            made = resource.inputs["tags"]
            name = made["Name"].partition("[")[0]
            yield from (f"{key} of {name} is lost" for key, value in wanted[name].items() if made.get(key) != value)


def _tag(inputs: Mapping[str, Any]) -> Iterator[str]:
    yield from _tags({inputs["key"]: inputs["value"]})
    # Of a volume that its driver makes it is not known before.
    if (volume := inputs.get("resourceId")) and not re.fullmatch(r"vol-([0-9a-f]{8}|[0-9a-f]{17})", volume):
        yield f"no volume is {volume}"


def _policy(inputs: Mapping[str, Any]) -> Iterator[str]:
    size = len(re.sub(r"\s", "", inputs["policy"]))
    if size > LARGEST_POLICY:
        yield f"a policy of {size} characters"
    statements = json.loads(inputs["policy"])["Statement"]
    sids = [statement["Sid"] for statement in statements]
    if len(sids) != len(set(sids)) or not all(re.fullmatch(r"[A-Za-z0-9]+", sid) for sid in sids):
        yield f"statements called {sids}"
    if len(inputs["description"]) > LONGEST_DESCRIPTION:
        yield "a long description"


def _attachment(inputs: Mapping[str, Any]) -> Iterator[str]:
    if not re.fullmatch(r"[A-Za-z0-9_+=,.@-]{1,64}", inputs["role"]):
        yield f"no role is {inputs['role']}"


def _role_policy(inputs: Mapping[str, Any]) -> Iterator[str]:
    if (size := len(re.sub(r"\s", "", inputs["policy"]))) > LARGEST_ROLE_POLICY:
        yield f"a policy of {size} characters in a role"


def _lifecycle_policy(inputs: Mapping[str, Any]) -> Iterator[str]:
    """Asks the sandbox's own service, which takes what is documented."""
    details = coerce("object", inputs["policyDetails"])
    yield from (f"{path}: {reason}" for path, reason in lifecycle_details.problems(details))
    if not re.fullmatch(r"[0-9A-Za-z _-]{1,500}", inputs["description"]):
        yield f"a policy described as {inputs['description']}"
    try:
        policies.checked(lifecycle_details.to_aws(details), "us-west-2")
    except policies.RefusedError as refused:
        yield str(refused)


_JUDGES = {
    "aws:ec2/tag:Tag": _tag,
    "aws:dlm/lifecyclePolicy:LifecyclePolicy": _lifecycle_policy,
    "aws:iam/rolePolicy:RolePolicy": _role_policy,
    "aws:ebs/volume:Volume": _volume,
    "aws:iam/policy:Policy": _policy,
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": _attachment,
}
