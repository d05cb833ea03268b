"""The whole way on the real engine: up, containers, nothing more to do, no secret in sight, destroy."""

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path
from uuid import uuid4

import pytest

from nomad_stateful.drivers.catalogue import DRIVERS
from tests import official_parts
from tests.sandbox.whole_stack import scanned, whole_stack
from tests.secrets.planting import KINDS
from tests.upgrade import upgrading
from tools.packages import SANDBOX, ensure_packages
from tools.trial.instances import inside, instance_of
from tools.trial.running import Running, traces

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad]

MACHINES = [Path("/etc/docker"), Path("/opt/containerd"), Path("/run/docker"), Path("/var/lib/docker")]
"""Where docker writes on a machine that it runs on."""


def docker_on_the_machine() -> list[str]:
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if "/docker/" in line]
    return sorted(map(str, [*(path for path in MACHINES if path.exists()), *mounts]))


@pytest.fixture(scope="module")
def before() -> list[str]:
    """What of docker is on the machine itself before the sandbox is up."""
    # A folder that docker's own package brings is no trace of a sandbox.
    ensure_packages(SANDBOX)
    return docker_on_the_machine()


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, before: list[str]) -> Iterator[Running]:
    with whole_stack(tmp_path_factory.mktemp("project")) as running:
        yield running


@pytest.mark.official(official_parts.NOMAD)
def test_the_whole_way_is_gone_on_the_official_nomad_plugin(stack: Running) -> None:
    folder = stack.project / f".sandbox/pulumi-home/plugins/resource-nomad-v{version('pulumi-nomad')}"
    assert official_parts.is_official(folder / "pulumi-resource-nomad")


def test_a_second_up_changes_nothing_and_says_so(stack: Running) -> None:
    again = stack.sandbox("up")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "nothing changed" in again.stdout.lower()


def test_a_preview_after_up_is_empty(stack: Running) -> None:
    preview = stack.run("pulumi", "preview", "--expect-no-changes", "--non-interactive")
    assert preview.returncode == 0, preview.stdout + preview.stderr


def test_a_preview_after_a_refresh_is_empty_too(stack: Running) -> None:
    preview = stack.run("pulumi", "preview", "--refresh", "--expect-no-changes", "--non-interactive")
    assert preview.returncode == 0, preview.stdout + preview.stderr


def test_the_outputs_name_volumes_health_and_address(stack: Running) -> None:
    known = stack.outputs()
    assert known["volumes"]["mysql"]["id"].startswith("vol-")
    assert known["plugins"]["aws-ebs0"]["topologyKey"] == "topology.ebs.csi.aws.com/zone"
    assert known["plugins"]["aws-ebs0"]["health"]["zones_healthy"] == {"us-west-2a": 2, "us-west-2b": 1}
    assert {name: volume["nomadId"] for name, volume in known["volumes"].items()} == {
        "archive": "archive",
        "mysql": "mysql",
    }
    at = stack.server_endpoint()
    assert (known["mysql"]["host"], known["mysql"]["port"]) == (at.host, at.port)


def test_plugins_and_mysql_run_in_the_images_that_the_stack_names(stack: Running) -> None:
    names = ("client-1", "client-2", "client-3")
    images = {name: inside(stack, name, "docker", "ps", "--format", "{{.Image}}").split() for name in names}
    driver = f"{DRIVERS['ebs'].image}:{DRIVERS['ebs'].default_version}"
    assert all(driver in found for found in images.values())
    everything = [image.partition(":")[0] for found in images.values() for image in found]
    assert everything.count("mysql") == 1
    ((version, gtid_mode),) = stack.sql(stack.server_endpoint(), "SELECT @@version, @@gtid_mode")
    assert version.startswith("9.7.")
    assert gtid_mode == "ON"


def test_a_container_gets_a_token_with_a_hop_limit_of_two_and_none_with_one(stack: Running) -> None:
    instance_id = instance_of(stack, "client-3")
    header = "X-aws-ec2-metadata-token-ttl-seconds: 60"
    request = f"PUT /latest/api/token HTTP/1.1\\r\\nHost: metadata\\r\\n{header}\\r\\nConnection: close\\r\\n\\r\\n"
    ask = "docker run --rm -i busybox:1 sh -c 'timeout 3 nc 169.254.169.254 80; echo asked'"
    script = f"printf '{request}' | {ask}"
    assert "HTTP/1.1 200" in inside(stack, "client-3", "sh", "-c", script)
    stack.ec2.modify_instance_metadata_options(InstanceId=instance_id, HttpPutResponseHopLimit=1)
    try:
        assert inside(stack, "client-3", "sh", "-c", script) == "asked\n"
    finally:
        stack.ec2.modify_instance_metadata_options(InstanceId=instance_id, HttpPutResponseHopLimit=2)


def test_a_privileged_container_mounts_network_storage_and_an_ordinary_one_does_not(stack: Running) -> None:
    image = f"{DRIVERS['efs'].image}:{DRIVERS['efs'].default_version}"
    folder = f"marked-{uuid4()}"
    script = f"mount -t nfs -o nolock nas:/mnt/tank/shares /mnt && mkdir /mnt/{folder} && umount /mnt; ls /run/sandbox"
    run = ["docker", "run", "--rm", "--entrypoint", "sh"]
    assert inside(stack, "client-1", *run, "--privileged", image, "-c", script).split() == ["efs", "nas", "zone"]
    assert inside(stack, "client-1", *run, image, "-c", f"{script} 2>/dev/null; echo refused") == "refused\n"
    shown = f"mount -t nfs nas:/mnt/tank/shares /media && ls -d /media/{folder}"
    assert inside(stack, "client-3", *run, "--privileged", image, "-c", shown).strip() == f"/media/{folder}"


def test_the_doctor_finds_nothing_wrong(stack: Running) -> None:
    done = stack.run(stack.python, "-m", "nomad_stateful.operate", "doctor", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    known = json.loads(done.stdout)
    open_ = [check for check in known["checks"] if check["state"] == "not checked"]
    # The sandbox's IAM simulates no permissions; everything else can be asked there.
    assert {check["group"] for check in open_} <= {"IAM"}, open_
    assert "SimulatePrincipalPolicy" in open_[0]["notChecked"]


def test_nothing_holds_up_what_runs(stack: Running) -> None:
    done = stack.run(stack.python, "-m", "nomad_stateful.operate", "explain", "mysql-server")
    assert (done.returncode, done.stdout) == (0, "job mysql-server: in order, nothing holds it up\n"), done.stderr


def test_no_secret_is_anywhere_but_in_its_own_place(stack: Running) -> None:
    findings, looked = scanned(stack)
    assert findings == []
    # A place that cannot be looked at any more must not pass for a clean one.
    assert KINDS | {"engine", "nomad", "command"} == set(looked)


@pytest.mark.parametrize("version", upgrading.releases())
def test_an_upgrade_from_a_release_deletes_and_replaces_nothing_that_holds_data(
    stack: Running, tmp_path: Path, version: str
) -> None:
    plan = upgrading.plan(stack, version, tmp_path)
    print(f"an upgrade from {version} would: {', '.join(plan.changes) or 'change nothing'}")
    assert plan.losses == []
    assert plan.resources > 20
    told = upgrading.documented(version)
    assert [change for change in plan.changes if not any(fnmatchcase(change, pattern) for pattern in told)] == []
    assert [pattern for pattern in told if not any(fnmatchcase(change, pattern) for change in plan.changes)] == []


def test_destroy_works_on_a_running_stack_and_nothing_is_left(stack: Running, before: list[str]) -> None:
    down = stack.sandbox("down")
    assert down.returncode == 0, down.stdout + down.stderr
    assert docker_on_the_machine() == before
    groups = f"nomad-stateful-{stack.ground.name}"
    assert not [*Path("/sys/fs/cgroup").glob(groups), *Path("/sys/fs/cgroup").glob(f"*/{groups}")]
    assert "encryptionsalt" not in (stack.project / "Pulumi.dev.yaml").read_text()
    assert {kind: found for kind, found in traces(stack.ground.name, stack.project / ".sandbox").items() if found} == {}
    assert not (stack.project / ".sandbox").exists()
    again = stack.sandbox("down")
    assert again.returncode == 0, again.stderr
