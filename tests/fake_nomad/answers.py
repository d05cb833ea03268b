"""What a FakeNomad is asked, and what it keeps and answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Answer = tuple[int, Any]
Records = dict[str, Any]
EVERY = "*"
"""The namespace of a list of all of them."""


@dataclass(frozen=True)
class Asked:
    """A request; the path is that below /v1/, the namespace the body's or the query's."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Any = None
    namespace: str = "default"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def key(self, path: str = "") -> str:
        """Under which name the records hold what is at the path."""
        return record_key(path or self.path, self.namespace)


def record_key(path: str, namespace: str) -> str:
    """Under which name the records hold what is at a path of a namespace."""
    return path if namespace == "default" else f"{path}@{namespace}"


def refused(text: str, status: int = 500) -> Answer:
    """A refusal in Nomad's words."""
    return status, text


def several(*texts: str) -> str:
    """Errors as Nomad lists them."""
    errors = "errors" if len(texts) > 1 else "error"
    return f"{len(texts)} {errors} occurred:\n" + "".join(f"\t* {text}\n" for text in texts) + "\n"
