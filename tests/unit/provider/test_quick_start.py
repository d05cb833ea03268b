"""What the engine waits for, one plugin after the other, imports nothing that only the first call needs."""

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[3]
_LISTED = "import sys, {module}; print(*sys.modules)"
_PLUGINS = (
    "nomad_stateful.provider.__main__",
    "sandbox.standins.plugins.nomad.__main__",
    "sandbox.standins.plugins.aws.__main__",
)


@pytest.mark.parametrize("module", _PLUGINS)
def test_a_plugin_starts_without_its_heavy_libraries(module: str) -> None:
    listed = subprocess.run(
        [sys.executable, "-c", _LISTED.format(module=module)], cwd=TOP, capture_output=True, text=True, check=True
    )
    assert not {"httpx", "boto3", "botocore.session", "pulumi", "pydantic"} & set(listed.stdout.split())


def test_the_prefetch_needs_no_provider_sdk_and_no_settings() -> None:
    listed = subprocess.run(
        [sys.executable, "-c", _LISTED.format(module="program.launch")],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not {"pulumi_aws", "pulumi_nomad", "pydantic", "program.settings", "components"} & set(listed.stdout.split())
