"""TLS to Nomad: certificates from files or from text, and messages for failed handshakes."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from nomad_stateful.errors import ProviderError

_TRUE: Final = frozenset({"1", "t", "true", "yes"})

# Field -> (key of the provider's configuration, variable of the environment): as in pulumi-nomad and Nomad's own CLI.
_NAMES: Final = {
    "ca_file": ("caFile", "NOMAD_CACERT"),
    "ca_path": ("", "NOMAD_CAPATH"),
    "ca_pem": ("caPem", ""),
    "cert_file": ("certFile", "NOMAD_CLIENT_CERT"),
    "cert_pem": ("certPem", ""),
    "key_file": ("keyFile", "NOMAD_CLIENT_KEY"),
    "key_pem": ("keyPem", ""),
    "server_name": ("", "NOMAD_TLS_SERVER_NAME"),
    "skip_verify": ("skipVerify", "NOMAD_SKIP_VERIFY"),
}
CONFIG_FIELDS: Final = {key: name for name, (key, _) in _NAMES.items() if key}
"""Key of a provider's configuration -> field of TlsSettings."""
ENVIRONMENT: Final = {variable: name for name, (_, variable) in _NAMES.items() if variable}
"""Variable of the environment -> field of TlsSettings."""

# OpenSSL's reasons: a key that does not belong to the certificate, an answer that is no TLS.
_MISMATCH: Final = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH")
_NOT_TLS: Final = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")
# X509_V_ERR_…: HOSTNAME_MISMATCH, EMAIL_MISMATCH and IP_ADDRESS_MISMATCH; CERT_NOT_YET_VALID and CERT_HAS_EXPIRED.
_OTHER_NAME: Final = frozenset({62, 63, 64})
_NOT_NOW: Final = frozenset({9, 10})


class TlsError(ProviderError):
    """TLS settings that cannot be used, or a connection refused because of them: not a transient error."""


@dataclass(frozen=True)
class TlsSettings:
    """The CA to verify Nomad with, and the client certificate. Text (`…_pem`) takes precedence over a file."""

    ca_file: str = ""
    ca_path: str = ""
    ca_pem: str = ""
    cert_file: str = ""
    cert_pem: str = ""
    key_file: str = ""
    key_pem: str = field(default="", repr=False)
    server_name: str = ""
    skip_verify: bool = False

    @classmethod
    def of(cls, given: Mapping[str, object], environ: Mapping[str, str]) -> TlsSettings:
        """Returns the settings of non-empty values by field; what is not given comes from the environment."""
        values: dict[str, object] = {name: environ.get(variable, "") for variable, name in ENVIRONMENT.items()}
        values |= {name: value for name, value in given.items() if name in _NAMES and value not in (None, "")}
        skip = str(values.pop("skip_verify", "")).lower() in _TRUE
        return cls(**{name: str(value) for name, value in values.items()}, skip_verify=skip)

    def context(self) -> ssl.SSLContext:
        """Returns the context of a client's connections.

        Raises:
            TlsError: a file or text that cannot be used, by its key.
        """
        context = self._with_ca()
        if self.skip_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.has_certificate:
            self._load_certificate(context)
        return context

    @property
    def has_certificate(self) -> bool:
        """Whether any part of a client certificate is given."""
        return bool(self.cert_file or self.cert_pem or self.key_file or self.key_pem)

    def _with_ca(self) -> ssl.SSLContext:
        if self.ca_file and not self.ca_pem:
            _readable("ca_file", self.ca_file)
        if self.ca_path and not Path(self.ca_path).is_dir():
            raise _refused("ca_path", self.ca_path, "there is no such folder", "Name a folder of CA certificates")
        try:
            return ssl.create_default_context(
                cafile=(not self.ca_pem and self.ca_file) or None,
                capath=self.ca_path or None,
                cadata=self.ca_pem or None,
            )
        except (OSError, ValueError):  # ssl.SSLError is an OSError
            raise self._wrong("ca", "it holds no CA certificate in PEM form", "Name the cluster's CA") from None

    def _load_certificate(self, context: ssl.SSLContext) -> None:
        self._require_both()
        # OpenSSL reads a chain from files only, so text is written to temporary ones.
        with tempfile.TemporaryDirectory(prefix="nomad-tls-") as folder:
            cert = _as_file(Path(folder) / "cert.pem", self.cert_pem) or _readable("cert_file", self.cert_file)
            key = _as_file(Path(folder) / "key.pem", self.key_pem) or _readable("key_file", self.key_file)
            try:
                context.load_cert_chain(cert, key, password=_no_passphrase)
            except (OSError, ValueError) as error:
                raise self._unusable(error) from None

    def _require_both(self) -> None:
        given = {"cert": self.cert_pem or self.cert_file, "key": self.key_pem or self.key_file}
        for part, other in (("cert", "key"), ("key", "cert")):
            if not given[part]:
                rule = f"a client certificate needs it beside {_label(self._given(other))}"
                raise TlsError(f"{_label(f'{part}_file')} is not set: {rule}. Set both, or neither")

    def _unusable(self, error: OSError | ValueError) -> TlsError:
        if isinstance(error, ssl.SSLError) and any(known in _reason(error) for known in _MISMATCH):
            remedy = "Name the key that was made with the certificate"
            return self._wrong("key", f"it is not the key of {_label(self._given('cert'))}", remedy)
        if _ENCRYPTED in str(error):
            return self._wrong("key", _ENCRYPTED, "Name a key without one")
        rule = f"it and {_label(self._given('cert'))} are not a private key and a certificate in PEM form"
        return self._wrong("key", rule, "Name the files of a client certificate")

    def _given(self, part: str) -> str:
        """Returns the field that gives a part (ca, cert, key)."""
        return f"{part}_pem" if getattr(self, f"{part}_pem") else f"{part}_file"

    def _wrong(self, part: str, rule: str, remedy: str) -> TlsError:
        name = self._given(part)
        if name.endswith("_pem"):
            return TlsError(f"{_label(name)} cannot be used: {rule}. {remedy}")
        return _refused(name, getattr(self, name) or "not set", rule, remedy)


_ENCRYPTED: Final = "it is protected by a passphrase"


def explain(error: BaseException, address: str, tls: TlsSettings) -> str:
    """Returns what a failed TLS connection means and what to do; empty when it failed for another reason."""
    failure = _failure_behind(error)
    if failure is None:
        return ""
    start = f"cannot reach Nomad at {address}: "
    if isinstance(failure, ssl.SSLCertVerificationError):
        return start + _unverified(failure, tls)
    reason = _reason(failure)
    if "ALERT" in reason and ("CERTIFICATE" in reason or "UNKNOWN_CA" in reason):
        return start + _unaccepted(tls)
    if any(known in reason for known in _NOT_TLS):
        return f"{start}it does not speak TLS. Use http:// in the address (NOMAD_ADDR), or turn TLS on in Nomad"
    return ""


def _failure_behind(error: BaseException | None) -> ssl.SSLError | None:
    """Returns OpenSSL's error that an HTTP client's was raised from."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error


def _reason(failure: ssl.SSLError) -> str:
    """Returns OpenSSL's name of the reason. Python knows no name of reasons newer than itself, whose text has it."""
    return failure.reason or str(failure).upper().replace(" ", "_")


def _unverified(failure: ssl.SSLCertVerificationError, tls: TlsSettings) -> str:
    if failure.verify_code in _OTHER_NAME:
        return (
            f"its certificate was made for another name ({str(failure.verify_message).rstrip('.')}). Use an address "
            "that is in the certificate, or set NOMAD_TLS_SERVER_NAME to a name that is, such as server.global.nomad"
        )
    if failure.verify_code in _NOT_NOW:
        return "its certificate is not valid today (expired, or the clock is wrong). Renew it on the server"
    used = next((name for name in ("ca_pem", "ca_file", "ca_path") if getattr(tls, name)), "")
    shown = f" {getattr(tls, used)!r}" if used and used != "ca_pem" else ""
    known = f"the CA of {_label(used)}{shown}" if used else "any CA of this machine"
    return f"its certificate was not signed by {known}. Set {_label('ca_file')} to the cluster's CA certificate"


def _unaccepted(tls: TlsSettings) -> str:
    names = f"{_label('cert_file')} and {_label('key_file')}"
    if not tls.has_certificate:
        return f"it asks for a client certificate. Set {names}"
    shown = _label("cert_pem") if tls.cert_pem else f"{_label('cert_file')} {tls.cert_file!r}"
    return f"it does not accept the client certificate of {shown}. Set {names} to a valid one that its CA signed"


def _label(name: str) -> str:
    key, variable = _NAMES[name]
    return f"{key} ({variable})" if key and variable else key or variable


def _refused(name: str, value: str, rule: str, remedy: str) -> TlsError:
    # The text of a file in the place of its path, which may be that of a key.
    shown = "a text in PEM" if "-----BEGIN" in value else repr(value)
    return TlsError(f"{_label(name)} is {shown}: {rule}. {remedy}")


def _readable(name: str, path: str) -> str:
    try:
        with Path(path).open("rb"):
            return path
    except OSError as error:
        raise _refused(name, path, f"it cannot be read ({error.strerror})", "Name a PEM file you may read") from None


def _as_file(path: Path, text: str) -> str:
    if text:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        return str(path)
    return ""


def _no_passphrase() -> str:
    # Without this OpenSSL would prompt at the terminal.
    raise ValueError(_ENCRYPTED)
