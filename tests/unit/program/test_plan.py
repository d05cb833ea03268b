"""The plan: plain data, made without Pulumi, which its form in JSON loses nothing of."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis

from nomad_stateful.program import plan, settings
from nomad_stateful.program.plan.later import Later
from nomad_stateful.program.plan.model import Plan
from nomad_stateful.program.settings import SettingsError
from tests.injection.configurations import EVERYTHING
from tests.random_settings.bases import BASES
from tests.random_settings.drawing import configurations
from tests.unit.program.recorder import planned
from tests.unit.program.stack_files import FILES, TOP, stack


def test_it_is_made_without_pulumi() -> None:
    code = "import sys, nomad_stateful.program.plan; print([name for name in sys.modules if name.startswith('pulumi')])"
    run = subprocess.run([sys.executable, "-c", code], cwd=TOP, capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


@pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
def test_the_plan_of_a_stacks_file_is_itself_after_a_way_through_json(file: Path) -> None:
    made = planned(stack(file))
    assert Plan.from_json(made.to_json()) == made


@pytest.mark.parametrize("number", range(len(BASES)))
def test_the_plan_of_every_setting_is_itself_after_a_way_through_json(number: int) -> None:
    made = planned(BASES[number])
    assert Plan.from_json(made.to_json()) == made


@hypothesis(max_examples=60, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(config=configurations())
def test_the_plan_of_settings_at_random_is_itself_after_a_way_through_json(config: dict[str, Any]) -> None:
    try:
        made = plan.of(settings.parse(config), "project/stack")
    except SettingsError:
        return
    assert Plan.from_json(made.to_json()) == made


def test_keys_of_the_settings_are_not_taken_for_kinds_of_the_plan() -> None:
    config = EVERYTHING | {"consumers": [EVERYTHING["consumers"][0] | {"env": {"source": "region"}}]}
    made = planned(config)
    name = config["consumers"][0]["name"]
    made.consumers[name]["task"]["env"] |= {"$": "Later", "$$": "x"}
    again = Plan.from_json(made.to_json()).consumers[name]["task"]["env"]
    assert again == {"source": "region", "$": "Later", "$$": "x"}


def test_what_is_left_for_later_is_not_the_text_that_stands_there() -> None:
    later = Later("volume_id", "mysql", text="mysql")
    assert later != "mysql"
    assert later != Later("external_id", "mysql", text="mysql")
    assert f"{later}" == "mysql"


def test_no_secret_is_in_it() -> None:
    config = BASES[0] | {"consumers": [BASES[0]["consumers"][0] | {"secrets": {"TOKEN": "drawn-and-hidden"}}]}
    made = planned(config)
    name = config["consumers"][0]["name"]
    assert made.consumers[name]["secrets"] == {"TOKEN": Later("secret", f"consumers.{name}.secrets.TOKEN")}
    assert "drawn-and-hidden" not in made.to_json()


def test_everything_that_a_job_takes_from_elsewhere_is_left_for_later() -> None:
    made = planned(BASES[0])
    assert made.database is not None
    assert made.database.server["volume"]["volume_id"] == Later("volume_id", "mysql", text="mysql")
    (binlogs,) = (one.variables["binlogs"] for one in made.jobs if one.spec == "database")
    assert binlogs["bucket"] == Later("bucket", "mysql-binlogs", text="made-by-the-stack")
