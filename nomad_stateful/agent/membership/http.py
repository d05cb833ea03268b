"""What a router asks a member: each path is 200 or 503, with one line of why.

/primary: it may write. /replica?lag=SECONDS: it may be read from; a primary may too, so that a group with one member
left is read. /healthy: it is in the group, or there is no group to join, and this member waits for the others, whose
jobs are deployed after it. /: all of it as JSON.
"""

import json
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from nomad_stateful.agent.membership.decision import Answer
from nomad_stateful.agent.membership.keeper import Keeper
from nomad_stateful.agent.membership.watch import Seen, Watch

_REQUEST_WITHIN_S = 2.0


@dataclass(frozen=True)
class Answers:
    """What is answered, from what was seen last. A reason is why not; an empty one is 200."""

    watch: Watch
    keeper: Keeper
    leaving: Path
    """The file that is there once the server is about to stop (jobs/mysql/member.sh)."""

    def why_not(self, path: str, query: str) -> str | None:
        """Returns the reason of a 503; None where there is no such path."""
        rules: dict[str, Callable[[Seen], str]] = {
            "/primary": self._primary,
            "/replica": partial(self._replica, query),
            "/healthy": self._healthy,
        }
        if path not in rules:
            return None
        seen = self.watch.now()
        return seen if isinstance(seen, str) else rules[path](seen)

    def everything(self) -> dict[str, Any]:
        """Returns what is known of the member."""
        seen = self.watch.fresh()
        name = self.watch.member.group.own
        if isinstance(seen, str):
            return {"name": name, "state": "", "why": seen}
        answer = seen.answer
        return {
            "name": name,
            "state": answer.state,
            "began": answer.was_in_group,
            "why": self._unsettled if answer.state == "ONLINE" else self.keeper.why,
            "role": answer.role,
            "read_only": answer.read_only,
            "majority": answer.has_majority,
            "members": [{"host": host, "state": state, "role": role} for host, state, role in seen.view],
            "lag_s": seen.lag_s,
            "executed": str(answer.transactions.executed),
            "received": str(answer.transactions.received),
            "unapplied": str(answer.transactions.received - answer.transactions.executed),
            "disk": self.watch.disk.failure,
        }

    def _primary(self, seen: Seen) -> str:
        answer = seen.answer
        if why := _not_in_group(answer):
            return why
        if answer.role != "PRIMARY":
            return f"the member is {answer.role}"
        if answer.read_only:
            return "the server is read-only"
        return self._leaves or self._unsettled or self.watch.disk.failure

    @property
    def _leaves(self) -> str:
        return "the server is about to stop" if self.leaving.exists() else ""

    @property
    def _unsettled(self) -> str:
        waits = "the server was paused or alone, and has not heard from its group just now"
        return waits if self.watch.settles else ""

    def _replica(self, query: str, seen: Seen) -> str:
        if why := _not_in_group(seen.answer) or self._leaves or self._unsettled:
            return why
        try:
            most_s = float(parse_qs(query).get("lag", ["inf"])[0])
        except ValueError:
            most_s = math.nan
        if math.isnan(most_s) or most_s < 0:
            return "lag has to be a number of seconds, such as /replica?lag=10"
        return f"it is {seen.lag_s:.1f} s behind" if seen.lag_s > most_s else ""

    def _healthy(self, seen: Seen) -> str:
        answer, group = seen.answer, self.watch.member.group
        if answer.state == "ONLINE":
            # One that is not even registered is deployed after this one.
            wanted = [name for name in group.members if name in answer.view or self._is_registered(name)]
            if answer.online < len(wanted):
                return f"of {len(wanted)} members {answer.online} are ONLINE"
            makes = answer.role == "PRIMARY" and not self.keeper.has_accounts
            return "databases and accounts are not made yet" if makes else ""
        why = _not_in_group(answer)
        if answer.state == "OFFLINE" and answer.was_in_group and self._waits_for_others:
            return ""
        # Who begins the group is deployed last.
        if answer.state != "OFFLINE" or answer.was_in_group or group.own == group.first:
            return why
        lacks = self._cannot_wait()
        return lacks and f"{why}, and {lacks}"

    @property
    def _waits_for_others(self) -> bool:
        """Whether the group is to begin again, and one of the others is not even registered: all were stopped."""
        there = [said for name, said in self.keeper.peers.items() if self._is_registered(name)]
        outside = all(isinstance(said, Answer) and said.state == "OFFLINE" for said in there)
        return outside and len(there) < len(self.keeper.peers)

    def _cannot_wait(self) -> str:
        """Returns why a member that never was in the group does not wait for those that are deployed after it.

        Before a single server is stopped that becomes the first, the others have to reach each other. Of a group that
        had begun the others may be lost: then it waits for those that are made anew as it was.
        """
        peers, group = self.keeper.peers, self.watch.member.group
        if not peers:
            return "has not asked the others yet"
        answers = {name: said for name, said in peers.items() if isinstance(said, Answer)}
        if joined := [name for name, said in answers.items() if said.is_online]:
            return f"{joined[0]} is in the group"
        if any(said.was_in_group for said in answers.values()):
            return ""
        silent = {name: said for name, said in peers.items() if name not in answers and name != group.first}
        return next(
            (f"{name} does not answer it: {said}" for name, said in silent.items() if self._is_registered(name)), ""
        )

    def _is_registered(self, name: str) -> bool:
        return self.watch.member.hosts.has(name)


def _not_in_group(answer: Answer) -> str:
    if answer.state != "ONLINE":
        return f"the member is {answer.state}"
    if not answer.has_majority:
        return f"it sees {answer.reachable} of {answer.members} members"
    return ""


def serve(answers: Answers, address: str, port: int) -> ThreadingHTTPServer:
    """Answers from threads until the program ends. Raises OSError where the address is taken."""

    class Handler(BaseHTTPRequestHandler):
        timeout = _REQUEST_WITHIN_S
        server_version = "nomad-stateful-agent"
        sys_version = ""

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/":
                return self._answer(200, json.dumps(answers.everything()), "application/json")
            why = answers.why_not(parts.path, parts.query)
            if why is None:
                return self._answer(404, "there is /, /primary, /replica?lag=SECONDS and /healthy")
            return self._answer(503 if why else 200, why or "yes")

        def do_HEAD(self) -> None:
            self.do_GET()

        def _answer(self, status: int, text: str, kind: str = "text/plain; charset=utf-8") -> None:
            body = f"{text}\n".encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Says nothing: a router asks twice a second."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Says nothing of a client that went away."""

    server = Server((address, port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
