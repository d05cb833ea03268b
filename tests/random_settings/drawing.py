"""A configuration at random: an accepted one with a few of its keys changed."""

import json
from collections import defaultdict
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

from tests.random_settings.bases import BASES
from tests.random_settings.places import Place, places, section_of
from tests.random_settings.values import KEYS, values


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Any]:
    """Mostly one change, so that much of what comes out is accepted."""
    config: dict[str, Any] = json.loads(json.dumps(draw(st.sampled_from(BASES))))
    for _ in range(draw(st.sampled_from((0, 1, 1, 1, 1, 1, 2, 3)))):
        by_key: defaultdict[str, list[Place]] = defaultdict(list)
        for place in places(config):
            by_key[place.key].append(place)
        key = draw(st.sampled_from(sorted(by_key)))
        _change(draw, config, draw(st.sampled_from(by_key[key])))
    if isinstance(config.get("volumes"), list) and draw(st.integers(0, 30)) == 0:
        _many_keys(config, draw(st.sampled_from((10, 20, 25, 40))))
    return config


def _change(draw: st.DrawFn, config: dict[str, Any], place: Place) -> None:
    parent: Any = config
    for part in place.path[:-1]:
        parent = parent[part]
    last = place.path[-1]
    held = parent.get(last)
    if section_of(place.field.annotation) is not None and isinstance(held, list) and held and draw(st.integers(0, 9)):
        _change_entries(draw, held)
    elif draw(st.integers(0, 11)) == 0:
        parent.pop(last, None)
    else:
        # A copy: a later change of this configuration must not reach the value that the next one is drawn from.
        parent[last] = deepcopy(draw(values(place.key, place.field)))


def _change_entries(draw: st.DrawFn, entries: list[Any]) -> None:
    """One more like another, with or without a name of its own, or one less."""
    kind = draw(st.sampled_from(("same", "renamed", "dropped")))
    if kind == "dropped":
        entries.pop()
        return
    again = json.loads(json.dumps(draw(st.sampled_from(entries))))
    if kind == "renamed":
        for key in ("name", "id", "label", "path", "destination", "target"):
            if isinstance(again.get(key), str):
                again[key] += "2"
    entries.append(again)


def _many_keys(config: dict[str, Any], count: int) -> None:
    """Volumes under a KMS key each."""
    for number, key in enumerate(KEYS[:count]):
        config["volumes"].append({"name": f"k{number}", "zone": "us-west-2a", "sizeGib": 1, "kmsKeyArn": key})
