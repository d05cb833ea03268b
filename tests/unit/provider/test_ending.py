"""A plugin ends as soon as it is told to, whichever of its threads the signal reaches."""

import subprocess
import sys

import pytest

# Without the pipe this would wait for the next look at the parent, which comes too late for the test.
_PROGRAM = """
import signal, sys, threading
from nomad_stateful.plugin_server import ending

ending.PARENT_POLL_S = 3600.0
end = ending.Ending()

def signalled():
    signal.pthread_kill(threading.get_ident(), signal.{name})
    threading.Event().wait()

threading.Thread(target=signalled, daemon=True).start()
end.wait()
print("ended")
"""

_ORPHAN = """
import os, sys
from nomad_stateful.plugin_server import ending

ending.PARENT_POLL_S = 0.05
end = ending.Ending()
print("started", flush=True)
os.close(int(sys.argv[1]))
end.wait()
print("ended")
"""

_PARENT = """
import os, subprocess, sys

ready, started = os.pipe()
subprocess.Popen([sys.executable, "-c", sys.argv[1], str(started)], pass_fds=[started])
os.close(started)
os.read(ready, 1)
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_that_another_thread_receives_ends_the_wait_at_once(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(name=name)], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "ended\n"


def test_a_plugin_whose_parent_is_gone_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PARENT, _ORPHAN], capture_output=True, text=True, timeout=30, check=True
    )
    # The output closes, and with it the wait for it, when the orphan has ended.
    assert done.stdout == "started\nended\n"
