"""Plugins and volumes that exist: what of them the stack takes on, and what it does not."""

import json
from typing import Any

import pytest

from nomad_stateful.program import settings
from nomad_stateful.resource_types import EBS_VOLUME, NOMAD_CSI_REGISTRATION, NOMAD_JOB, VOLUME_PROTECTION
from tests.unit.program.recorder import planned, record

EBS = "vol-0000000000000000d"
CONFIG: dict[str, Any] = {
    "clientRole": "nomad-client",
    "plugins": [{"id": "ebs", "existing": True, "controllers": 1}],
    "volumes": [
        {
            "name": "ledger",
            "provision": "existing",
            "externalId": EBS,
            "zone": "us-west-2a",
            "retain": True,
            "registered": {"name": "The ledger", "topologyKey": ""},
        }
    ],
}


def changed(section: str, **values: Any) -> dict[str, Any]:
    return CONFIG | {section: [CONFIG[section][0] | values]}


def test_no_job_no_policy_and_no_volume_is_made() -> None:
    parsed = settings.parse(CONFIG)
    assert parsed.jobs == []
    assert planned(CONFIG).jobs == []
    made = record(CONFIG).values()
    types = {one.typ for one in made}
    assert NOMAD_JOB not in types
    assert not any(one.startswith("aws:") for one in types)
    (registration,) = (one.inputs for one in made if one.typ == NOMAD_CSI_REGISTRATION)
    assert registration["name"] == "The ledger"
    assert registration["deregisterOnDestroy"] is False
    assert "topologyRequest" not in registration


def test_an_ebs_volume_that_is_adopted_is_imported_and_keeps_its_registration() -> None:
    volume = {key: value for key, value in CONFIG["volumes"][0].items() if key not in ("provision", "externalId")}
    config = CONFIG | {"volumes": [volume | {"sizeGib": 10, "adopt": True}]}
    made = record(config, adopted={"ledger": {"volume_id": EBS, "guard_id": "g1"}}).values()
    (storage,) = (one for one in made if one.typ == EBS_VOLUME)
    (protection,) = (one.inputs for one in made if one.typ == VOLUME_PROTECTION)
    (registration,) = (one.inputs for one in made if one.typ == NOMAD_CSI_REGISTRATION)
    assert (storage.resource_id, storage.inputs["tags"]["nomad-stateful-guard"]) == (EBS, "g1")
    assert (protection["hasContents"], protection["earlierSizeGib"]) == (True, 10)
    assert (registration["name"], "topologyRequest" in registration) == ("The ledger", False)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (changed("plugins", taskDriver="docker"), "plugins.ebs.taskDriver is docker: is for plugins whose jobs"),
        (changed("plugins", version="v1.48.0"), "plugins.ebs.version is v1.48.0: is for plugins whose jobs"),
        (changed("plugins", driver="efs", controllers=1), "plugins.ebs.controllers is 1: the efs driver has no contro"),
        (
            changed("volumes", provision="pulumi", externalId=None, sizeGib=1, retain=False),
            "volumes.ledger.registered is set: is for volumes that may be registered already",
        ),
        (
            changed("volumes", provision="plugin", externalId=None, sizeGib=1, registered={}),
            "volumes.ledger.retain is true: is for EBS volumes that Pulumi makes, and for existing volumes",
        ),
    ],
)
def test_what_does_not_count_is_refused(config: dict[str, Any], said: str) -> None:
    with pytest.raises(settings.SettingsError) as refused:
        settings.parse(json.loads(json.dumps(config)))
    assert said in str(refused.value)
