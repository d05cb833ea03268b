"""What a FakeNomad is told to do: what it keeps of it, and what it answers. It schedules nothing by itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.fake_nomad.answers import Answer, Asked, Records

Json = dict[str, Any]
_EVALUATED: Json = {"EvalID": "8f3c2a1b-0000-0000-0000-00000000eeee"}


def act(records: Records, asked: Asked) -> Answer | None:
    """Returns the answer; None where this is nothing that Nomad could be told."""
    for pattern, missing, action in _ACTIONS:
        match = re.fullmatch(pattern, asked.path)
        if match and asked.method == "PUT":
            path = match[1].removeprefix("client/")
            key = path if path.startswith(("node/", "allocation/")) else asked.key(path)
            if missing and key not in records:
                return 404, missing
            return 200, action(records, key, asked)
    return None


def _eligibility(records: Records, key: str, asked: Asked) -> Json:
    records[key] = records[key] | {"SchedulingEligibility": asked.body["Eligibility"]}
    return _EVALUATED | {"NodeModifyIndex": 1}


def _drain(records: Records, key: str, asked: Asked) -> Json:
    spec = asked.body["DrainSpec"]
    words = {"SchedulingEligibility": "eligible" if not spec and asked.body.get("MarkEligible") else "ineligible"}
    records[key] = records[key] | {"DrainStrategy": spec} | words
    return _EVALUATED | {"NodeModifyIndex": 1}


def _purge(records: Records, key: str, _asked: Asked) -> Json:
    del records[key]
    return {"EvalIDs": [], "NodeModifyIndex": 1}


def _stop(records: Records, key: str, _asked: Asked) -> Json:
    records[key] = records[key] | {"DesiredTransition": {"Migrate": True}}
    return dict(_EVALUATED)


def _namespace(records: Records, key: str, asked: Asked) -> Json:
    records[key] = dict(asked.body)
    return {}


def _dispatch(records: Records, key: str, asked: Asked) -> Json:
    parent = key.partition("@")[0].removeprefix("job/")
    token = asked.query.get("idempotency_token", "")
    runs = [one for one in records.values() if isinstance(one, dict) and one.get("ParentID") == parent]
    for run in runs:
        if token and run.get("DispatchIdempotencyToken") == token:
            return {"DispatchedJobID": run["ID"]}
    run = {"ID": f"{parent}/dispatch-{len(runs) + 1}", "ParentID": parent, "Namespace": asked.namespace}
    made = {"Type": "batch", "Dispatched": True, "Status": "pending", "Stop": False}
    records[asked.key(f"job/{run['ID']}")] = run | made | {"DispatchIdempotencyToken": token}
    return _EVALUATED | {"DispatchedJobID": run["ID"]}


def _done(_records: Records, _key: str, _asked: Asked) -> Json:
    return dict(_EVALUATED)


_ACTIONS: list[tuple[str, str, Callable[[Records, str, Asked], Json]]] = [
    (r"(node/[^/]+)/eligibility", "node not found", _eligibility),
    (r"(node/[^/]+)/drain", "node not found", _drain),
    (r"(node/[^/]+)/purge", "node not found", _purge),
    (r"(allocation/[^/]+)/stop", "alloc not found", _stop),
    (r"(client/allocation/[^/]+)/(?:restart|signal)", "alloc not found", _done),
    (r"(job/.+)/dispatch", "job not found", _dispatch),
    (r"(job/.+)/(?:evaluate|periodic/force|revert|stable)", "job not found", _done),
    (r"(job/.+)/versions/[^/]+/tag", "job not found", _done),
    (r"(deployment)/(?:allocation-health|fail|promote)/[^/]+", "", _done),
    (r"(namespace/[^/]+)", "", _namespace),
]
