"""Rules: IAM policies name their resources."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from policy.resource import UNKNOWN, Resource
from policy.rule import Config, ResourceRule, strings

POLICY_TYPES = frozenset(
    {
        "aws:iam/policy:Policy",
        "aws:iam/rolePolicy:RolePolicy",
        "aws:iam/userPolicy:UserPolicy",
        "aws:iam/groupPolicy:GroupPolicy",
    }
)
ROLE = "aws:iam/role:Role"
# Actions without resource-level permissions.
UNSCOPED_ACTIONS = ["ec2:Describe*", "kms:ListAliases", "kms:ListKeys", "sts:GetCallerIdentity"]


def check_resources(resource: Resource, config: Config) -> Iterable[str]:
    """Yields statements that allow something on every resource, although the actions could be limited."""
    for path, document in _documents(resource):
        statements = _statements(document)
        if statements is None:
            yield f"{path} is not a policy document in JSON"
            continue
        for index, statement in enumerate(statements):
            wide = _wide(statement)
            actions = _unexplained(statement, config) if wide else []
            if actions:
                where = statement.get("Sid") or f"Statement[{index}]"
                yield f"{path}, statement {where}: {wide} for {', '.join(actions)}"


def _documents(resource: Resource) -> Iterator[tuple[str, Any]]:
    if resource.type in POLICY_TYPES and resource.props.get("policy") not in (None, UNKNOWN):
        yield "policy", resource.props["policy"]
    inline = resource.props.get("inlinePolicies") if resource.type == ROLE else None
    for index, item in enumerate(inline if isinstance(inline, list) else []):
        if isinstance(item, Mapping) and item.get("policy") not in (None, UNKNOWN):
            yield f"inlinePolicies[{index}].policy", item["policy"]


def _statements(document: Any) -> list[dict[str, Any]] | None:
    try:
        parsed = json.loads(document) if isinstance(document, str) else document
    except ValueError:
        return None
    found = _list(parsed.get("Statement")) if isinstance(parsed, Mapping) else []
    return found if found and all(isinstance(item, Mapping) for item in found) else None


def _wide(statement: Mapping[str, Any]) -> str:
    """Returns what makes the statement apply to every resource; empty when it does not."""
    if statement.get("Effect") != "Allow":
        return ""
    if "NotResource" in statement:
        return "NotResource, which is everything else,"
    # The last part of arn:partition:service:region:account:resource.
    wide = [item for item in _list(statement.get("Resource")) if str(item).split(":", 5)[-1] == "*"]
    return f"Resource is {wide[0]}" if wide else ""


def _unexplained(statement: Mapping[str, Any], config: Config) -> list[str]:
    """Returns the statement's actions that need a reason for their resource and have none."""
    if str(config["reasons"].get(statement.get("Sid") or "", "")).strip():
        return []
    if "NotAction" in statement:
        return ["NotAction, which is every other action"]
    unscoped = [_pattern(action) for action in [*UNSCOPED_ACTIONS, *config["unscopedActions"]]]
    actions = [str(action) for action in _list(statement.get("Action"))]
    return [action for action in actions if not any(pattern.fullmatch(action) for pattern in unscoped)]


def _pattern(action: str) -> re.Pattern[str]:
    """Returns IAM's wildcards as a pattern; a wildcard in the matched action counts as a letter, so it never widens."""
    return re.compile(re.escape(action).replace(r"\*", ".*").replace(r"\?", "."), re.IGNORECASE)


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


RULES = [
    ResourceRule(
        name="iam-resources",
        sentence="IAM policies allow nothing on `*`, except actions without resource-level permissions.",
        remedy="name the resources, or give the statement a Sid and the reason in this rule's setting `reasons`.",
        settings={
            "reasons": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "Why a statement needs `*`, by its Sid.",
                "default": {},
            },
            "unscopedActions": strings(
                f"Further actions without resource-level permissions, besides {', '.join(UNSCOPED_ACTIONS)}.", []
            ),
        },
        check=check_resources,
    )
]
