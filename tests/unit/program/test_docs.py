"""Documentation that must not drift from the code."""

import re
from pathlib import Path

import yaml

from nomad_stateful.program.settings import MODEL, PROJECT, docs

TOP = Path(__file__).parents[3]
STACKS = ["Pulumi.dev.yaml", "Pulumi.aws.yaml.example"]


def test_the_configuration_page_is_what_the_settings_say() -> None:
    assert docs.PAGE.read_text(encoding="utf-8") == docs.render()


def test_every_top_level_setting_is_declared_in_the_project_file_and_the_other_way_round() -> None:
    project = yaml.safe_load((TOP / "Pulumi.yaml").read_text(encoding="utf-8"))
    declared = {key.removeprefix(f"{PROJECT}:") for key in project["config"]}
    assert declared == {field.alias for field in MODEL.model_fields.values()}


def test_both_stack_files_have_the_same_keys() -> None:
    keys = [set(yaml.safe_load((TOP / name).read_text(encoding="utf-8"))["config"]) for name in STACKS]
    ours = [{key for key in found if key.startswith(f"{PROJECT}:")} for found in keys]
    assert ours[0] == ours[1]


def test_every_job_variable_has_a_description() -> None:
    for path in sorted((TOP / "jobs").glob("*.nomad.hcl")):
        for name, body in re.findall(
            r'^variable "(\w+)" \{\n(.*?)^\}', path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        ):
            assert "description" in body, f"{path.name}: variable {name}"
