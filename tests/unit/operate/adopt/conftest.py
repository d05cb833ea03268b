"""A Nomad and an EC2 with one volume that was made by hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nomad_stateful.nomad.api import NomadApi
from operate import stack
from operate.adopt import command, found
from tests.providers.fake_nomad import FakeNomad, fake_nomad
from tests.unit.operate.adopt.cluster import CLIENT, EBS, PLUGIN, PLUGIN_JOB, Ec2, have, volume


@pytest.fixture
def nomad(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeNomad]:
    with fake_nomad() as fake:
        monkeypatch.setattr(command, "connect", lambda: NomadApi.from_env({}, {"NOMAD_ADDR": fake.address}))
        monkeypatch.setattr(found, "aws_client", lambda _service, _place: Ec2([EBS]))
        monkeypatch.setattr(stack, "project_dir", lambda: tmp_path)
        monkeypatch.setattr(stack, "chosen", lambda: "prod")
        fake.put("nodes", [{"ID": "node-1", "Status": "ready"}])
        fake.put("node/node-1", CLIENT)
        fake.put("plugins", [{"ID": "ebs"}])
        fake.put("plugin/csi/ebs", PLUGIN)
        fake.put("jobs", [{"ID": "ebs-nodes", "Namespace": "default", "Status": "running"}])
        fake.put("job/ebs-nodes", PLUGIN_JOB)
        have(fake, volume())
        yield fake
