"""Reads the sandbox's record of API calls as questions to IAM."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.iam.evaluator import Request

NEW = "new"
"""Stands for the id of what is yet to be made; EC2's own placeholder is a wildcard, which would match too much."""


def calls(log: Path, caller_role: str) -> list[dict[str, Any]]:
    """The recorded EC2 calls made with credentials of a role, in order."""
    found = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return [call for call in found if call["service"] == "ec2" and call["caller"].startswith(f"{caller_role}/")]


def requests(recorded: Iterable[Mapping[str, Any]], account_id: str = "123456789012") -> list[Request]:
    """Every question of these calls, each once; AssertionError for a call of which EC2's questions are not known."""
    found: dict[Request, None] = {}
    for call in recorded:
        assert call["authorization"] is not None, f"the record does not know what EC2 asks about {call['action']}"
        for question in call["authorization"]:
            found[_request(question, f"arn:aws:sts::{account_id}:assumed-role/{call['caller']}", account_id)] = None
    return list(found)


def without_resource_tags(request: Request) -> Request:
    """The same question about a resource that carries no tags."""
    return replace(request, context=_Context({k: v for k, v in request.context.items() if "ResourceTag/" not in k}))


def without_request_tags(request: Request) -> Request:
    """The same question of a call that sets no tags."""
    kept = {k: v for k, v in request.context.items() if not k.startswith(("aws:RequestTag/", "aws:TagKeys"))}
    return replace(request, context=_Context(kept))


def _request(question: Mapping[str, Any], principal: str, account_id: str) -> Request:
    context: dict[str, str | tuple[str, ...]] = {
        f"ec2:ResourceTag/{key}": value for key, value in question["resource_tags"].items()
    }
    context |= {f"aws:RequestTag/{key}": value for key, value in question["request_tags"].items()}
    if question["request_tags"]:
        context["aws:TagKeys"] = tuple(sorted(question["request_tags"]))
    if question["create_action"]:
        context["ec2:CreateAction"] = question["create_action"]
    resource = question["resource"]
    if resource.endswith("/*"):
        resource = resource[:-1] + NEW
    return Request(question["action"], resource, _Context(context), principal, account_id)


class _Context(dict[str, str | tuple[str, ...]]):
    """Condition keys that can be part of a dictionary's key."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(sorted(self.items())))
