"""A server's certificate, and the names that it is for.

https://www.rfc-editor.org/rfc/rfc5280#section-4.1
"""

import base64
import re
from collections.abc import Iterator
from ipaddress import ip_address

from pydantic import Field

from nomad_stateful.program.settings.types import Section

_PEM = re.compile(r"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)
_EXTENSIONS = 0xA3
_SUBJECT_ALT_NAME = bytes.fromhex("551d11")
_DNS_NAME, _IP_ADDRESS = 0x82, 0x87
_PLAIN = re.compile(r"[A-Za-z0-9*._:-]+")


class TlsCertificate(Section):
    """A certificate that is not the server's own making, in PEM."""

    secret_fields = frozenset({"key"})
    public_fields = frozenset({"certificate", "ca"})

    certificate: str = Field(
        pattern=r"^\s*-----BEGIN CERTIFICATE-----",
        description="The server's certificate, followed by its intermediates.",
        json_schema_extra={"rule": "must be a certificate in PEM (-----BEGIN CERTIFICATE-----)"},
    )
    key: str = Field(description="Its private key. Set it with `pulumi config set --secret --path`.")
    ca: str | None = Field(
        None,
        pattern=r"^\s*-----BEGIN CERTIFICATE-----",
        description="The authority's certificate.",
        json_schema_extra={"rule": "must be a certificate in PEM (-----BEGIN CERTIFICATE-----)"},
    )

    @property
    def names(self) -> list[str]:
        """Names that the certificate has, for clients that verify one; of a wildcard one that it stands for."""
        try:
            return _names(self.certificate)
        except (ValueError, IndexError, StopIteration):
            return []

    @property
    def server_name(self) -> str:
        """The first of its names; empty where it has none."""
        return next(iter(self.names), "")


def _names(pem: str) -> list[str]:
    found = _PEM.search(pem)
    if found is None:
        return []
    [(_, whole)] = _parts(base64.b64decode(found[1]))
    signed = next(_parts(whole))[1]
    [(_, extensions)] = [part for tag, content in _parts(signed) if tag == _EXTENSIONS for part in _parts(content)]
    for _, extension in _parts(extensions):
        (_, kind), *_, (_, value) = _parts(extension)
        if kind == _SUBJECT_ALT_NAME:
            texts = [_text(tag, content) for _, names in _parts(value) for tag, content in _parts(names)]
            return [text for text in texts if _PLAIN.fullmatch(text)]
    return []


def _text(tag: int, content: bytes) -> str:
    """Returns a name as a client would ask for it: of a wildcard one that it stands for."""
    if tag == _IP_ADDRESS:
        return str(ip_address(content))
    return re.sub(r"^\*", "database", content.decode("ascii")) if tag == _DNS_NAME else ""


def _parts(der: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields tag and content of each value in a row."""
    at = 0
    while at < len(der):
        tag, length, at = der[at], der[at + 1], at + 2
        if length & 0x80:
            size = length & 0x7F
            length, at = int.from_bytes(der[at : at + size], "big"), at + size
        if at + length > len(der):
            raise ValueError("it is cut off")
        yield tag, der[at : at + length]
        at += length
