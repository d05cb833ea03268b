"""Other programs that use the components: one in Python with the wheel, one in TypeScript with the package."""

import json
import shutil
from pathlib import Path

import pytest

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
    virtual_environment(project, wheel)
    run(["pulumi", "stack", "init", "test"], project, sandbox.env)
    shown = run(["pulumi", "preview", "--non-interactive", "--json"], project, sandbox.env)
    types = {step["newState"]["type"] for step in json.loads(shown)["steps"]}
    components = {f"nomad-csi:index:{name}" for name in ("CsiPlugin", "CsiVolume", "ZonalVolumes")}
    assert components | {"nomad-csi:index:PluginHealth", "aws:ebs/volume:Volume", "nomad:index/job:Job"} <= types


SETTINGS = {"protect": "false", "sizeGib": "1"}


@pytest.fixture
def typescript(tmp_path: Path, generator: Path, sandbox: Running) -> Path:
    """The TypeScript example, compiled against the SDK that the package's schema gives."""
    if shutil.which("npm") is None:
        pytest.skip("no npm on PATH")
    project = copied("package-typescript", tmp_path)
    plugin = sandbox.project / "nomad_stateful/provider/pulumi-resource-nomad-csi"
    schema = tmp_path / "schema.json"
    schema.write_text(run(["pulumi", "package", "get-schema", plugin], tmp_path, sandbox.env))
    sdk = project / "sdks/nomad-csi"
    sdk.mkdir(parents=True)
    run([generator, schema, sdk], tmp_path)
    run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], project)
    # What the SDK's own postinstall does.
    run(["npx", "tsc", "-p", "sdks/nomad-csi", "--skipLibCheck"], project)
    shutil.copy(sdk / "package.json", sdk / "bin")
    run(["npx", "tsc", "-p", "."], project)
    settings = (project / "Pulumi.yaml").read_text().split("packages:")[0]
    (project / "Pulumi.yaml").write_text(f"{settings}packages:\n  nomad-csi: {plugin}\n")
    return project


@pytest.mark.nightly
@pytest.mark.sandbox
@pytest.mark.engine
def test_a_typescript_program_with_the_package_brings_a_volume_up_and_destroys_it(
    typescript: Path, sandbox: Running
) -> None:
    def automate(operation: str) -> str:
        command: list[str | Path] = ["node", SOURCES / "automate.js", typescript, operation, json.dumps(SETTINGS)]
        return run(command, typescript, sandbox.env).strip()

    made = automate("up")
    assert sandbox.nomad.get("volume/csi/orders")["ExternalID"].startswith("vol-")
    assert sandbox.nomad.get("plugin/csi/aws-ebs0")["ControllersHealthy"] == 2
    removed = automate("destroy")
    created, deleted = (json.loads(text.splitlines()[-1]) for text in (made, removed))
    assert created["create"] == deleted["delete"]
    assert sandbox.nomad.get("volumes", type="csi") == []
