"""A Nomad that answers as it is told, for what a real one does only in rare moments."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.providers.nomad_server import Reply, Request, serving

Answer = tuple[int, Any]


@dataclass
class FakeNomad:
    """Answers by method and path; of a list of answers the last one stays."""

    answers: dict[str, list[Answer]] = field(default_factory=dict)
    requests: list[tuple[str, Any]] = field(default_factory=list)  # "PUT /v1/…?query", body
    headers: list[dict[str, str]] = field(default_factory=list)
    address: str = ""

    def answer(self, request: str, *answers: Answer) -> None:
        self.answers[request] = list(answers)

    def asked(self, start: str) -> list[tuple[str, Any]]:
        return [item for item in self.requests if item[0].startswith(start)]

    def take(self, method: str, path: str) -> Answer:
        known = self.answers.get(f"{method} {path.partition('?')[0]}")
        if not known:
            return 404, "not found"
        return known.pop(0) if len(known) > 1 else known[0]


@contextlib.contextmanager
def fake_nomad() -> Iterator[FakeNomad]:
    fake = FakeNomad()

    def reply_to(request: Request) -> Reply:
        fake.requests.append((f"{request.method} {request.path}", request.document))
        fake.headers.append(request.headers)
        return Reply(*fake.take(request.method, request.path))

    with serving(reply_to) as fake.address:
        yield fake
