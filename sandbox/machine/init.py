"""Process 1 of an instance: runs the user data, reaps orphans, shuts down on SIGTERM. Standard library only.

Run as a plain script by the firmware: `python -I -S init.py USER_DATA GRACE_S`.
"""

import os
import signal
import sys
import time

SHUTDOWN = "/mnt/etc/shutdown"
SERVICES_S = 115.0
"""How long the services have to stop; sandbox.machine.machine waits for it."""
_SIGNALS = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT}


def say(text: str) -> None:
    """Writes a line to the console."""
    os.write(1, f"[init] {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {text}\n".encode())


def start(script: str) -> int:
    """Runs the user data in a session of its own and returns its pid."""
    pid = os.fork()
    if pid == 0:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        # As cloud-init does, user data chooses its interpreter by its first line; without one it is sh.
        with open(script, "rb") as file:  # noqa: PTH123 - pathlib would triple the start-up time
            has_interpreter = file.read(2) == b"#!"
        argv = [script] if has_interpreter else ["/bin/sh", script]
        try:
            os.execv(argv[0], argv)
        except OSError as error:
            say(f"user data cannot be run: {error.strerror}")
            os._exit(127)
    return pid


def reap(user_data: int) -> bool:
    """Collects every child that has ended; False when none is left."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
        if pid == user_data:
            say(f"user data ended with status {os.waitstatus_to_exitcode(status)}")


def stop_services(user_data: int) -> None:
    """Runs what the user data left to be run at a shutdown, as an init stops its services before anything else."""
    if not os.access(SHUTDOWN, os.X_OK):
        return
    say("stopping services")
    deadline = time.monotonic() + SERVICES_S
    stopping = os.fork()
    if stopping == 0:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        try:
            os.execv(SHUTDOWN, [SHUTDOWN])
        except OSError:
            os._exit(127)
    while reap(user_data) and (left := deadline - time.monotonic()) > 0:
        try:
            os.kill(stopping, 0)
        except ProcessLookupError:
            return
        signal.sigtimedwait({signal.SIGCHLD}, left)


def shut_down(user_data: int, grace_s: float) -> None:
    """Asks every process to end; whoever is left after the grace time dies with this one."""
    stop_services(user_data)
    say("shutting down")
    deadline = time.monotonic() + grace_s
    try:
        os.kill(-1, signal.SIGTERM)
        # A stopped process cannot act on the request.
        os.kill(-1, signal.SIGCONT)
    except ProcessLookupError:
        return
    while reap(user_data) and (left := deadline - time.monotonic()) > 0:
        signal.sigtimedwait({signal.SIGCHLD}, left)
    say("off")


def main() -> None:
    """Lives until the machine is shut down or killed."""
    script, grace_s = sys.argv[1], float(sys.argv[2])
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    say("boot")
    user_data = start(script)
    while signal.sigwait(_SIGNALS) == signal.SIGCHLD:
        reap(user_data)
    shut_down(user_data, grace_s)


if __name__ == "__main__":
    main()
