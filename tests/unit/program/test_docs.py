"""Documentation that must not drift from the code."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi.runtime import mocks

from nomad_stateful.program.settings import MODEL, PROJECT, Settings, docs, parse
from nomad_stateful.program.settings.errors import SettingsError
from tests.unit.program.recorder import record

TOP = Path(__file__).parents[3]
STACKS = ["Pulumi.dev.yaml", "Pulumi.aws.yaml.example"]


def test_the_configuration_page_is_what_the_settings_say() -> None:
    assert docs.PAGE.read_text(encoding="utf-8") == docs.render()


def test_a_section_with_the_keys_of_an_earlier_one_shows_what_differs() -> None:
    page = docs.render()
    (section,) = re.findall(r"^## `postgres`\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    assert "The keys of [`mysql`](#mysql), but `pointInTime` and `group`, with other defaults:" in section
    assert "| `postgres.port` | `5432` |" in section
    assert "`postgres.killTimeout`" not in section, "the default is that of mysql.killTimeout"


def test_every_top_level_setting_is_declared_in_the_project_file_and_the_other_way_round() -> None:
    project = yaml.safe_load((TOP / "Pulumi.yaml").read_text(encoding="utf-8"))
    declared = {key.removeprefix(f"{PROJECT}:") for key in project["config"]}
    assert declared == {field.alias for field in MODEL.model_fields.values()}


def test_both_stack_files_have_the_same_keys() -> None:
    keys = [set(yaml.safe_load((TOP / name).read_text(encoding="utf-8"))["config"]) for name in STACKS]
    ours = [{key for key in found if key.startswith(f"{PROJECT}:")} for found in keys]
    assert ours[0] == ours[1]


def test_the_settings_of_a_lost_region_do_in_another_once_the_page_was_followed() -> None:
    page = (TOP / "docs/disaster-recovery.md").read_text(encoding="utf-8").partition("## The region is lost")[2]
    example = (TOP / "docs/volumes.md").read_text(encoding="utf-8").partition("## Snapshots on schedule")[2]
    given = yaml.safe_load(example.partition("```yaml\n")[2].partition("```")[0])
    [volume] = given[f"{PROJECT}:volumes"]
    volume["zone"] = f"{volume['snapshots'][1]['copies'][0]['region']}a"
    with pytest.raises(SettingsError, match="own region"):
        parsed(volume)
    if re.search(r"^ *\| .*`volumes\[\]\.snapshots\[\]\.copies`", page, re.MULTILINE):
        del volume["snapshots"][1]["copies"]
    parsed(volume)


def parsed(volume: dict[str, Any]) -> Settings:
    return parse({"clientRole": "nomad-client", "plugins": [{"id": "aws-ebs0"}], "volumes": [volume]})


def test_every_example_is_in_their_table() -> None:
    names = {path.name for path in (TOP / "examples").glob("Pulumi.*.yaml")}
    page = (TOP / "examples/README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| \[[a-z-]+\]\((.+?)\) \|", page, re.MULTILINE)) == names


def test_every_job_variable_has_a_description() -> None:
    for path in sorted((TOP / "jobs").glob("*.nomad.hcl")):
        for name, body in re.findall(
            r'^variable "(\w+)" \{\n(.*?)^\}', path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        ):
            assert "description" in body, f"{path.name}: variable {name}"


def test_the_picture_of_the_readme_has_the_order_in_which_the_stack_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (TOP / "README.md").read_text(encoding="utf-8")
    made = dependencies(yaml.safe_load(readme.partition("```yaml\n")[2].partition("```")[0])["config"], monkeypatch)
    for first, then in arrows(readme.partition("```text\n")[2].partition("```")[0]):
        for resource in IN_THE_PICTURE[then]:
            assert set(IN_THE_PICTURE[first]) <= made[resource], (first, then)


IN_THE_PICTURE = {
    "EBS driver": ["plugin-aws-ebs0-controller", "plugin-aws-ebs0-node"],
    "PluginHealth": ["plugin-aws-ebs0-health-us-west-2a"],
    "IAM policy": ["ebs-driver-policy", "ebs-driver-attachment"],
    "EBS volume": ["ebs-mysql-us-west-2a"],
    "registration": ["volume-mysql-registration"],
    "VolumeRelease": ["mysql-release-mysql"],
    "MySQL": ["mysql-job"],
    "JobHealth": ["mysql-health"],
}


def arrows(picture: str) -> list[tuple[str, str]]:
    """The pairs of neighbours in a picture of branches that end in the line with the trunk."""
    lines = [[name.strip() for name in re.split("─+▶?|[┐┼┘]", line) if name.strip()] for line in picture.splitlines()]
    trunk = max(lines, key=len)
    joined = [[*line, *trunk[1:]] if line is not trunk else trunk for line in lines]
    return [pair for line in joined for pair in pairwise(line)]


def dependencies(config: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """By name of each resource of a stack: all that the engine makes before it."""
    register = mocks.MockMonitor.RegisterResource
    direct: dict[str, set[str]] = {}

    def recorded(self: mocks.MockMonitor, request: Any) -> Any:
        answer = register(self, request)  # type: ignore[no-untyped-call]
        # What a component depends on, its resources do, too.
        direct[request.name] = {urn.rpartition("::")[2] for urn in (*request.dependencies, request.parent) if urn}
        return answer

    monkeypatch.setattr(mocks.MockMonitor, "RegisterResource", recorded)
    record({key.removeprefix(f"{PROJECT}:"): value for key, value in config.items() if key.startswith(PROJECT)})

    def all_before(name: str) -> set[str]:
        return set().union(*({before, *all_before(before)} for before in direct.get(name, ())))

    return {name: all_before(name) for name in direct}
