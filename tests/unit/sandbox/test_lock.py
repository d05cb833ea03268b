import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.machine.lock import Busy, exclusive
from sandbox.settings import PROJECT

HOLD = """
import sys
from pathlib import Path
from sandbox.machine.lock import exclusive

with exclusive(Path(sys.argv[1])):
    print(1, flush=True)
    sys.stdin.read()
"""


def test_a_second_run_is_refused_and_told_who_is_busy(tmp_path: Path) -> None:
    home = tmp_path / ".sandbox"
    words = [sys.executable, "-c", HOLD, str(home)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=PROJECT) as holder:
        assert holder.stdout
        holder.stdout.readline()
        with pytest.raises(Busy, match=rf"pid {holder.pid}"), exclusive(home):
            pass
        holder.kill()
    with exclusive(home):
        pass


def test_the_folder_may_be_removed_while_it_is_held_and_the_next_run_gets_a_new_one(tmp_path: Path) -> None:
    home = tmp_path / ".sandbox"
    with exclusive(home):
        home.rmdir()
        with exclusive(home):
            assert home.stat().st_mode & 0o777 == 0o700
    assert list(tmp_path.iterdir()) == [home]
