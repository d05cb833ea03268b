"""EFS, democratic-csi and hostpath on a real cluster: plugins, volumes and consumers as a person would run them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.drivers.catalogue import DRIVERS
from nomad_stateful.drivers.model import Role
from nomad_stateful.program.plan.plugins import MOUNT_SHARE
from tests.sandbox.storage_rig import CLIENT_CONFIG, ZFS_CONFIG
from tools.trial.running import PROJECT, Running, eventually, traces

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]

JOBS = PROJECT / "tests/sandbox/storage_jobs"
CONFIG_FILE = "${NOMAD_SECRETS_DIR}/driver-config-file.yaml"
ENDPOINT = "${CSI_ENDPOINT}"
MEET = (
    'echo "written by $NOMAD_ALLOC_INDEX" >/data/$NOMAD_ALLOC_INDEX; '
    "until [ -s /data/0 ] && [ -s /data/1 ]; do sleep 0.1; done; cat /data/0 /data/1; exec sleep 600"
)
BASE = "/mnt/var/lib/democratic-csi"
SHARE = ["sh", "-ec", MOUNT_SHARE, "sh", "nas", "/mnt/tank/shares", BASE]
READ = "cat /data/0 /data/1; exec sleep 600"
BOTH = ["written by 0", "written by 1"]


class Cluster:
    """What a person does with the nomad command, waiting for it to have happened."""

    def __init__(self, running: Running) -> None:
        self.running = running

    def nomad(self, *words: str) -> str:
        done = self.running.run("nomad", *words, timeout_s=120)
        assert done.returncode == 0, f"nomad {' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def job(self, file: str, **variables: Any) -> None:
        # Nomad's own variables inside a list would be taken for HCL's.
        values = {
            name: value if isinstance(value, str) else json.dumps(value).replace("${", "$${")
            for name, value in variables.items()
        }
        flags = [f"-var={name}={value}" for name, value in values.items()]
        self.nomad("job", "run", "-detach", *flags, str(JOBS / file))

    def plugin(self, job: str, plugin: str, kind: Role, driver: str, *args: str, **more: Any) -> None:
        known = DRIVERS[driver]
        task = known.roles[kind]
        container = {
            "image": f"{known.image}:{known.default_version}",
            "network_mode": task.network_mode,
            "ipc_mode": task.ipc_mode,
            "folders": {mount.target: mount.source for mount in task.host_mounts},
        }
        self.job("plugin.nomad.hcl", job=job, plugin=plugin, type=kind, args=args, **container, **more)

    def healthy(self, plugin: str, controllers: int, nodes: int) -> dict[str, Any]:
        def probe() -> dict[str, Any] | None:
            found, _ = self.running.nomad.get_indexed(f"plugin/csi/{plugin}", index=0, wait_s=0)
            counts = (found["ControllersHealthy"], found["NodesHealthy"]) if found else None
            return dict(found) if found and counts == (controllers, nodes) else None

        return eventually(probe, 240, f"a healthy {plugin}", lambda: self.nomad("plugin", "status", "-verbose", plugin))

    def volume(self, verb: str, folder: Path, text: str) -> None:
        file = folder / f"volume-{abs(hash(text))}.hcl"
        file.write_text(text)
        self.nomad("volume", verb, str(file))

    def output(self, job: str, number: int, lines: int) -> dict[str, list[str]]:
        """What each allocation wrote, by client, once each of them wrote that many lines."""

        def probe() -> dict[str, list[str]] | None:
            allocations = [
                item for item in self.running.nomad.get(f"job/{job}/allocations") if item["ClientStatus"] == "running"
            ]
            found = {item["NodeName"]: self._log(item["ID"]) for item in allocations}
            return found if len(found) == number and all(len(one) >= lines for one in found.values()) else None

        return eventually(probe, 240, f"{number} of {job} with output", lambda: self.seen_by(job))

    def seen_by(self, job: str) -> str:
        """How a job is, what each of its tasks wrote, and what each finds at /data."""
        said = [self.nomad("job", "status", job)]
        for one in self.running.nomad.get(f"job/{job}/allocations"):
            look = ["alloc", "exec", one["ID"], "sh", "-c", "ls -la /data; grep ' /data ' /proc/self/mountinfo"]
            found = self.running.run("nomad", *look, timeout_s=30)
            said.append(f"{one['NodeName']}: {self._log(one['ID'])}\n{found.stdout}{found.stderr}")
        return "\n".join(said)

    def _log(self, allocation: str) -> list[str]:
        pattern = f"*/disk/nomad/alloc/{allocation}/alloc/logs/consumer.stdout.0"
        found = list((self.running.project / ".sandbox/ec2/instances").glob(pattern))
        return found[0].read_text().splitlines() if found else []

    def purge(self, job: str) -> None:
        self.nomad("job", "stop", "-purge", "-detach", job)

    def released(self, volume: str) -> dict[str, Any]:
        def probe() -> dict[str, Any] | None:
            found = self.running.nomad.get(f"volume/csi/{volume}")
            return None if found.get("ReadAllocs") or found.get("WriteAllocs") else dict(found)

        return eventually(probe, 240, f"{volume} without claims", lambda: self.nomad("volume", "status", volume))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    running = Running.prepare(tmp_path_factory.mktemp("storage"))
    up = running.sandbox("up", "--no-stack", "--plugins", "embedded")
    try:
        assert up.returncode == 0, up.stderr
        running.enter_env()
        token = (running.project / ".sandbox/nomad/management.token").read_text().strip()
        running.env |= {"NOMAD_TOKEN": token, "NOMAD_OPERATOR_TOKEN": token}
        yield Cluster(running)
    finally:
        running.close()
        down = running.sandbox("down", "--force")
        assert down.returncode == 0, down.stderr
    left = traces(running.ground.name, running.project / ".sandbox")
    assert not any(left.values()), left


def make_file_system(running: Running) -> tuple[str, str]:
    """A file system with a mount target in each zone, and an access point in it."""
    efs, ec2 = running.aws("efs"), running.ec2
    made = str(efs.create_file_system(CreationToken="shared", Encrypted=True)["FileSystemId"])
    for subnet in ec2.describe_subnets(Filters=[{"Name": "tag:Name", "Values": [f"{running.ground.name}-*"]}])[
        "Subnets"
    ]:
        efs.create_mount_target(FileSystemId=made, SubnetId=subnet["SubnetId"])
    owner = {"OwnerUid": 999, "OwnerGid": 999, "Permissions": "0750"}
    point = efs.create_access_point(
        ClientToken="reports", FileSystemId=made, RootDirectory={"Path": "/reports", "CreationInfo": owner}
    )
    efs.close()
    return made, str(point["AccessPointId"])


VOLUME = """
id           = "{id}"
name         = "{id}"
type         = "csi"
plugin_id    = "{plugin}"
{more}
capability {{
  access_mode     = "{mode}"
  attachment_mode = "file-system"
}}
"""


def test_two_clients_of_two_zones_share_an_efs_file_system_that_outlives_them_and_the_plugin(
    cluster: Cluster, tmp_path: Path
) -> None:
    file_system, access_point = make_file_system(cluster.running)
    args = ["--endpoint=" + ENDPOINT, "--logtostderr", "--v=5"]
    cluster.plugin("plugin-efs", "aws-efs0", "node", "efs", *args)
    plugin = cluster.healthy("aws-efs0", 0, 3)
    assert (plugin["Provider"], plugin["ControllerRequired"]) == ("efs.csi.aws.com", False)
    mode = "multi-node-multi-writer"
    for name, external in (
        ("shared", file_system),
        ("reports", f"{file_system}::{access_point}"),
        ("unknown", "fs-0000000000000000f"),
    ):
        more = f'external_id = "{external}"'
        cluster.volume("register", tmp_path, VOLUME.format(id=name, plugin="aws-efs0", mode=mode, more=more))
    consumer: dict[str, Any] = {"file": "consumer.nomad.hcl", "access_mode": mode}
    cluster.job(
        job="meet", volume="shared", script=MEET, count=2, clients="client-[13]", mount_flags=["iam"], **consumer
    )
    met = cluster.output("meet", 2, 2)
    assert met == {"client-1": BOTH, "client-3": BOTH}
    # The plugin goes and comes back; what it mounted stays, and the new one can unmount it.
    cluster.nomad("job", "restart", "-yes", "-batch-size=3", "plugin-efs")
    cluster.healthy("aws-efs0", 0, 3)
    cluster.purge("meet")
    cluster.released("shared")
    cluster.job(job="again", volume="shared", script=READ, count=1, clients="client-2", **consumer)
    assert cluster.output("again", 1, 2) == {"client-2": BOTH}
    cluster.job(job="owner", volume="reports", script="stat -c '%u %a' /data; exec sleep 600", count=1, **consumer)
    assert list(cluster.output("owner", 1, 1).values()) == [["999 750"]]
    cluster.job(job="lost", volume="unknown", script=READ, count=1, **consumer)
    refused = eventually(lambda: failure(cluster, "lost"), 240, "the volume that does not exist is refused")
    assert "the file system does not exist" in refused
    for job in ("again", "owner", "lost"):
        cluster.purge(job)


def failure(cluster: Cluster, job: str) -> str | None:
    """What the newest allocation of a job says that failed before it ran."""
    for allocation in cluster.running.nomad.get(f"job/{job}/allocations"):
        for state in (allocation["TaskStates"] or {}).values():
            for event in state["Events"]:
                if event["Type"] == "Setup Failure":
                    return str(event["DisplayMessage"])
    return None


@pytest.mark.parametrize("kind", ["zfs", "client"])
def test_two_clients_share_an_nfs_volume_that_two_controllers_made(cluster: Cluster, tmp_path: Path, kind: str) -> None:
    key = (cluster.running.project / ".sandbox/nas/id_ed25519").read_text()
    # A container has no name for it.
    server = cluster.running.ground.subnet[2]
    block = "\n".join(f"    {line}" for line in key.splitlines())
    config = ZFS_CONFIG.format(host=server, key=block) if kind == "zfs" else CLIENT_CONFIG.format(base=BASE)
    driver, plugin, volume, mode = "democratic-csi", f"nas-{kind}", f"traefik-acme-{kind}", "multi-node-multi-writer"
    roles: tuple[Role, ...] = ("controller", "node")
    for role in roles:
        job = f"{plugin}-{role}"
        items = {"Namespace": "default", "Path": f"nomad/jobs/{job}", "Items": {"driver_config": config}}
        cluster.running.nomad.put(f"var/nomad/jobs/{job}", items)
        flags = ["--csi-version=1.5.0", f"--csi-name={plugin}", f"--driver-config-file={CONFIG_FILE}"]
        flags += ["--log-level=info", f"--csi-mode={role}", f"--server-socket={ENDPOINT}"]
        # A controller of nfs-client does not mount the share by itself.
        start = [*SHARE, DRIVERS[driver].image_command] if (kind, role) == ("client", "controller") else []
        cluster.plugin(job, plugin, role, driver, *flags, entrypoint=start, with_config=True)
    assert cluster.healthy(plugin, 2, 3)["Provider"] == plugin
    more = 'capacity_min = "100MB"\nmount_options {\n  fs_type = "nfs"\n  mount_flags = ["nolock"]\n}'
    cluster.volume("create", tmp_path, VOLUME.format(id=volume, plugin=plugin, mode=mode, more=more))
    share = f"/mnt/tank/csi/{volume}" if kind == "zfs" else f"/mnt/tank/shares/v/{volume}"
    provisioner = "zfs-generic-nfs" if kind == "zfs" else "nfs-client"
    found = cluster.running.nomad.get(f"volume/csi/{volume}")
    context = {"node_attach_driver": "nfs", "provisioner_driver": provisioner, "server": "nas", "share": share}
    assert (found["Context"], found["ExternalID"]) == (context, volume)
    consumer: dict[str, Any] = {"file": "consumer.nomad.hcl", "access_mode": mode, "volume": volume}
    cluster.job(job="meet", script=MEET, count=2, clients="client-[13]", **consumer)
    assert cluster.output("meet", 2, 2) == {"client-1": BOTH, "client-3": BOTH}
    cluster.purge("meet")
    cluster.released(volume)
    cluster.job(job="again", script=READ, count=1, clients="client-2", **consumer)
    assert cluster.output("again", 1, 2) == {"client-2": BOTH}
    cluster.purge("again")
    cluster.released(volume)
    cluster.nomad("volume", "delete", volume)
    assert not (cluster.running.project / f".sandbox/nas/root{share.removeprefix('/mnt')}").exists()


def test_a_hostpath_volume_keeps_its_files_on_its_client_and_draws_its_consumer_there(
    cluster: Cluster, tmp_path: Path
) -> None:
    args = ["--drivername=csi-hostpath", "--endpoint=" + ENDPOINT, "--nodeid=${node.unique.name}", "--v=5"]
    cluster.plugin("plugin-hostpath", "hostpath0", "monolith", "hostpath", *args, clients="client-[23]")
    assert cluster.healthy("hostpath0", 2, 2)["Provider"] == "csi-hostpath"
    mode = "single-node-writer"
    more = 'capacity_min = "10MB"'
    cluster.volume("create", tmp_path, VOLUME.format(id="local", plugin="hostpath0", mode=mode, more=more))
    (topology,) = filter(None, cluster.running.nomad.get("volume/csi/local")["Topologies"])
    home = topology["Segments"]["topology.hostpath.csi/node"]
    assert home in {"client-2", "client-3"}
    consumer: dict[str, Any] = {"file": "consumer.nomad.hcl", "access_mode": mode, "volume": "local", "count": 1}
    cluster.job(job="write", script="echo kept >/data/file; cat /data/file; exec sleep 600", **consumer)
    assert cluster.output("write", 1, 1) == {home: ["kept"]}
    cluster.purge("write")
    cluster.released("local")
    cluster.nomad("job", "restart", "-yes", "-batch-size=3", "plugin-hostpath")
    cluster.healthy("hostpath0", 2, 2)
    cluster.job(job="read", script="cat /data/file; exec sleep 600", **consumer)
    assert cluster.output("read", 1, 1) == {home: ["kept"]}
    cluster.purge("read")
