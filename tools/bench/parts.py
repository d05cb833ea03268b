"""What a stack consists of, read from its state, so that everyone else makes exactly the same."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]

MYSQL = "mysql-server"
PLUGIN = "aws-ebs0"


@dataclass(frozen=True)
class Job:
    """A job file and its variables."""

    jobspec: str
    variables: dict[str, str]


@dataclass(frozen=True)
class Volume:
    """An EBS volume and its registration (Pulumi's inputs of it, without the volume's id)."""

    name: str
    zone: str
    size_gib: int
    type: str
    encrypted: bool
    tags: dict[str, str]
    registration: Json


@dataclass(frozen=True)
class Parts:
    """Everything the stack makes besides its gates."""

    role: str
    policy: str
    controller: Job
    node: Job
    mysql: Job
    volumes: list[Volume]

    @classmethod
    def of_stack(cls, exported: Mapping[str, Any]) -> Parts:
        """From `pulumi stack export`."""
        resources = exported["deployment"]["resources"]
        policy = _only(resources, "aws:iam/policy:Policy")["policy"]
        return cls(
            role=_only(resources, "aws:iam/rolePolicyAttachment:RolePolicyAttachment")["role"],
            policy=policy if isinstance(policy, str) else json.dumps(policy),
            controller=_job(resources, "-controller"),
            node=_job(resources, "-node"),
            mysql=_job(resources, "mysql-job"),
            volumes=_volumes(resources),
        )

    def save(self, path: Path) -> None:
        """As JSON, for programs of other tools."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def _inputs(resources: list[Json], kind: str) -> list[tuple[str, Json]]:
    return [(item["urn"], copy.deepcopy(item["inputs"])) for item in resources if item["type"] == kind]


def _only(resources: list[Json], kind: str) -> Json:
    ((_, inputs),) = _inputs(resources, kind)
    return inputs


def _job(resources: list[Json], ending: str) -> Job:
    (inputs,) = [found for urn, found in _inputs(resources, "nomad:index/job:Job") if urn.endswith(ending)]
    return Job(inputs["jobspec"], dict(inputs["hcl2"]["vars"]))


def _volumes(resources: list[Json]) -> list[Volume]:
    made = {inputs["tags"]["Name"]: inputs for _, inputs in _inputs(resources, "aws:ebs/volume:Volume")}
    found = []
    for _, registration in _inputs(resources, "nomad:index/csiVolumeRegistration:CsiVolumeRegistration"):
        name = str(registration["volumeId"])
        volume = made[name]
        found.append(
            Volume(
                name=name,
                zone=volume["availabilityZone"],
                size_gib=int(volume["size"]),
                type=volume["type"],
                encrypted=bool(volume["encrypted"]),
                tags=dict(volume["tags"]),
                registration={key: value for key, value in registration.items() if not key.startswith("__")},
            )
        )
    return found
