"""A lost instance on servers that look for stale claims as rarely as Nomad does by default: docs/runbook.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nomad_stateful.nomad.running_job import is_running
from tools.trial.instances import instance_of
from tools.trial.running import Running, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

OFTEN, RARELY = '"csi_volume_claim_gc_interval": "5s"', '"csi_volume_claim_gc_interval": "30m"'


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    server = running.project / "sandbox/cluster/server.py"
    text = server.read_text()
    assert OFTEN in text
    server.write_text(text.replace(OFTEN, RARELY))
    with running.up():
        yield running


def writers(stack: Running) -> set[str]:
    return set(stack.nomad.get("volume/csi/mysql", namespace="default")["WriteAllocs"] or {})


def definition(stack: Running, volume: str) -> str:
    """What `nomad volume register` is given for a volume that is there already; Nomad compares the topology too."""
    known = stack.nomad.get(f"volume/csi/{volume}", namespace="default")
    (topology,) = known["Topologies"]
    segments = "".join(f'"{key}" = "{value}"\n' for key, value in topology["Segments"].items())
    return (
        f'id = "{volume}"\nname = "{known["Name"]}"\ntype = "csi"\nplugin_id = "{known["PluginID"]}"\n'
        f'external_id = "{known["ExternalID"]}"\n'
        'capability {\n access_mode = "single-node-writer"\n attachment_mode = "file-system"\n}\n'
        'mount_options {\n fs_type = "ext4"\n}\n'
        f"topology_request {{\n required {{\n topology {{\n segments {{\n{segments}}}\n}}\n}}\n}}\n"
    )


def test_a_registration_has_nomad_release_the_claim_of_a_lost_instance_at_once(stack: Running, tmp_path: Path) -> None:
    before = stack.server_endpoint()
    instance = instance_of(stack, before.node_name)
    stack.ec2.stop_instances(InstanceIds=[instance], Force=True)

    def waits() -> bool | None:
        stubs = stack.nomad.get("job/mysql-server/allocations", namespace="default")
        ended = any(one["ID"] == before.allocation_id and one["ClientStatus"] == "lost" for one in stubs)
        after = any(one["ID"] != before.allocation_id and one["ClientStatus"] == "pending" for one in stubs)
        return (ended and after) or None

    eventually(waits, 240, "the old allocation is lost, the new one waits for the volume", stack.diagnosis)
    assert writers(stack) == {before.allocation_id}

    file = tmp_path / "archive.hcl"
    file.write_text(definition(stack, "archive"))
    operator = {"NOMAD_TOKEN": stack.env.get("NOMAD_OPERATOR_TOKEN") or stack.env["NOMAD_TOKEN"]}
    registered = stack.run("nomad", "volume", "register", str(file), more_env=operator)
    assert registered.returncode == 0, registered.stderr
    eventually(lambda: before.allocation_id not in writers(stack) or None, 20, "the claim is released")

    # It tries again with a backoff of up to a minute.
    now = stack.server_endpoint(not_allocation=before.allocation_id, timeout_s=120)
    assert now.node_name != before.node_name

    stack.ec2.start_instances(InstanceIds=[instance])

    def is_over() -> bool | None:
        node = stack.nomad.get(f"node/{before.node_id}")
        old = stack.nomad.get(f"allocation/{before.allocation_id}")
        return (node["Status"] == "ready" and not is_running(old)) or None

    eventually(is_over, 120, "the client is back, and what it ran does not run again", stack.diagnosis)
    assert writers(stack) == {now.allocation_id}
