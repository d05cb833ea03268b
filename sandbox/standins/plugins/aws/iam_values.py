"""What the IAM types have in common: names, documents as IAM sends them, and its word for "not found"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

from nomad_stateful.plugin_server.plugin import CheckFailure, Props
from sandbox.standins.plugins.aws.policy_json import go_json
from sandbox.standins.plugins.aws.resource import known

NOT_FOUND: Final = ("NoSuchEntity", "NoSuchEntityException")
NOT_FOUND_TIMEOUT_S: Final = 120  # IAM shows a new thing everywhere within this time

_NAME: Final = re.compile(r"^[\w+=,.@-]*$", re.ASCII)


def name_rules(inputs: Props, max_length: int) -> Iterator[CheckFailure]:
    """Yields what is wrong with `name`."""
    name = known(inputs, "name") or ""
    if not _NAME.match(name):
        yield CheckFailure("", f"invalid value for name '{name}': use letters, digits and _+=,.@- only")
    if len(name) > max_length:
        yield CheckFailure("", f"name '{name}' is longer than {max_length} characters")


def document_text(document: Any) -> str:
    """Returns a policy document as text: IAM sends it URL-quoted, and botocore may have parsed it."""
    return unquote(document) if isinstance(document, str) else go_json(document or {})
