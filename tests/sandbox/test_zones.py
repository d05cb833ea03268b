"""Sets of volumes under zones that appear and empty, what is refused of volumes that drivers made, and `verify`."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tools.trial.instances import instance_of
from tools.trial.running import Running, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

SANDBOX = """
zones = ["us-west-2a", "us-west-2b", "us-west-2c"]

[[instances]]
name = "client-1"
zone = "us-west-2a"

[[instances]]
name = "client-2"
zone = "us-west-2a"

[[instances]]
name = "client-3"
zone = "us-west-2b"

[[instances]]
name = "client-4"
zone = "us-west-2c"
"""
CONSUMER = {
    "image": "busybox:1",
    "command": "/bin/sh",
    "args": ["-c", "test -e /data/name || echo $NOMAD_ALLOC_NAME > /data/name; exec sleep 1d"],
    "killSignal": "SIGKILL",
    "killTimeout": "5s",
    "cpuMhz": 50,
    "memoryMib": 32,
}
Config = dict[str, Any]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    with (running.project / "sandbox.toml").open("a") as file:
        file.write(SANDBOX)
    with running.up("--no-stack"):
        stop(running, "client-3")
        assert running.run("pulumi", "stack", "init", "dev", "--non-interactive").returncode == 0
        configure(running, 2)
        up(running)
        yield running


def configure(running: Running, count: int, drivers: Config | None = None, **mysql: Any) -> None:
    """Two sets whose zones come from the instances, one made by Pulumi and one by the driver."""
    path = running.project / "Pulumi.dev.yaml"
    whole = yaml.safe_load(path.read_text())
    config: Config = whole["config"]
    config.pop("nomad-stateful:clientRole", None)
    config["nomad-stateful:clientTags"] = {"Name": "client-*"}
    config["nomad-stateful:volumes"] = [
        {"name": "mysql", "zone": "us-west-2a", "sizeGib": 1, "protect": False},
        {"name": "ours", "count": count, "sizeGib": 1, "protect": False},
        # xfs grows while it is mounted on every kernel.
        {"name": "drivers", "provision": "plugin", "count": count, "sizeGib": 1, "protect": False, "fsType": "xfs"}
        | (drivers or {}),
    ]
    config["nomad-stateful:mysql"].update(mysql)
    config["nomad-stateful:consumers"] = [
        {"name": f"on-{name}", "count": count, "mounts": [{"volume": name, "path": "/data", "perAlloc": True}]}
        | CONSUMER
        for name in ("ours", "drivers")
    ]
    path.write_text(yaml.safe_dump(whole))


def up(running: Running) -> None:
    done = running.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive", timeout_s=600)
    assert done.returncode == 0, done.stdout + done.stderr


def preview(running: Running, *words: str, fails: bool = False) -> str:
    done = running.run("pulumi", "preview", "--non-interactive", *words, timeout_s=300)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


def stop(running: Running, client: str) -> None:
    running.ec2.stop_instances(InstanceIds=[instance_of(running, client)])
    eventually(lambda: status(running, client) == "down" or None, 120, f"{client} down")


def start(running: Running, client: str) -> None:
    running.ec2.start_instances(InstanceIds=[instance_of(running, client)])
    eventually(lambda: status(running, client) == "ready" or None, 120, f"{client} ready")


def status(running: Running, client: str) -> str:
    return next((str(node["Status"]) for node in running.nomad.get("nodes") if node["Name"] == client), "")


def volumes(running: Running) -> dict[str, tuple[str, str]]:
    """Zone and id of the sets' volumes, as EC2 has them."""
    ids = {name: one["id"] for name, one in running.outputs()["volumes"].items() if name != "mysql"}
    found = running.ec2.describe_volumes(VolumeIds=list(ids.values()))["Volumes"]
    zones = {one["VolumeId"]: one["AvailabilityZone"].removeprefix("us-west-2") for one in found}
    return {name: (zones[volume_id], volume_id) for name, volume_id in sorted(ids.items())}


def zones(running: Running) -> dict[str, str]:
    return {name: zone for name, (zone, _) in volumes(running).items()}


def names_of_ours(running: Running) -> set[str]:
    return names(running, count=3, jobs=("on-ours",))


def names(running: Running, *, count: int, jobs: tuple[str, ...] = ("on-ours", "on-drivers")) -> set[str]:
    """What the consumers' instances wrote on their volumes when these were new."""

    def probe() -> set[str] | None:
        found = set()
        for job in jobs:
            for stub in running.nomad.get(f"job/{job}/allocations"):
                if stub["ClientStatus"] == "running" and stub["DesiredStatus"] == "run":
                    read = running.in_task(stub["ID"], "cat", "/data/name")
                    found.add(f"{stub['Name']}={read.stdout.strip()}{read.stderr.strip()}")
        return found if len(found) == len(jobs) * count else None

    return eventually(probe, 120, f"{count} instances each", lambda: running.run("nomad", "status").stdout)


def own(count: int) -> set[str]:
    each = [f"on-{name}.container[{index}]" for name in ("ours", "drivers") for index in range(count)]
    return {f"{name}={name}" for name in each}


TWO = {"ours[0]": "a", "ours[1]": "c", "drivers[0]": "a", "drivers[1]": "c"}
THREE = TWO | {"ours[2]": "b", "drivers[2]": "b"}


def test_a_zone_that_appears_between_the_others_moves_nothing_and_gets_the_next_volume(stack: Running) -> None:
    assert zones(stack) == TWO
    assert names(stack, count=2) == own(2)
    before = volumes(stack)
    start(stack, "client-3")
    preview(stack, "--expect-no-changes")
    configure(stack, 3)
    up(stack)
    after = volumes(stack)
    assert zones(stack) == THREE
    assert before.items() <= after.items()
    assert names(stack, count=3) == own(3)


def test_a_zone_that_empties_keeps_its_volumes_and_says_so(stack: Running) -> None:
    before = volumes(stack)
    stop(stack, "client-4")
    said = preview(stack, "--expect-no-changes")
    for name in ("ours[1]", "drivers[1]"):
        assert f"volumes.{name}.zone is us-west-2c: no Nomad client of this zone is ready just now. A volume" in said
        assert f"nomad-stateful snapshot '{name}'" in said
    node = next(node["ID"] for node in stack.nomad.get("nodes") if node["Name"] == "client-4")
    stack.nomad.put(f"node/{node}/purge", {})
    eventually(lambda: status(stack, "client-4") == "" or None, 240, "client-4 forgotten")
    assert "volumes.ours[1].zone is us-west-2c: no Nomad client is in this zone" in preview(
        stack, "--expect-no-changes"
    )
    up(stack)
    assert volumes(stack) == before
    start(stack, "client-4")
    assert names(stack, count=3) == own(3)


@pytest.mark.parametrize(
    ("index", "key", "rule"),
    [
        (1, "volumes.ours[1].zone is us-west-2a: ", "cannot move, and this one is in us-west-2c"),
        (2, "volumes.drivers.zone is us-west-2a: ", "was made by its driver"),
    ],
)
def test_a_zone_taken_out_of_the_list_is_refused(stack: Running, index: int, key: str, rule: str) -> None:
    before = volumes(stack)
    path = stack.project / "Pulumi.dev.yaml"
    committed = path.read_text()
    whole = yaml.safe_load(committed)
    whole["config"]["nomad-stateful:volumes"][index]["zones"] = ["us-west-2a", "us-west-2b"]
    path.write_text(yaml.safe_dump(whole))
    said = preview(stack, fails=True)
    path.write_text(committed)
    assert key in said
    assert rule in said
    assert volumes(stack) == before


def test_verify_leaves_what_is_pending_as_it_is(stack: Running) -> None:
    configure(stack, 3, memoryMib=1100)
    pending = json.loads(preview(stack, "--json"))["changeSummary"]
    assert pending["update"] > 0
    done = stack.run(stack.python, "-m", "nomad_stateful.operate", "verify", timeout_s=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "stack dev" in done.stderr
    task = stack.nomad.get("job/mysql-server")["TaskGroups"][0]["Tasks"]
    assert 1100 not in [one["Resources"]["MemoryMB"] for one in task]
    assert json.loads(preview(stack, "--json"))["changeSummary"] == pending
    configure(stack, 3, memoryMib=1024)
    preview(stack, "--expect-no-changes")


@pytest.mark.parametrize(
    ("index", "name", "old", "new"),
    [(0, "mysql", "ext4", "xfs"), (1, "ours[0]", "ext4", "xfs"), (2, "drivers[0]", "xfs", "ext4")],
)
def test_another_file_system_is_refused_before_anything_stops(
    stack: Running, index: int, name: str, old: str, new: str
) -> None:
    before = stack.server_endpoint().allocation_id
    path = stack.project / "Pulumi.dev.yaml"
    committed = path.read_text()
    whole = yaml.safe_load(committed)
    whole["config"]["nomad-stateful:volumes"][index]["fsType"] = new
    path.write_text(yaml.safe_dump(whole))
    said = preview(stack, fails=True)
    skipped = stack.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive", timeout_s=600)
    path.write_text(committed)
    # The engine may end before it comes to the others of a set.
    assert f"volumes.{name.partition('[')[0]}" in said
    assert f".fsType is {new}: the volume is formatted with {old}" in said
    assert skipped.returncode != 0
    assert stack.server_endpoint().allocation_id == before
    assert names(stack, count=3) == own(3)


def test_a_drivers_volume_grows_where_it_is_and_does_not_shrink(stack: Running) -> None:
    before = volumes(stack)
    configure(stack, 3, {"sizeGib": 2})
    up(stack)
    assert volumes(stack) == before
    sizes = stack.ec2.describe_volumes(VolumeIds=[before[f"drivers[{index}]"][1] for index in range(3)])["Volumes"]
    assert [one["Size"] for one in sizes] == [2, 2, 2]
    preview(stack, "--expect-no-changes")
    configure(stack, 3)
    # Of which volume it is said first is the engine's choice.
    assert ".sizeGib is 1GiB: a volume cannot shrink, and this one has 2GiB" in preview(stack, fails=True)


def test_a_drivers_volume_is_protected_and_goes_with_a_final_snapshot(stack: Running) -> None:
    before = volumes(stack)
    configure(stack, 3, {"sizeGib": 2, "protect": True})
    up(stack)
    removed = {"nomad-stateful:volumes": -1, "nomad-stateful:consumers": -1}

    def remove() -> None:
        path = stack.project / "Pulumi.dev.yaml"
        whole = yaml.safe_load(path.read_text())
        for key, index in removed.items():
            del whole["config"][key][index]
        path.write_text(yaml.safe_dump(whole))

    remove()
    assert "would be deleted, and protect: true keeps it" in preview(stack, fails=True)
    configure(stack, 3, {"sizeGib": 2, "protect": False})
    up(stack)
    remove()
    up(stack)
    gone = [volume_id for name, (_, volume_id) in before.items() if name.startswith("drivers")]
    taken = stack.ec2.describe_snapshots(Filters=[{"Name": "volume-id", "Values": gone}])["Snapshots"]
    assert sorted(one["VolumeId"] for one in taken) == sorted(gone)
    left = stack.ec2.describe_volumes(Filters=[{"Name": "volume-id", "Values": gone}])["Volumes"]
    assert left == []
    assert names_of_ours(stack) == {name for name in own(3) if name.startswith("on-ours")}


def test_of_two_stacks_what_acts_wants_the_name(stack: Running) -> None:
    config = (stack.project / "Pulumi.dev.yaml").read_text()
    assert stack.run("pulumi", "stack", "init", "second", "--non-interactive").returncode == 0
    try:
        for words in (["verify"], ["recover", "--yes"], ["snapshot", "mysql"], ["restore", "--yes"], ["mysql"]):
            refused = stack.run(stack.python, "-m", "nomad_stateful.operate", *words)
            assert refused.returncode == 1
            assert "--stack is not set: there are the stacks dev, second (selected: second)" in refused.stderr
        looked = stack.run(stack.python, "-m", "nomad_stateful.operate", "status", "--stack", "dev")
        assert looked.returncode == 0, looked.stderr
        assert "mysql-server" in looked.stdout
    finally:
        assert stack.run("pulumi", "stack", "select", "dev").returncode == 0
        assert stack.run("pulumi", "stack", "rm", "second", "--yes").returncode == 0
        (stack.project / "Pulumi.dev.yaml").write_text(config)
