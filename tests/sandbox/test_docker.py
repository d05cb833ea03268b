"""The stack of a real account in containers: real docker, MySQL in its image, the EBS driver in its own."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests import official_parts
from tools.packages import DOCKER, ensure_packages
from tools.trial.ground import Ground, claim
from tools.trial.instances import instance_of
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]

MACHINES = [Path("/etc/docker"), Path("/opt/containerd"), Path("/run/docker"), Path("/var/lib/docker")]
"""Where docker writes on a machine that it runs on."""


def traces(name: str) -> list[str]:
    """What of docker is on the machine itself: folders, control groups, daemons, mounts."""
    groups = [path for tree in ("", "*/") for path in Path("/sys/fs/cgroup").glob(f"{tree}nomad-stateful-{name}")]
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if "/docker/" in line]
    return sorted(map(str, [*(path for path in MACHINES if path.exists()), *groups, *mounts]))


@pytest.fixture(scope="module")
def ground() -> Ground:
    return claim()


@pytest.fixture(scope="module")
def before(ground: Ground) -> list[str]:
    # A folder that docker's own package brings is no trace of a sandbox.
    ensure_packages(DOCKER)
    return traces(ground.name)


@pytest.fixture(scope="module")
def docker(tmp_path_factory: pytest.TempPathFactory, ground: Ground, before: list[str]) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("docker"), ground)
    with running.up("--docker", *official_parts.words()):
        yield running


def inside(running: Running, name: str, *words: str) -> str:
    done = running.run(running.python, "-m", "sandbox.cloud.ctl", "enter", name, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_plugins_and_mysql_run_in_the_images_that_the_stack_names(docker: Running) -> None:
    names = ("client-1", "client-2", "client-3")
    images = {name: inside(docker, name, "docker", "ps", "--format", "{{.Image}}").split() for name in names}
    driver = "public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver:v1.48.0"
    assert all(driver in found for found in images.values())
    everything = [image.partition(":")[0] for found in images.values() for image in found]
    assert everything.count("mysql") == 1


def test_mysql_is_mysql_and_its_rows_survive_a_purge_and_a_move(docker: Running) -> None:
    ((version, gtid_mode),) = docker.sql(docker.mysql_endpoint(), "SELECT @@version, @@gtid_mode")
    assert version.startswith("9.7.")
    assert gtid_mode == "ON"
    done = docker.run(docker.python, "-m", "operate", "verify", timeout_s=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_container_gets_a_token_with_a_hop_limit_of_two_and_none_with_one(docker: Running) -> None:
    instance_id = instance_of(docker, "client-3")
    header = "X-aws-ec2-metadata-token-ttl-seconds: 60"
    request = f"PUT /latest/api/token HTTP/1.1\\r\\nHost: metadata\\r\\n{header}\\r\\nConnection: close\\r\\n\\r\\n"
    image = "busybox:$(docker images --format '{{.Tag}}' busybox)"
    script = f"printf '{request}' | docker run --rm -i {image} sh -c 'timeout 3 nc 169.254.169.254 80; true'"
    assert "HTTP/1.1 200" in inside(docker, "client-3", "sh", "-c", script)
    docker.ec2.modify_instance_metadata_options(InstanceId=instance_id, HttpPutResponseHopLimit=1)
    assert "HTTP/1.1" not in inside(docker, "client-3", "sh", "-c", script)


def test_a_privileged_container_mounts_network_storage_and_an_ordinary_one_does_not(docker: Running) -> None:
    repository = "public.ecr.aws/efs-csi-driver/amazon/aws-efs-csi-driver"
    image = inside(docker, "client-1", "docker", "images", "--format", "{{.Repository}}:{{.Tag}}", repository).strip()
    folder = f"marked-{uuid4()}"
    script = f"mount -t nfs -o nolock nas:/mnt/tank/shares /mnt && mkdir /mnt/{folder} && umount /mnt; ls /run/sandbox"
    run = ["docker", "run", "--rm", "--entrypoint", "sh"]
    assert inside(docker, "client-1", *run, "--privileged", image, "-c", script).split() == ["efs", "nas", "zone"]
    assert inside(docker, "client-1", *run, image, "-c", f"{script} 2>/dev/null; true") == ""
    shown = f"mount -t nfs nas:/mnt/tank/shares /media && ls -d /media/{folder}"
    assert inside(docker, "client-3", *run, "--privileged", image, "-c", shown).strip() == f"/media/{folder}"


def test_after_down_nothing_of_docker_is_left_on_the_machine(docker: Running, before: list[str]) -> None:
    done = docker.sandbox("down")
    assert done.returncode == 0, done.stdout + done.stderr
    assert traces(docker.ground.name) == before
    assert not (docker.project / ".sandbox").exists()
    assert not (docker.project / "Pulumi.docker.yaml").exists()
