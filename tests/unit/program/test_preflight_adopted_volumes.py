"""EBS volumes that become the stack's by their tags while Nomad has them registered: as they are, and once."""

from typing import Any

import pytest

from nomad_stateful.nomad.registration import text as registration_text
from nomad_stateful.program.preflight.ownership import Known, Verdict
from tests.unit.program.test_preflight_ownership import BODY, MADE, judge, registration, state

ADOPTED = MADE | {"adopt": True}


def becomes_ours(
    there: dict[str, Any], volume: dict[str, Any] = ADOPTED, *others: dict[str, str], **config: Any
) -> Verdict:
    """What comes of a registration whose EBS volume has this stack's tags."""
    vol = "vol-0000000000000000d"
    name = volume["name"] + ("[0]" if "count" in volume else "")
    return judge(
        Known.of([], {name: vol}),
        {f"volume/{name}": {"exists": True, "registered": registration_text(BODY | {"Name": name} | there)}},
        registrations=[registration("default", name, vol), *others],
        volume=volume,
        **config,
    )


@pytest.mark.parametrize(
    ("there", "more", "said"),
    [
        ({}, {}, ""),
        ({"Name": "Ledger"}, {"registered": {"name": "Ledger"}}, ""),
        ({"RequestedTopologies": None}, {"registered": {"topologyKey": ""}}, ""),
        # Nomad has expanded it; the registration is taken as it is.
        ({"Capacity": 1 << 30}, {}, ""),
        ({}, {"count": 1}, ""),
        ({"Name": "Ledger"}, {}, "registered.name is data: it is registered with Ledger. Set it so."),
        ({"MountOptions": {"FSType": "xfs"}}, {}, "fsType is ext4: it is registered with xfs"),
        ({"RequestedTopologies": None}, {}, "zone is topology.ebs.csi.aws.com/zone=us-west-2a: it is registered with"),
        ({"ExternalID": "vol-0000000000000000e"}, {}, "externalId is vol-0000000000000000d: it is registered with vol"),
    ],
)
def test_the_registration_of_an_ebs_volume_that_becomes_ours_stays_as_it_is(
    there: dict[str, Any], more: dict[str, Any], said: str
) -> None:
    volume = ADOPTED | more
    verdict = becomes_ours(there, volume, mysql=None)
    assert len(verdict.problems) == bool(said)
    assert all(f"volumes.data.{said}" in str(problem) for problem in verdict.problems)


def test_one_that_was_cut_off_before_its_registration_is_compared_as_well() -> None:
    known = state(("aws:ebs/volume:Volume", {"id": "vol-0000000000000000d"}))
    there = {"exists": True, "registered": registration_text(BODY | {"MountOptions": {"FSType": "xfs"}})}
    registered = [registration("default", "data", "vol-0000000000000000d")]
    (problem,) = judge(known, {"volume/data": there}, registrations=registered, volume=ADOPTED).problems
    assert "volumes.data.fsType is ext4: it is registered with xfs" in str(problem)
    # What this stack has registered itself may change.
    assert judge(known, {"volume/data": there}, registrations=registered, volume=MADE).problems == []


def test_an_ebs_volume_that_becomes_ours_has_one_registration() -> None:
    other = registration("elsewhere", "ledger", "vol-0000000000000000d", plugin_id="another-plugin")
    (problem,) = becomes_ours({}, ADOPTED, other).problems
    assert "volumes.data.adopt is true, for vol-0000000000000000d: it is registered as volume ledger" in str(problem)
