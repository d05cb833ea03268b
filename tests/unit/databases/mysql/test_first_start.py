"""The end of a first start, by which its files count as whole."""

import subprocess
from pathlib import Path

from tests.programs import make_program
from tools.trial.running import PROJECT

MV = """#!/bin/sh
for one in "$@"; do case "$one" in */mysql) ls "$START_MAKING" >>"$SEEN" ;; esac; done
exec /bin/mv "$@"
"""


def test_the_folder_by_which_a_first_start_counts_as_whole_comes_last(tmp_path: Path) -> None:
    data, programs, seen = tmp_path / "data", tmp_path / "bin", tmp_path / "seen"
    making = data / "first-start"
    (making / "mysql").mkdir(parents=True)
    for name in ("ibdata1", "undo_001"):
        (making / name).touch()
    make_program(programs / "mv", MV)
    make_program(programs / "mysqld", "")
    words = ["sh", str(PROJECT / "jobs/mysql/first-start.sh"), "--socket=s", "--skip-networking", f"--datadir={making}"]
    env = {"START_PATH": f"{programs}:/usr/bin:/bin", "START_MAKING": str(making), "START_SOCKET": "s"}
    subprocess.run(words, env=env | {"PATH": "/usr/bin:/bin", "SEEN": str(seen)}, check=True, capture_output=True)
    assert set(seen.read_text().split()) == {"mysql"}, "what was left to be moved when it was"
    assert sorted(path.name for path in data.iterdir()) == ["ibdata1", "mysql", "undo_001"]
