"""AWS's errors as sentences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import botocore.exceptions as boto

from nomad_stateful.errors import ProviderError
from sandbox.settings import usage

T = TypeVar("T")

_REMEDY: Final = f"Check AWS_ENDPOINT_URL or aws:endpoints and the network (in the sandbox: `{usage.STATUS}`)"
_NO_CREDENTIALS: Final = (
    "no valid credential sources found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
    "or name a profile with AWS_PROFILE or aws:profile"
)


def error_code(error: Exception) -> str:
    """Returns AWS's code of an error ("InvalidVolume.NotFound"), "" for an error that AWS did not send."""
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


@contextmanager
def aws_errors(doing: str) -> Iterator[None]:
    """Turns errors of AWS, and our own, into one sentence that starts with what was being done."""
    try:
        yield
    except ProviderError as error:
        raise ProviderError(f"{doing}: {error}") from None
    except (boto.BotoCoreError, boto.ClientError) as error:
        raise ProviderError(f"{doing}: {explain(error)}") from None


def unless_gone(doing: str, call: Callable[[], T], absent: Collection[str]) -> T | None:
    """Returns what a call to AWS does, None where AWS answers with one of the codes that say: it is not there."""
    with aws_errors(doing):
        try:
            return call()
        except boto.ClientError as error:
            if error_code(error) in absent:
                return None
            raise


def explain(error: Exception) -> str:
    """Says what a botocore error means, without credentials and without the values of parameters."""
    match error:
        case boto.ClientError():
            text = _explain_refusal(error.response.get("Error", {}), error.operation_name)
        case boto.NoCredentialsError() | boto.PartialCredentialsError():
            text = _NO_CREDENTIALS
        case boto.ProfileNotFound():
            text = f"{error}. Check aws:profile, AWS_PROFILE and the shared configuration files"
        case boto.ConnectionError() | boto.HTTPClientError():
            text = f"cannot reach AWS at {_endpoint(error)}: {_failure(error)}. {_REMEDY}"
        case boto.ParamValidationError():
            # its text repeats parameter values, which may be secret
            text = "a value does not have the type that AWS takes for it"
        case _:
            text = str(error)
    return text


def _failure(error: Exception) -> str:
    match error:
        case boto.ConnectTimeoutError() | boto.ReadTimeoutError() | boto.ConnectionClosedError():
            return "it did not answer in time"
        case boto.SSLError():
            return "its TLS certificate could not be verified"
    reason = str(getattr(error, "kwargs", {}).get("error") or "")
    return "the connection was refused" if "refused" in reason else "the connection failed"


def _explain_refusal(error: Any, operation: str) -> str:
    code, message = str(error.get("Code", "")), str(error.get("Message", "")).strip()
    text = f"{code}: {message} ({operation})" if message else f"{code} ({operation})"
    if code in ("InvalidClientTokenId", "SignatureDoesNotMatch", "AuthFailure", "UnrecognizedClientException"):
        text += ". AWS does not accept these credentials: check access key and secret key"
    elif code.startswith("ExpiredToken"):
        text += ". Sign in again to get a new session token"
    return text


def _endpoint(error: Exception) -> str:
    url = urlsplit(str(getattr(error, "kwargs", {}).get("endpoint_url") or ""))
    port = f":{url.port}" if url.port else ""
    return f"{url.scheme}://{url.hostname}{port}" if url.hostname else "its endpoint"
