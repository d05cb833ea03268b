"""What commands do with each database of the catalogue."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.databases.operations import operations

TOP = Path(__file__).resolve().parents[3]


def test_the_descriptions_import_no_client_library() -> None:
    code = "import sys, nomad_stateful.databases.catalogue; print(sorted({'pymysql', 'ssl'} & set(sys.modules)))"
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", DATABASES)
def test_each_has_scripts_that_a_shell_runs_and_a_login_without_the_network(name: str) -> None:
    found = operations(name)
    scripts = (found.drill.script, found.upgrades.probe.script)
    assert all(script.startswith("#!/bin/sh\n") for script in scripts)
    login = DATABASES[name].socket_client("/of/the/socket", "root", "{{ password }}").files
    assert any("{{ password }}" in text for text in login.values())
    assert not any("port = " in text for text in login.values())
