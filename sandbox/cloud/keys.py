"""The keys that the sandbox gave out: the deployer's own, IAM users', and the sessions of roles."""

from __future__ import annotations

from datetime import UTC
from typing import Final

from moto.iam.models import iam_backends
from moto.sts.models import sts_backends

from sandbox.cloud.credentials import AwsCredentials
from sandbox.cloud.signatures import Key, KeyOf

_PARTITION: Final = "aws"


def given_out(own: AwsCredentials) -> KeyOf:
    """Finds a key among them; what STS and IAM gave out is looked up as it is now."""

    def key_of(access_key_id: str) -> Key | None:
        if access_key_id == own.access_key_id:
            return Key(own.secret_access_key)
        return _of_session(access_key_id) or _of_user(access_key_id)

    return key_of


def _of_session(access_key_id: str) -> Key | None:
    for account in list(sts_backends.values()):
        session = account[_PARTITION].get_assumed_role_from_access_key(access_key_id)
        if session is not None:
            ends = session.expiration if session.expiration.tzinfo else session.expiration.replace(tzinfo=UTC)
            return Key(session.secret_access_key, session.session_token, ends)
    return None


def _of_user(access_key_id: str) -> Key | None:
    for account in list(iam_backends.values()):
        for user in list(account[_PARTITION].users.values()):
            for key in user.access_keys:
                if key.access_key_id == access_key_id and key.status == "Active":
                    return Key(key.secret_access_key)
    return None
