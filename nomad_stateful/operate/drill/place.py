"""The namespace that drills run in, and the lock by which one drill of a volume runs at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from nomad_stateful.nomad.api import NomadApi, NomadApiError
from nomad_stateful.nomad.ownership import FOLDER
from nomad_stateful.operate.drill.model import DrillError, Json, Target
from nomad_stateful.operate.variable_lock import VariableLock

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
                "operator's policy its block of nomad_stateful/operate/nomad-policy.hcl; or name another with "
                "--namespace"
            ) from error
    try:
        yield
    finally:
        found = _found(nomad, namespace) or {}
        if (found.get("Meta") or {}) == _MADE:
            # Another drill may be in it, and then removes it.
            with suppress(NomadApiError):
                nomad.delete(f"namespace/{namespace}")


def lock(nomad: NomadApi, target: Target) -> VariableLock:
    """Returns the right to drill a volume."""
    return VariableLock(nomad, target.namespace, f"{FOLDER}/{target.id}", {"what": "a drill"})
