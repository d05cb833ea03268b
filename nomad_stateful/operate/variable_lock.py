"""The lock of a Nomad variable, which Nomad frees when its holder does not renew it any more.

https://developer.hashicorp.com/nomad/docs/concepts/variables#locks
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from nomad_stateful.nomad.api import NomadApi, NomadApiError, NomadError, is_transient
from nomad_stateful.waiting import repeat

TTL_S = 10
"""Time to live: Nomad's shortest."""
FREED_AFTER_S = 21
"""When Nomad frees a lock that is not renewed: after twice the time to live, and the delay."""
_LOCK_DELAY_S = 1
_RENEW_S = 2.5
_CONFLICT = 409


class VariableLock:
    """One lock; a process that ends frees it, and Nomad frees that of one that was killed."""

    def __init__(self, nomad: NomadApi, namespace: str, path: str, items: Mapping[str, str]) -> None:
        """Takes what others may read of its holder."""
        self._nomad = nomad
        self._namespace = namespace
        self._path = path
        self._items = dict(items)
        self._id = ""
        self.lost = False
        """Whether somebody else took it, after Nomad had freed it: it could not be renewed in time."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=repeat, args=(self._renew, self._ended, _RENEW_S), daemon=True)

    def take(self) -> bool:
        """Takes the lock; returns whether it was free. Raises NomadError."""
        if not self._acquire():
            return False
        self._thread.start()
        return True

    def holder(self) -> Mapping[str, str]:
        """Returns what is said of whoever has it; nothing where it is free. Raises NomadError."""
        found = self._nomad.find(f"var/{self._path}", namespace=self._namespace) or {}
        return found.get("Items") or {}

    def free(self) -> None:
        """Frees the lock and removes its variable; best effort, since Nomad frees it anyway."""
        self._ended.set()
        if not self._id:
            return
        self._thread.join()
        with suppress(NomadError):
            self._put("lock-release", {"ID": self._id})
            self._nomad.delete(f"var/{self._path}", namespace=self._namespace)

    def _acquire(self) -> bool:
        try:
            taken = self._put("lock-acquire", {"TTL": f"{TTL_S}s", "LockDelay": f"{_LOCK_DELAY_S}s"})
        except NomadApiError as error:
            if error.status == _CONFLICT:
                return False
            raise
        self._id = str(taken["Lock"]["ID"])
        return True

    def _renew(self) -> float:
        try:
            self._renew_once()
        except NomadError as error:
            print(f"    the lock {self._path} is not renewed: {error}", file=sys.stderr)
        return _RENEW_S

    def _renew_once(self) -> None:
        try:
            self._put("lock-renew", {"ID": self._id})
        except NomadApiError as error:
            if is_transient(error):
                raise
            # Nomad has freed it, as after a long pause of this machine.
            self.lost = not self._acquire()

    def _put(self, operation: str, lock: dict[str, str]) -> dict[str, dict[str, str]]:
        # Nomad takes items with an acquisition only.
        items = self._items if operation == "lock-acquire" else None
        body = {"Namespace": self._namespace, "Path": self._path, "Items": items, "Lock": lock}
        params: dict[str, Any] = {"namespace": self._namespace, operation: ""}
        found: dict[str, dict[str, str]] = self._nomad.put(f"var/{self._path}", body, **params)
        return found
