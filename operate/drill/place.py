"""The namespace that drills run in, and the lock by which one drill of a volume runs at a time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from nomad_stateful.nomad.api import NomadApi, NomadApiError, NomadError
from nomad_stateful.nomad.ownership import FOLDER
from operate.drill.model import DrillError, Json, Target

# Nomad's shortest; a drill that was killed holds its lock no longer than both together.
_TTL_S = 10
_LOCK_DELAY_S = 1
_RENEW_S = 3.0
_CONFLICT = 409
_MADE = {"made-by": "nomad-stateful drill"}


def refuse_live(namespace: str, live: str) -> None:
    """Raises DrillError where a drill would run beside what it drills."""
    if namespace == live:
        raise DrillError(
            f"--namespace is {namespace}, which the stack itself runs in: a drill has a namespace of its own. Leave it "
            "out (drill), or name another"
        )


def exists(nomad: NomadApi, namespace: str) -> bool:
    """Returns whether the namespace is there and the token may do something in it. Raises NomadError."""
    return _found(nomad, namespace) is not None


def _found(nomad: NomadApi, namespace: str) -> Json | None:
    try:
        found: Json | None = nomad.find(f"namespace/{namespace}")
    except NomadApiError as error:
        # A token without any capability in it does not learn whether it is there.
        if error.status != 403:
            raise
        return None
    return found


@contextmanager
def provided(nomad: NomadApi, namespace: str) -> Iterator[None]:
    """A context in which the namespace exists; one that a drill made is removed with the last drill in it.

    Raises DrillError where it is missing and the token may not make it, which takes a management token.
    """
    if not exists(nomad, namespace):
        try:
            nomad.put(
                f"namespace/{namespace}", {"Name": namespace, "Description": "Restore drills", "Meta": dict(_MADE)}
            )
        except NomadApiError as error:
            if error.status != 403:
                raise
            raise DrillError(
                f"there is no namespace {namespace} that this token may use, and only a management token can make one: "
                f"run `nomad namespace apply -description 'Restore drills' {namespace}` with that, and give the "
                "operator's policy its block of operate/nomad-policy.hcl; or name another with --namespace"
            ) from error
    try:
        yield
    finally:
        found = _found(nomad, namespace) or {}
        if (found.get("Meta") or {}) == _MADE:
            # Another drill may be in it, and then removes it.
            with suppress(NomadApiError):
                nomad.delete(f"namespace/{namespace}")


class Lock:
    """The right to drill a volume: a variable's lock, which Nomad frees when it is not renewed."""

    def __init__(self, nomad: NomadApi, target: Target) -> None:
        self._nomad = nomad
        self._namespace = target.namespace
        self._path = f"{FOLDER}/{target.id}"
        self._id = ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)

    def take(self) -> bool:
        """Takes the lock; returns whether it was free. Raises NomadError."""
        try:
            taken = self._put("lock-acquire", {"TTL": f"{_TTL_S}s", "LockDelay": f"{_LOCK_DELAY_S}s"})
        except NomadApiError as error:
            if error.status == _CONFLICT:
                return False
            raise
        self._id = str(taken["Lock"]["ID"])
        self._thread.start()
        return True

    def free(self) -> None:
        """Frees the lock and removes its variable; best effort, since Nomad frees it anyway."""
        self._ended.set()
        if not self._id:
            return
        self._thread.join()
        with suppress(NomadError):
            self._put("lock-release", {"ID": self._id})
            self._nomad.delete(f"var/{self._path}", namespace=self._namespace)

    def _renew(self) -> None:
        while not self._ended.wait(_RENEW_S):
            try:
                self._put("lock-renew", {"ID": self._id})
            except NomadError as error:
                print(f"    the drill's lock is not renewed: {error}", file=sys.stderr)

    def _put(self, operation: str, lock: dict[str, str]) -> dict[str, dict[str, str]]:
        # Nomad takes items with an acquisition only.
        items = {"what": "a drill"} if operation == "lock-acquire" else None
        body = {"Namespace": self._namespace, "Path": self._path, "Items": items, "Lock": lock}
        params: dict[str, Any] = {"namespace": self._namespace, operation: ""}
        found: dict[str, dict[str, str]] = self._nomad.put(f"var/{self._path}", body, **params)
        return found
