"""Other programs that use the components: one in Python with the wheel, one in TypeScript with the package."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
import yaml

from nomad_stateful.schema.fields import PACKAGE
from nomad_stateful.version import VERSION
from tests.package.conftest import SOURCES, run, virtual_environment
from tools.trial.running import PROJECT, Running

EXAMPLES = PROJECT / "examples"
IMPORT_ALL = """
import importlib, pkgutil, sys
import nomad_stateful
for module in pkgutil.walk_packages(nomad_stateful.__path__, "nomad_stateful."):
    importlib.import_module(module.name)
print([name for name in ("components", "jobs") if name in sys.modules])
"""


def copied(name: str, target: Path) -> Path:
    """An example's own files."""
    built = shutil.ignore_patterns("node_modules", "sdks", "bin", ".venv")
    return shutil.copytree(EXAMPLES / name, target / name, ignore=built)


def test_every_module_of_the_wheel_can_be_imported_and_none_has_a_common_name(tmp_path: Path, wheel: Path) -> None:
    environment = virtual_environment(tmp_path, wheel)
    assert run([environment / "bin/python", "-c", IMPORT_ALL], tmp_path).strip() == "[]"
    site = next(environment.glob("lib/python*/site-packages"))
    assert not any((site / name).exists() for name in ("components", "jobs"))


@pytest.mark.sandbox
@pytest.mark.engine
def test_a_python_program_with_the_wheel_previews_the_components(tmp_path: Path, wheel: Path, sandbox: Running) -> None:
    project = copied("package-python", tmp_path)
    environment = virtual_environment(project, wheel)
    # The wheel's plugin, by PATH.
    env = {**sandbox.env, "PATH": f"{environment / 'bin'}{os.pathsep}{sandbox.env['PATH']}"}
    run(["pulumi", "stack", "init", "preview"], project, env)
    shown = run(["pulumi", "preview", "--non-interactive", "--json"], project, env)
    types = {step["newState"]["type"] for step in json.loads(shown)["steps"]}
    components = {f"nomad-csi:index:{name}" for name in ("CsiPlugin", "CsiVolume", "ZonalVolumes")}
    assert components | {"nomad-csi:index:PluginHealth", "aws:ebs/volume:Volume", "nomad:index/job:Job"} <= types


SETTINGS = {"protect": "false", "sizeGib": "1"}


@pytest.fixture(scope="module")
def installed(release: Path, mirror: tuple[Path, str], sandbox: Running) -> str:
    """The plugin in the sandbox's engine, out of a mirror; by which name programs have it."""
    folder, address = mirror
    shutil.copy(next(release.glob("*-linux-amd64.tar.gz")), folder)
    command: list[str | Path] = ["pulumi", "plugin", "install", "resource", PACKAGE, VERSION, "--server", address]
    run(command, folder, sandbox.env)
    return f"{PACKAGE}@{VERSION}"


def holds_the_volume(sandbox: Running) -> bool:
    """Whether what a program of the examples makes is in the cluster."""
    assert sandbox.nomad.get("volume/csi/orders")["ExternalID"].startswith("vol-")
    return bool(sandbox.nomad.get("plugin/csi/aws-ebs0")["ControllersHealthy"] == 2)


@pytest.mark.nightly
@pytest.mark.sandbox
@pytest.mark.engine
def test_a_python_program_with_the_plugin_of_a_mirror_brings_a_volume_up_and_destroys_it(
    tmp_path: Path, release: Path, installed: str, sandbox: Running
) -> None:
    project = copied("package-python", tmp_path)
    virtual_environment(project, next(release.glob("nomad_stateful-*.whl")))
    assert "plugins" not in yaml.safe_load((project / "Pulumi.yaml").read_text())
    run(["pulumi", "stack", "init", "test"], project, sandbox.env)
    run(["pulumi", "config", "set", "protect", "false"], project, sandbox.env)
    made = run(["pulumi", "up", "--yes", "--skip-preview", "--non-interactive"], project, sandbox.env)
    assert holds_the_volume(sandbox)
    gone = run(["pulumi", "destroy", "--yes", "--skip-preview", "--non-interactive"], project, sandbox.env)
    created, deleted = re.findall(r"[+-] (\d+) (?:created|deleted)", f"{made}{gone}")
    assert created == deleted
    assert sandbox.nomad.get("volumes", type="csi") == []


@pytest.fixture
def typescript(tmp_path: Path, generator: Path, installed: str, sandbox: Running) -> Path:
    """The TypeScript example, compiled against the SDK that the package's schema gives."""
    if shutil.which("npm") is None:
        pytest.skip("no npm on PATH")
    project = copied("package-typescript", tmp_path)
    assert yaml.safe_load((project / "Pulumi.yaml").read_text())["packages"] == {PACKAGE: installed}
    schema = tmp_path / "schema.json"
    schema.write_text(run(["pulumi", "package", "get-schema", installed], tmp_path, sandbox.env))
    sdk = project / "sdks/nomad-csi"
    sdk.mkdir(parents=True)
    run([generator, schema, sdk], tmp_path)
    run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], project)
    # What the SDK's own postinstall does.
    run(["npx", "tsc", "-p", "sdks/nomad-csi", "--skipLibCheck"], project)
    shutil.copy(sdk / "package.json", sdk / "bin")
    run(["npx", "tsc", "-p", "."], project)
    return project


@pytest.mark.nightly
@pytest.mark.sandbox
@pytest.mark.engine
def test_a_typescript_program_with_the_plugin_of_a_mirror_brings_a_volume_up_and_destroys_it(
    typescript: Path, sandbox: Running
) -> None:
    def automate(operation: str) -> str:
        command: list[str | Path] = ["node", SOURCES / "automate.js", typescript, operation, json.dumps(SETTINGS)]
        return run(command, typescript, sandbox.env).strip()

    made = automate("up")
    assert holds_the_volume(sandbox)
    removed = automate("destroy")
    created, deleted = (json.loads(text.splitlines()[-1]) for text in (made, removed))
    assert created["create"] == deleted["delete"]
    assert sandbox.nomad.get("volumes", type="csi") == []
