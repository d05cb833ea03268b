"""Statements of IAM policy documents."""

from typing import Any

Statement = dict[str, Any]


def allow(
    sid: str, actions: list[str], resource: str | list[str], condition: dict[str, Any] | None = None
) -> Statement:
    """Returns a statement that allows the actions on the resource."""
    statement: Statement = {"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resource}
    return statement if condition is None else {**statement, "Condition": condition}


def document(statements: list[Statement]) -> dict[str, Any]:
    """Returns the policy document of the statements."""
    return {"Version": "2012-10-17", "Statement": statements}
