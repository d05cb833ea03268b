"""What programs in other languages are told about the components."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from pulumi.runtime import mocks

from nomad_stateful.components.package.host import COMPONENTS, ComponentHost
from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.provider.plugin import NomadCsiPlugin
from nomad_stateful.schema.fields import PACKAGE
from nomad_stateful.schema.identity import identity
from nomad_stateful.version import VERSION
from tests.unit.program.recorder import Recorder
from tools import toolchain

TOP = Path(__file__).parents[2]


@cache
def schema() -> dict[str, Any]:
    return NomadCsiPlugin().schema()


def components() -> dict[str, Any]:
    return {token: one for token, one in schema()["resources"].items() if one.get("isComponent")}


def described() -> Iterator[tuple[str, str | None]]:
    """Everything in the schema that a person reads, and its description."""
    for token, resource in components().items():
        yield token, resource.get("description")
        for kind in ("inputProperties", "properties"):
            yield from ((f"{token} {kind} {key}", value.get("description")) for key, value in resource[kind].items())
    for token, declared in schema()["types"].items():
        yield token, declared.get("description")
        yield from ((f"{token} {key}", value.get("description")) for key, value in declared["properties"].items())


def test_every_component_input_output_and_type_has_a_description() -> None:
    assert [name for name, text in described() if not (text or "").strip()] == []


def test_every_component_of_the_project_is_in_the_package() -> None:
    classes = {
        line.split("(")[0].removeprefix("class ")
        for path in (TOP / "components").glob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("class ") and "(Component)" in line
    }
    # Of these each database has its own.
    classes -= {"DatabaseServer", "DatabaseBackup", "DatabaseMetrics", "DatabaseGroup"}
    classes |= {f"{name.capitalize()}{role}" for name in DATABASES for role in ("Server", "Backup", "Metrics")}
    classes |= {f"{name.capitalize()}Group" for name, database in DATABASES.items() if database.group}
    assert classes == {component.__name__ for component in COMPONENTS}
    assert set(components()) == {f"{PACKAGE}:index:{name}" for name in classes}


def test_one_package_has_components_resources_and_functions() -> None:
    plugin = NomadCsiPlugin()
    own = {one.table.token for one in plugin.resources}
    assert set(schema()["resources"]) == own | set(components())
    assert not own & set(components())
    assert set(schema()["functions"]) == {one.table.token for one in plugin.functions}
    assert schema()["name"] == PACKAGE == plugin.name


@pytest.fixture
def check(tmp_path: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """What the engine's own check says of a schema."""
    env = {**os.environ, "PULUMI_HOME": str(tmp_path), "PULUMI_SKIP_UPDATE_CHECK": "1"}

    def checked(text: str) -> subprocess.CompletedProcess[str]:
        file = tmp_path / "schema.json"
        file.write_text(text, encoding="utf-8")
        command = [str(toolchain.ensure().pulumi), "schema", "check", str(file)]
        return subprocess.run(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )

    return checked


@pytest.mark.engine
def test_the_engine_takes_the_schema_and_refuses_one_that_lacks_a_type(
    check: Callable[[str], subprocess.CompletedProcess[str]],
) -> None:
    taken = check(json.dumps(schema()))
    assert (taken.returncode, "warning" in taken.stdout) == (0, False), taken.stdout
    lacking = next(iter(schema()["types"]))
    types = {token: one for token, one in schema()["types"].items() if token != lacking}
    refused = check(json.dumps({**schema(), "types": types}))
    assert refused.returncode != 0
    assert lacking.rpartition(":")[2] in refused.stdout


def test_a_component_is_the_one_that_a_program_had_of_the_earlier_package() -> None:
    for token, component in components().items():
        assert component["aliases"] == [{"type": token.replace("nomad-csi", "nomad-stateful")}]


def test_the_schema_says_whose_the_package_is_and_where_its_archives_are() -> None:
    assert {"publisher", "displayName", "description", "keywords", "language"} <= set(schema())
    known = identity("https://github.com/someone/shop", "MPL-2.0")
    assert known["repository"] == "https://github.com/someone/shop"
    assert known["license"] == "MPL-2.0"
    assert known["pluginDownloadURL"] == "github://api.github.com/someone/shop"
    assert "pluginDownloadURL" not in identity("https://example.com/shop")


def test_the_policy_pack_has_the_version_of_the_rest() -> None:
    pack = yaml.safe_load((TOP / "policy/PulumiPolicy.yaml").read_text(encoding="utf-8"))
    assert pack["version"] == VERSION


@pytest.mark.parametrize(
    ("component", "key"),
    [("CsiVolume", "externalId"), ("CsiVolume", "sizeGib"), ("CsiVolume", "pluginId"), ("DriverPolicy", "role")],
)
def test_what_another_resource_makes_may_be_given_as_an_output(component: str, key: str) -> None:
    declared = components()[f"{PACKAGE}:index:{component}"]["inputProperties"][key]
    assert not declared.get("plain")


def constructed(component: str, inputs: Callable[[], dict[str, Any]]) -> dict[str, mocks.MockResourceArgs]:
    """The resources of a component that is made as the engine does it for a program in another language."""
    recorder = Recorder()
    mocks.set_mocks(recorder, project="another", stack="test")

    @pulumi.runtime.test  # type: ignore[untyped-decorator]
    def run() -> pulumi.Output[Any]:
        made = ComponentHost().construct("mine", f"{PACKAGE}:index:{component}", inputs())
        return pulumi.Output.all(**made.state)

    run()
    return recorder.resources


def test_an_integer_may_come_as_an_output() -> None:
    resources = constructed(
        "CsiVolume",
        lambda: {
            "volumeId": "orders",
            "namespace": "default",
            "pluginId": pulumi.Output.from_input("ebs"),
            "externalId": pulumi.Output.from_input("vol-1"),
            "accessMode": "single-node-writer",
            "attachmentMode": "file-system",
            "sizeGib": pulumi.Output.from_input(10.0),
        },
    )
    assert resources["mine-growth"].inputs["sizeGib"] == 10


def test_an_integer_that_travelled_as_a_float_reaches_a_job_as_an_integer() -> None:
    text = dict.fromkeys(("image", "configPath", "mountDir", "stagePublishBaseDir", "healthTimeout"), "")
    role = {"role": "controller", "jobId": "c", "args": [], "env": {}, "mounts": [], "privileged": False}
    resources = constructed(
        "CsiPlugin",
        lambda: {
            **text,
            "pluginId": "ebs",
            "placement": {"namespace": "default", "datacenters": ["*"], "nodePool": "default"},
            "constraints": [],
            "roles": [{**role, "networkMode": "", "ipcMode": ""}],
            "controllerCount": 2.0,
            "cpuMhz": 100.0,
            "memoryMib": 128.0,
            "zones": [],
            "zoneKeys": [],
            "timeoutS": 300.0,
        },
    )
    values = resources["mine-controller"].inputs["hcl2"]["vars"]
    assert values["count"] == "2"
    assert json.loads(values["task"])["cpu_mhz"] == 100
    assert '"cpu_mhz": 100,' in values["task"]
