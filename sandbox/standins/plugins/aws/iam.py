"""What the IAM types have in common: a name, a policy document, and that IAM lists what was made only later."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar, Final
from urllib.parse import unquote

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import CheckFailure, InitFailed, Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws import policy_json
from sandbox.standins.plugins.aws.errors import aws_errors
from sandbox.standins.plugins.aws.resource import AwsResource, known
from sandbox.standins.plugins.aws.waits import NotYet, Wait, wait_until

NOT_FOUND: Final = ("NoSuchEntity", "NoSuchEntityException")
NOT_FOUND_TIMEOUT_S: Final = 120  # IAM shows a new thing everywhere within this time

_NAME: Final = re.compile(r"^[\w+=,.@-]*$", re.ASCII)
_MAX_DESCRIPTION: Final = 1000


def document_text(document: Any) -> str:
    """Returns a policy document as text: IAM sends it URL-quoted, and botocore may have parsed it."""
    return unquote(document) if isinstance(document, str) else policy_json.go_json(document or {})


class IamDocument(AwsResource):
    """A type with a name, one policy document, and perhaps a description."""

    autonamed = True
    kind: ClassVar[str]
    """As the provider writes it: "Role Policy"."""
    document: ClassVar[str] = "policy"
    """The input that holds the document."""
    max_name: ClassVar[int]
    max_document: ClassVar[int]
    counts_space: ClassVar[bool] = True
    """Whether white space counts for the document's length."""

    def rules(self, inputs: Props) -> Iterator[CheckFailure]:
        name = known(inputs, "name") or ""
        if not _NAME.match(name):
            yield CheckFailure("", f"invalid value for name '{name}': use letters, digits and _+=,.@- only")
        if len(name) > self.max_name:
            yield CheckFailure("", f"name '{name}' is longer than {self.max_name} characters")
        text = known(inputs, self.document)
        if text is not None:
            yield from self._document_rules(text)
        if len(known(inputs, "description") or "") > _MAX_DESCRIPTION:
            yield CheckFailure("", f"description: AWS takes at most {_MAX_DESCRIPTION} characters")

    def _document_rules(self, text: str) -> Iterator[CheckFailure]:
        if reason := policy_json.problem(text):
            words = re.sub(r"(?=[A-Z])", "_", self.document).lower()
            yield CheckFailure("", f'"{words}" {reason}')
        elif len(text if self.counts_space else "".join(policy_json.normalise(text).split())) > self.max_document:
            note = "" if self.counts_space else ", white space not counted"
            yield CheckFailure("", f"{self.document}: AWS takes at most {self.max_document} characters{note}")

    def same(self, name: str, old: Any, new: Any) -> bool:
        return policy_json.equivalent(old, new) if name == self.document else super().same(name, old, new)

    def made(self, ctx: Context, id: str, inputs: Props, **told: str) -> tuple[str, Props]:
        """Returns id and outputs of what was just made; InitFailed keeps it where IAM does not list it in time."""
        try:
            return id, self.settled(ctx, id, inputs)
        except ProviderError as error:
            partial = self.plain(inputs) | {"id": id, "name": inputs["name"], **told}
            raise InitFailed(id, partial, [str(error)], inputs) from None

    def settled(self, ctx: Context, id: str, inputs: Props) -> Props:
        """Returns the outputs of what was just made or changed, once IAM lists it."""

        def probe() -> Props:
            outputs = self.find(id, inputs)
            if outputs is None:
                raise NotYet("IAM does not list it yet")
            return outputs

        with aws_errors(f"reading IAM {self.kind} ({id})"):
            wait = Wait(f"IAM {self.kind.lower()} {id}", "IAM lists it", NOT_FOUND_TIMEOUT_S)
            return wait_until(ctx, wait, probe)
