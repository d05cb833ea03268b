"""Variables of a FakeNomad: written, by check-and-set too, locked, and taken away."""

from __future__ import annotations

import itertools
from typing import Any

from tests.fake_nomad.answers import Answer, Asked, Records, refused

_ids = (f"lock-{number}" for number in itertools.count())


def write(records: Records, asked: Asked, index: int) -> Answer:
    """Writes, locks or deletes a variable. No lock is freed here but by its holder."""
    before = records.get(asked.key())
    for operation in ("lock-acquire", "lock-renew", "lock-release"):
        if operation in asked.query:
            return _lock(records, asked, operation, index)
    there = (before or {"ModifyIndex": 0})["ModifyIndex"]
    if "cas" in asked.query and int(asked.query["cas"]) != there:
        return 409, before or {"Path": _path(asked), "Namespace": asked.namespace, "ModifyIndex": 0}
    if before and before.get("Lock"):
        return 409, before
    if asked.method == "DELETE":
        records.pop(asked.key(), None)
        return 204, ""
    if not asked.body.get("Items"):
        return 400, "variable missing required Items object"
    return 200, _kept(records, asked, asked.body["Items"], index)


def _lock(records: Records, asked: Asked, operation: str, index: int) -> Answer:
    before = records.get(asked.key()) or {}
    held = (before.get("Lock") or {}).get("ID", "")
    given = asked.body["Lock"]
    if operation == "lock-acquire":
        if held:
            return 409, before
        return 200, _kept(records, asked, asked.body["Items"], index, Lock=given | {"ID": next(_ids)})
    if not before:
        return refused("variable doesn't exist", 404)
    if held != given["ID"] or not held:
        return refused("attempting to modify locked variable" if held else "variable doesn't hold a lock", 409)
    if operation == "lock-release":
        if asked.body.get("Items"):
            return refused("lock release operation doesn't take variable items", 400)
        del before["Lock"]
    return 200, {"Path": _path(asked), "Lock": given}


def _kept(records: Records, asked: Asked, items: Any, index: int, **more: Any) -> dict[str, Any]:
    found = {"Path": _path(asked), "Namespace": asked.namespace, "Items": items, "ModifyIndex": index, **more}
    records[asked.key()] = found
    return found


def _path(asked: Asked) -> str:
    return asked.path.removeprefix("var/")
