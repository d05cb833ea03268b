"""What earlier releases took is refused with the way on."""

from typing import Any

import pytest

from nomad_stateful.program import settings

ALONE = "in docker alone"
AGENT = "Remove it, and set agentImage (docs/agent.md)"
PROGRAM = "is the program of its image. Remove it"


def config(section: str, given: dict[str, Any]) -> dict[str, Any]:
    """A stack of every section that has such settings, with these in one of them."""
    made: dict[str, Any] = {
        "plugins": {"id": "ebs"},
        "mysql": {"volume": "mysql", "backup": {"volume": "dumps"}},
        "metrics": {"mysql": {}, "volumes": {}},
        "failover": {},
    }
    place = made
    for key in section.split("."):
        place = place.setdefault(key, {})
    place.update(given)
    volumes = [{"name": name, "zone": "us-west-2a", "sizeGib": 1} for name in ("mysql", "dumps")]
    stack = {"clientRole": "r", "agentImage": "agent:1.0", "volumes": volumes}
    return {**stack, **made, "plugins": [made["plugins"]]}


def refusals(section: str, given: dict[str, Any]) -> list[str]:
    with pytest.raises(settings.SettingsError) as refused:
        settings.parse(config(section, given))
    return [str(problem) for problem in refused.value.problems]


@pytest.mark.parametrize("driver", ["exec", "raw_exec"])
@pytest.mark.parametrize(
    ("section", "key", "remedy"),
    [
        ("plugins", "plugins.ebs", "Remove it, and command and stagePublishBaseDir where they were for raw_exec"),
        ("mysql", "mysql", "Have the earlier release dump it, and restore the dump into a stack with docker"),
        ("metrics", "metrics", "Remove it"),
        ("failover", "failover", AGENT),
    ],
)
def test_only_docker_is_left_of_the_task_drivers(section: str, key: str, remedy: str, driver: str) -> None:
    (said,) = refusals(section, {"taskDriver": driver})
    assert said.startswith(f"{key}.taskDriver is {driver}: ")
    assert ALONE in said
    assert remedy in said


@pytest.mark.parametrize("section", ["plugins", "mysql", "metrics", "failover"])
def test_docker_may_be_written_and_nothing_else(section: str) -> None:
    settings.parse(config(section, {"taskDriver": "docker"}))
    (said,) = refusals(section, {"taskDriver": "java"})
    assert "must be one of 'docker'" in said


@pytest.mark.parametrize(
    ("section", "key", "words"),
    [
        ("plugins", "command", "the driver is the program of its image. Remove it; image names another one"),
        ("metrics.mysql", "command", PROGRAM),
        ("metrics.volumes", "command", PROGRAM),
        ("failover", "command", AGENT),
        ("failover", "image", AGENT),
        ("mysql.backup.s3", "image", AGENT),
        ("mysql.pointInTime.s3", "image", AGENT),
    ],
)
def test_a_program_of_the_clients_and_an_image_of_its_own_are_refused(section: str, key: str, words: str) -> None:
    (said,) = refusals(section, {key: "something:1.0"})
    assert said.startswith(f"{section.replace('plugins', 'plugins.ebs')}.{key} is ")
    assert words in said
