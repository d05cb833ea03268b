"""How a plugin learns that it is no longer wanted."""

import os
import select
import signal

PARENT_POLL_S = 1.0


class Ending:
    """SIGTERM and SIGINT, or a parent that is gone. For the main thread."""

    def __init__(self) -> None:
        self._parent = os.getppid()
        self._told, tell = os.pipe()
        os.set_blocking(tell, False)
        # A signal that another thread receives does not interrupt a wait of this one; the pipe does.
        signal.set_wakeup_fd(tell)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)

    def wait(self) -> None:
        """Returns at once when a signal arrives, and within a second when the parent is gone."""
        while os.getppid() == self._parent and not select.select([self._told], [], [], PARENT_POLL_S)[0]:
            pass
