"""Credentials made up for one sandbox: AWS keys for its EC2 API and the passphrase of its Pulumi state."""

from __future__ import annotations

import json
import secrets
import string
from dataclasses import asdict, dataclass
from typing import Final

from sandbox.machine.private_files import create_private, read_text
from sandbox.settings import SandboxSettings

_UPPER: Final = string.ascii_uppercase + "234567"


@dataclass(frozen=True)
class AwsCredentials:
    """An access key of the sandbox's only account."""

    access_key_id: str
    secret_access_key: str


def aws_credentials(settings: SandboxSettings) -> AwsCredentials:
    """The sandbox's access key; made the first time."""
    path = settings.home / "aws-credentials.json"
    if not read_text(path):
        key_id = "AKIA" + "".join(secrets.choice(_UPPER) for _ in range(16))
        made = AwsCredentials(key_id, secrets.token_urlsafe(30))
        create_private(path, json.dumps(asdict(made)) + "\n")
    # The daemon makes it too: whoever comes second takes what the first one made.
    return AwsCredentials(**json.loads(read_text(path)))
