"""Tests that run on official parts are chosen by OFFICIAL, and counted where they are left out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import official_parts

PROJECT = Path(__file__).resolve().parents[4]
FILE = "tests/sandbox/test_ebs_driver_answers.py"
ONE = "test_the_flags_that_settings_let_through_are_the_official_drivers"


def collected(folder: Path | None) -> str:
    named = {} if folder is None else {official_parts.VARIABLE: str(folder)}
    environment = {name: value for name, value in os.environ.items() if name != official_parts.VARIABLE} | named
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", FILE]
    return subprocess.run(command, cwd=PROJECT, env=environment, check=True, capture_output=True, text=True).stdout


def test_without_a_folder_they_are_left_out_and_counted_before_the_closing_line() -> None:
    *_, left_out, closing = collected(None).splitlines()
    _, _, count = left_out.rpartition("aws-ebs-csi-driver ")
    assert int(count) > 0
    assert f"{count} deselected" in closing


@pytest.mark.parametrize(("archive", "runs"), [("aws-ebs-csi-driver", True), ("pulumi-resource-nomad", False)])
def test_they_run_where_the_folder_has_the_archive_of_their_part(archive: str, runs: bool, tmp_path: Path) -> None:
    (tmp_path / f"{archive}-v1.0.0-linux-amd64.tar.gz").touch()
    assert (ONE in collected(tmp_path)) is runs
