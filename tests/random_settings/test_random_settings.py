"""What the settings accept, Nomad, EC2 and IAM accept; what they refuse is one of key, value, rule and remedy.

RANDOM_SETTINGS=2000 draws as many, and others each time; with --hypothesis-seed=N those of N.
"""

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis

from nomad_stateful.program import settings
from nomad_stateful.program.settings.errors import SettingsError
from tests import closing_lines
from tests.providers.nomad.agent import nomad_binary, running_agent
from tests.random_settings import aws_judge, plugin_judge
from tests.random_settings.bases import BASES
from tests.random_settings.drawing import configurations
from tests.random_settings.known_faults import FAULTS
from tests.random_settings.nomad_judge import NomadJudge
from tests.random_settings.places import all_keys, places
from tests.random_settings.resources import made

pytestmark = pytest.mark.nomad

WANTED = int(os.environ.get("RANDOM_SETTINGS", "0"))
EXAMPLES = WANTED or 60


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NomadJudge]:
    nomad = nomad_binary()
    if nomad is None:
        pytest.skip("needs the nomad binary of the toolchain")
    with running_agent(nomad, tmp_path_factory.mktemp("agent")) as agent:
        yield NomadJudge(agent.api)


@pytest.fixture(scope="session")
def tally() -> Counter[str]:
    return closing_lines.tally("random settings")


def refusal(config: dict[str, Any]) -> SettingsError | None:
    try:
        settings.parse(config)
    except SettingsError as error:
        return error
    return None


def complaints(config: dict[str, Any], judge: NomadJudge) -> list[str]:
    """What anybody says against what the program makes of accepted settings."""
    resources = made(config)
    return [
        *judge.complaints(resources),
        *aws_judge.complaints(resources, config),
        *plugin_judge.complaints(resources),
        *(said for job in judge.jobs.values() for said in aws_judge.of_driver(job)),
    ]


def test_the_configurations_they_are_made_from_have_every_key() -> None:
    assert {place.key for base in BASES for place in places(base)} == all_keys()


@pytest.mark.parametrize("number", range(len(BASES)))
def test_a_configuration_they_are_made_from_is_accepted(number: int, judge: NomadJudge) -> None:
    assert refusal(BASES[number]) is None
    assert complaints(BASES[number], judge) == []


@hypothesis(
    max_examples=EXAMPLES,
    derandomize=not WANTED,
    deadline=None,
    database=None,
    phases=[Phase.generate] if not WANTED else [Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(config=configurations())
def test_settings_at_random_are_accepted_by_everybody_or_refused(
    config: dict[str, Any], judge: NomadJudge, tally: Counter[str]
) -> None:
    tally["neither"] += 1
    error = refusal(config)
    if error is None:
        assert complaints(config, judge) == []
    else:
        assert all(all((one.key, one.value, one.rule, one.remedy)) for one in error.problems), error
    tally["neither"] -= 1
    tally["accepted" if error is None else "refused"] += 1


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_what_nomad_or_aws_refuse_is_refused_by_its_key(fault: Any) -> None:
    error = refusal(fault.config())
    assert error is not None, f"{fault} is accepted"
    assert fault.key in [problem.key for problem in error.problems]
