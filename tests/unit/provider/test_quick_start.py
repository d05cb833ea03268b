"""What the engine waits for, one plugin after the other, imports nothing that only the first call needs."""

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[3]
_PLUGINS = (
    "nomad_stateful.provider.__main__",
    "sandbox.standins.plugins.nomad.__main__",
    "sandbox.standins.plugins.aws.__main__",
)


def modules(imported: str) -> set[str]:
    """What a process has loaded that imports a module."""
    program = f"import sys, {imported}; print(*sys.modules)"
    listed = subprocess.run([sys.executable, "-c", program], cwd=TOP, capture_output=True, text=True, check=True)
    return set(listed.stdout.split())


@pytest.mark.parametrize("module", _PLUGINS)
def test_a_plugin_starts_without_its_heavy_libraries(module: str) -> None:
    assert not {"httpx2", "boto3", "botocore.session", "pulumi", "pydantic"} & modules(module)


def test_the_prefetch_needs_no_provider_sdk_and_no_settings() -> None:
    ours = {"nomad_stateful.program.settings", "nomad_stateful.components"}
    assert not {"pulumi_aws", "pulumi_nomad", "pydantic", *ours} & modules("nomad_stateful.program.launch")


def test_the_classes_of_programs_bring_the_tables_and_neither_the_plugin_nor_its_clients() -> None:
    loaded = modules("nomad_stateful.sdk")
    assert not {"httpx2", "boto3", "nomad_stateful.nomad", "nomad_stateful.ebs", "nomad_stateful.provider"} & loaded
