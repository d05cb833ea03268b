"""A Nomad and an EC2 with one volume that was made by hand."""

from pathlib import Path

import pytest

from nomad_stateful.ebs import volumes
from nomad_stateful.operate import project, stack
from nomad_stateful.operate.adopt import found
from tests.fake_nomad import FakeNomad
from tests.unit.operate.adopt.cluster import CLIENT, EBS, PLUGIN, PLUGIN_JOB, Ec2, have, volume


@pytest.fixture
def ec2(monkeypatch: pytest.MonkeyPatch) -> Ec2:
    fake = Ec2(dict(EBS))
    monkeypatch.setattr(found, "aws_client", lambda *_which: fake)
    monkeypatch.setattr(volumes, "ec2_client", lambda _place: fake)
    return fake


@pytest.fixture(autouse=True)
def nomad(nomad: FakeNomad, ec2: Ec2, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeNomad:
    monkeypatch.setenv("NOMAD_ADDR", nomad.address)
    # Pulumi shows no configuration while what the project requires is missing.
    monkeypatch.setattr(stack, "config", lambda: pytest.fail("Pulumi is asked for the configuration"))
    monkeypatch.setattr(project, "file", lambda: tmp_path / "Pulumi.yaml")
    monkeypatch.setattr(stack, "chosen", lambda: "prod")
    (tmp_path / "Pulumi.yaml").write_text("name: nomad-stateful\nruntime: python\n", encoding="utf-8")
    nomad.put("node/node-1", CLIENT)
    nomad.put("plugin/csi/ebs", PLUGIN)
    nomad.put("job/ebs-nodes", PLUGIN_JOB)
    have(nomad, volume())
    return nomad
