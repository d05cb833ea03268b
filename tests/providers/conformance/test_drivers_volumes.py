"""The id of a volume that its driver made, in a plan to grow it: without it the volume would count as replaced."""

from collections.abc import Callable

import pytest

from tests.providers.conformance.subjects import TypeSubject
from tests.providers.conformance.tables import TYPES
from tests.providers.conformance.worlds import World

SUBJECTS = [one for one in TYPES if one.token == "nomad:index/csiVolume:CsiVolume"]


@pytest.mark.parametrize("subject", SUBJECTS, ids=[one.label for one in SUBJECTS])
def test_a_plan_to_grow_a_drivers_volume_knows_its_id(subject: TypeSubject, worlds: Callable[[str], World]) -> None:
    place = worlds(subject.world)
    inputs = place.plugin.check(subject.token, {**subject.inputs(place), "capacityMin": "1GiB"}).inputs.props
    made = place.plugin.create(subject.token, inputs)
    news = place.plugin.check(subject.token, {**inputs, "capacityMin": "2GiB"}, inputs).inputs.props
    planned = place.plugin.update(subject.token, made.id, made.outputs.props, inputs, news, preview=True)
    assert planned["externalId"] == made["externalId"] != ""
