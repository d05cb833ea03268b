"""A Nomad and an EC2 with one volume that was made by hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nomad_stateful.ebs import volumes
from nomad_stateful.operate import stack
from nomad_stateful.operate.adopt import found
from tests.providers.fake_nomad import FakeNomad, fake_nomad
from tests.unit.operate.adopt.cluster import CLIENT, EBS, PLUGIN, PLUGIN_JOB, Ec2, have, volume


@pytest.fixture
def ec2(monkeypatch: pytest.MonkeyPatch) -> Ec2:
    fake = Ec2(dict(EBS))
    monkeypatch.setattr(found, "aws_client", lambda *_which: fake)
    monkeypatch.setattr(volumes, "ec2_client", lambda _place: fake)
    return fake


@pytest.fixture
def nomad(ec2: Ec2, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeNomad]:
    with fake_nomad() as fake:
        monkeypatch.setenv("NOMAD_ADDR", fake.address)
        # Pulumi shows no configuration while what the project requires is missing.
        monkeypatch.setattr(stack, "config", lambda: pytest.fail("Pulumi is asked for the configuration"))
        monkeypatch.setattr(stack, "project_dir", lambda: tmp_path)
        monkeypatch.setattr(stack, "chosen", lambda: "prod")
        (tmp_path / "Pulumi.yaml").write_text("name: nomad-stateful\nruntime: python\n", encoding="utf-8")
        fake.put("nodes", [{"ID": "node-1", "Status": "ready"}])
        fake.put("node/node-1", CLIENT)
        fake.put("plugins", [{"ID": "ebs"}])
        fake.put("plugin/csi/ebs", PLUGIN)
        fake.put("jobs", [{"ID": "ebs-nodes", "Namespace": "default", "Status": "running"}])
        fake.put("job/ebs-nodes", PLUGIN_JOB)
        have(fake, volume())
        yield fake
