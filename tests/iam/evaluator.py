"""What judges: an implementation of IAM's evaluation that knows each action's resource types and condition keys.

moto knows actions only. It runs as a program of its own, which npm installs into the cache as the lock file says.
"""

import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tools.toolchain import cache

Case = tuple[str, str, Mapping[str, Any]]
"""What is asked for, of what, and the condition keys with their values."""
HERE = Path(__file__).parent
PARTS = ("package.json", "package-lock.json", "judge.mjs")
PROGRAMS = ("node", "npm")
_ROOT = {"AWS": "arn:aws:iam::123456789012:root"}
_KEY_POLICY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": _ROOT, "Action": "kms:*", "Resource": "*"}],
}
"""That with which AWS makes a KMS key: it leaves the key to the account's policies."""


class EvaluatorError(Exception):
    """The evaluator cannot be installed, or a request is none that AWS knows."""


@dataclass(frozen=True)
class Request:
    """One question to IAM."""

    action: str
    resource: str
    context: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    """Condition keys and their values, several of a key that has several."""
    principal: str = "arn:aws:sts::123456789012:assumed-role/nomad-client/i-0123456789abcdef0"
    account_id: str = "123456789012"
    resource_policy: Mapping[str, Any] | None = None
    """The policy of the resource itself: a KMS key always has one."""


def missing() -> str:
    """Which program is missing here; empty when none is."""
    return ", ".join(name for name in PROGRAMS if shutil.which(name) is None)


def judge(policies: Sequence[Mapping[str, Any]], requests: Sequence[Request]) -> list[list[bool]]:
    """For each policy, which requests it allows; EvaluatorError for a key or an ARN that AWS does not know."""
    asked = {"policies": list(policies), "requests": [_shape(request) for request in requests]}
    done = subprocess.run(
        ["node", str(_installed() / "judge.mjs")],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode:
        raise EvaluatorError(done.stderr.strip())
    verdicts: list[list[dict[str, Any]]] = json.loads(done.stdout)
    errors = {verdict["error"] for row in verdicts for verdict in row if "error" in verdict}
    if errors:
        raise EvaluatorError("\n".join(sorted(errors)))
    return [[bool(verdict["allowed"]) for verdict in row] for row in verdicts]


def requests(cases: Iterable[Case]) -> list[Request]:
    """The cases as questions to IAM."""
    return [
        Request(action, resource, context, resource_policy=_KEY_POLICY if ":kms:" in resource else None)
        for action, resource, context in cases
    ]


def granted(policy: Mapping[str, Any], cases: Sequence[Case]) -> list[Case]:
    """Those of the cases that a policy allows."""
    [verdicts] = judge([policy], requests(cases))
    return [case for case, allowed in zip(cases, verdicts, strict=True) if allowed]


def of_statement(policy: Mapping[str, Any], sid: str, cases: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    """Those of the cases that one statement of a policy allows, and those that the others allow."""
    others = {**policy, "Statement": [one for one in policy["Statement"] if one["Sid"] != sid]}
    alone, rest = judge([only(policy, sid), others], requests(cases))
    verdicts = list(zip(cases, alone, rest, strict=True))
    return [case for case, by_it, _ in verdicts if by_it], [case for case, _, by_others in verdicts if by_others]


def only(policy: Mapping[str, Any], sid: str) -> dict[str, Any]:
    """The policy with one statement alone."""
    return {**policy, "Statement": [one for one in policy["Statement"] if one["Sid"] == sid]}


def _shape(request: Request) -> dict[str, Any]:
    shaped = asdict(request)
    shaped["accountId"] = shaped.pop("account_id")
    policy = shaped.pop("resource_policy")
    return shaped if policy is None else {**shaped, "resourcePolicy": policy}


def _installed() -> Path:
    root = cache.cache_root() / "iam"
    folder = root / cache.digest(*((HERE / part).read_bytes() for part in PARTS))
    if folder.is_dir():
        return folder
    with cache.locked(root):
        return cache.publish(folder, _install)


def _install(folder: Path) -> None:
    for part in PARTS:
        shutil.copy2(HERE / part, folder)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        raise EvaluatorError(f"`{' '.join(command)}` failed (exit code {done.returncode}):\n{done.stderr.strip()}")
