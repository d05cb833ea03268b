"""docs/add-a-driver.md, followed literally in a copy of the project, gives a driver that really runs."""

from collections.abc import Iterator

import pytest
import yaml

from tests.documents.test_add_a_driver import blocks
from tools.trial.running import Running, eventually, traces

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

WRITER = {
    "name": "writer",
    "mounts": [{"volume": "cache", "path": "/data"}],
    "image": "busybox:1",
    "command": "sh",
    "args": ["-c", "echo $NOMAD_ALLOC_ID >> /data/writers; cat /data/writers; exec sleep infinity"],
    "killSignal": "SIGKILL",
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    (running.project / "nomad_stateful/drivers/scratch.py").write_text(blocks("python")[0])
    page = yaml.safe_load(blocks("yaml")[0])
    page["nomad-stateful:volumes"][0]["protect"] = False
    config = {"aws:region": "us-west-2", "nomad-stateful:clientRole": "nomad-client", **page}
    config["nomad-stateful:consumers"] = [WRITER]
    (running.project / "Pulumi.dev.yaml").write_text(yaml.safe_dump({"config": config}))
    with running.up():
        yield running


def test_a_consumer_writes_to_a_volume_that_the_made_up_driver_made(stack: Running) -> None:
    assert stack.outputs()["plugins"]["scratch0"]["health"]["nodes_healthy"] >= 1
    (allocation,) = stack.nomad.get("job/writer/allocations")
    token = {"NOMAD_TOKEN": (stack.project / ".sandbox/nomad/management.token").read_text().strip()}

    def printed() -> bool | None:
        return allocation["ID"] in stack.run("nomad", "alloc", "logs", allocation["ID"], more_env=token).stdout or None

    eventually(printed, 240, "the writer has read back what it wrote")


def test_it_goes_as_it_came(stack: Running) -> None:
    down = stack.sandbox("down")
    assert down.returncode == 0, down.stdout + down.stderr
    assert {kind: found for kind, found in traces(stack.ground.name, stack.project / ".sandbox").items() if found} == {}
