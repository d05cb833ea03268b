"""The sandbox that everything runs on: what is in it, and how it is made empty again by hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from nomad_stateful.nomad import volume_claims
from nomad_stateful.nomad.api import NomadApi, NomadError, NomadNotFound
from sandbox.cloud.aws_client import client
from sandbox.cloud.inventory import root_volumes
from sandbox.cluster.acl import read_tokens
from sandbox.settings import HOME_VARIABLE, SandboxSettings, load_settings
from tools.bench.parts import MYSQL, PLUGIN
from tools.trial.instances import inside
from tools.trial.running import Running

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_iam import IAMClient

POLL_S = 0.1
MYSQL_ZONE = "us-west-2a"
# Unmounts what the node plugin left mounted when it was taken away under a volume.
_UNMOUNT = "awk '$2 ~ /[/]csi[/]/ || $2 ~ /[/]staging[/]/ {print $2}' /proc/mounts | sort -r | xargs -r umount -l"


def wait_until(what: str, done: Callable[[], bool], timeout_s: float, poll_s: float = POLL_S) -> None:
    """Returns once it is done. Raises TimeoutError."""
    deadline = time.monotonic() + timeout_s
    while not done():
        if time.monotonic() >= deadline:
            raise TimeoutError(f"not after {timeout_s:.0f} s: {what}")
        time.sleep(poll_s)


class Rig:
    """A running sandbox, looked at with the rights of its owner."""

    def __init__(self, running: Running) -> None:
        self.running = running

    @cached_property
    def settings(self) -> SandboxSettings:
        return load_settings(
            {
                HOME_VARIABLE: str(self.running.project / ".sandbox"),
                "NOMAD_STATEFUL_SANDBOX_CONFIG": str(self.running.project / "sandbox.toml"),
            }
        )

    @cached_property
    def nomad(self) -> NomadApi:
        return NomadApi(self.settings.nomad_url, read_tokens(self.settings).management)

    @cached_property
    def ec2(self) -> EC2Client:
        return client(self.settings, "ec2")  # type: ignore[no-any-return]

    @cached_property
    def iam(self) -> IAMClient:
        return client(self.settings, "iam")  # type: ignore[no-any-return]

    @property
    def mysql_addresses(self) -> list[tuple[str, int]]:
        """Where MySQL can be: the clients of its volume's zone."""
        specs = [spec for spec in self.settings.instances if spec.zone == MYSQL_ZONE]
        return [(str(self.settings.instance_address(spec)), 3306) for spec in specs]

    def password(self) -> str | None:
        """Of MySQL's root, from where the server itself has it."""
        with suppress(NomadNotFound):
            return str(self.nomad.get(f"var/nomad/jobs/{MYSQL}")["Items"]["root_password"])
        return None

    def volumes(self) -> list[str]:
        """Ids of the EBS volumes that are no instance's root."""
        roots = root_volumes(self.ec2)
        return [found["VolumeId"] for found in self.ec2.describe_volumes()["Volumes"] if found["VolumeId"] not in roots]

    def left(self) -> list[str]:
        """What there still is of a stack, in words."""
        jobs = [stub["ID"] for stub in self.nomad.get("jobs") if stub["Status"] != "dead"]
        policies = self.iam.list_policies(Scope="Local")["Policies"]
        return [
            *(f"job {job}" for job in jobs),
            *(f"running allocation {stub['ID'][:8]}" for stub in self.running_allocations()),
            *(f"registration {stub['ID']}" for stub in self.nomad.get("volumes", type="csi")),
            *(f"variable {stub['Path']}" for stub in self.nomad.get("vars")),
            *(f"volume {volume}" for volume in self.volumes()),
            *(f"policy {found['PolicyName']}" for found in policies),
        ]

    def running_allocations(self) -> list[dict[str, Any]]:
        """Of all jobs."""
        stubs = self.nomad.get("allocations")
        return [stub for stub in stubs if stub["ClientStatus"] in ("pending", "running")]

    def claimed(self, volume: str) -> bool:
        """Whether Nomad holds a claim on a volume; one that is not registered has none."""
        try:
            return bool(volume_claims.claims(self.nomad.get(f"volume/csi/{volume}")))
        except NomadNotFound:
            return False

    def forget_plugin(self, timeout_s: float = 90) -> None:
        """Returns once Nomad has no plugin, no evaluation and no dead job left, so that everyone starts alike."""

        def gone() -> bool:
            self.nomad.put("system/gc", None)
            try:
                self.nomad.get(f"plugin/csi/{PLUGIN}")
            except NomadNotFound:
                return not self.nomad.get("allocations")
            return False

        wait_until("plugin and allocations are collected", gone, timeout_s, poll_s=0.5)

    def sweep(self) -> None:
        """Takes away by hand whatever is left, in a safe order. Raises TimeoutError."""
        jobs = [stub["ID"] for stub in self.nomad.get("jobs")]
        self._stop([job for job in jobs if not job.startswith("plugin-")])
        for stub in self.nomad.get("volumes", type="csi"):
            with suppress(TimeoutError):
                wait_until("the claim is released", lambda: not self.claimed(stub["ID"]), 30)  # noqa: B023 - called in here
            with suppress(NomadError):
                self.nomad.delete(f"volume/csi/{stub['ID']}", force=True)
        self._stop([job for job in jobs if job.startswith("plugin-")])
        for variable in self.nomad.get("vars"):
            self.nomad.delete(f"var/{variable['Path']}")
        for volume in self.volumes():
            self._delete_volume(volume)
        for policy in self.iam.list_policies(Scope="Local")["Policies"]:
            self.delete_policy(policy["Arn"])

    def _stop(self, jobs: list[str]) -> None:
        for job in jobs:
            self.nomad.delete(f"job/{job}", purge=True)
        wait_until(
            f"allocations of {', '.join(jobs)} end",
            lambda: not any(stub["JobID"] in jobs for stub in self.running_allocations()),
            60,
        )

    def delete_policy(self, arn: str) -> None:
        """With its attachments."""
        for role in self.iam.list_entities_for_policy(PolicyArn=arn)["PolicyRoles"]:
            self.iam.detach_role_policy(RoleName=role["RoleName"], PolicyArn=arn)
        self.iam.delete_policy(PolicyArn=arn)

    def _delete_volume(self, volume: str) -> None:
        attachments = self.ec2.describe_volumes(VolumeIds=[volume])["Volumes"][0].get("Attachments", [])
        if attachments:
            for spec in self.settings.instances:
                inside(self.running, spec.name, "sh", "-c", _UNMOUNT)
            self.ec2.detach_volume(VolumeId=volume)
        wait_until(f"{volume} is available", lambda: self.is_available(volume), 30)
        self.ec2.delete_volume(VolumeId=volume)

    def is_available(self, volume: str) -> bool:
        """Whether EC2 says that a volume is attached nowhere."""
        try:
            return self.ec2.describe_volumes(VolumeIds=[volume])["Volumes"][0]["State"] == "available"
        except ClientError as error:
            return error.response["Error"]["Code"] == "InvalidVolume.NotFound"

    def close(self) -> None:
        """Closes the connections."""
        for name in ("nomad", "ec2", "iam"):
            if name in self.__dict__:
                self.__dict__.pop(name).close()
        self.running.close()
