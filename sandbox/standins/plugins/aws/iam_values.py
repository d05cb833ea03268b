"""What the IAM types have in common: names, documents as IAM sends them, and its word for "not found"."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

from nomad_stateful.plugin_server.plugin import CheckFailure, Props
from sandbox.standins.plugins.aws.inputs import is_zero
from sandbox.standins.plugins.aws.policy_json import go_json
from sandbox.standins.plugins.aws.resource import known

NOT_FOUND: Final = ("NoSuchEntity", "NoSuchEntityException")
NOT_FOUND_TIMEOUT_S: Final = 120  # IAM shows a new thing everywhere within this time

_NAME: Final = re.compile(r"^[\w+=,.@-]*$", re.ASCII)
_SUFFIX_LENGTH: Final = 26


def name_rules(inputs: Props, max_length: int) -> Iterator[CheckFailure]:
    """Yields what is wrong with `name` and `namePrefix`."""
    if not is_zero(inputs.get("name")) and not is_zero(inputs.get("namePrefix")):
        yield CheckFailure("", '"name": conflicts with namePrefix: set one of them')
    for key, limit in (("name", max_length), ("namePrefix", max_length - _SUFFIX_LENGTH)):
        value = known(inputs, key) or ""
        if not _NAME.match(value):
            yield CheckFailure("", f"invalid value for {key} '{value}': use letters, digits and _+=,.@- only")
        if len(value) > limit:
            yield CheckFailure("", f"{key} '{value}' is longer than {limit} characters")


def unique_from_prefix(prefix: str) -> str:
    """Returns a name that starts with `prefix` and ends in a time and a random part."""
    return f"{prefix}{time.strftime('%Y%m%d%H%M%S', time.gmtime())}{secrets.token_hex(6)}"


def document_text(document: Any) -> str:
    """Returns a policy document as text: IAM sends it URL-quoted, and botocore may have parsed it."""
    return unquote(document) if isinstance(document, str) else go_json(document or {})
