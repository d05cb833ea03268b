"""aws:iam/getPolicyDocument: a policy document as JSON text, made without any call to AWS."""

from __future__ import annotations

import zlib

from nomad_stateful.plugin_server.plugin import InvokeFailure, Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.functions.function import AwsFunction
from sandbox.standins.plugins.aws.policy_document import DEFAULT_VERSION, VERSIONS, DocumentError, render
from sandbox.standins.plugins.aws.policy_json import go_json
from sandbox.standins.plugins.aws.scope import not_implemented


class PolicyDocument(AwsFunction):
    """The id is the CRC-32 of the text."""

    token = "aws:iam/getPolicyDocument:getPolicyDocument"
    arguments = (
        "overrideJson", "overridePolicyDocuments", "policyId", "sourceJson", "sourcePolicyDocuments", "statements",
        "version",
    )  # fmt: skip

    def run(self, ctx: Context, args: Props) -> Props:
        for old in ("overrideJson", "sourceJson"):
            if args.get(old):
                raise InvokeFailure("", not_implemented(f"the deprecated argument '{old}' of {self.token}"))
        version = args.get("version") or DEFAULT_VERSION
        if version not in VERSIONS:
            raise InvokeFailure("version", f"expected version to be one of {', '.join(VERSIONS)}, got {version}")
        statements = [{"effect": "Allow", **statement} for statement in args.get("statements") or []]
        try:
            document = render(
                statements,
                version=version,
                policy_id=args.get("policyId") or "",
                sources=[text for text in args.get("sourcePolicyDocuments") or [] if text],
                overrides=[text for text in args.get("overridePolicyDocuments") or [] if text],
            )
        except DocumentError as error:
            raise InvokeFailure("", str(error)) from None
        text = go_json(document, indent=2)
        return {
            **args,
            **({"statements": statements} if statements else {}),
            "id": str(zlib.crc32(text.encode())),
            "json": text,
            "minifiedJson": go_json(document),
            "version": version,
        }
