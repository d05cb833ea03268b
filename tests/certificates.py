"""Certificates for tests: one to read, whose key is nowhere, and those of an authority of one's own."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIIBnjCCAUSgAwIBAgIUKZTTLdiJHCNf1OPfaxp7DKDM9bswCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKZGIuZXhhbXBsZTAgFw0yNjExMjQxNDA3MjZaGA8yMTI2MTAz
MTE0MDcyNlowFTETMBEGA1UEAwwKZGIuZXhhbXBsZTBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABAbMdEdaOEXQIy4+G6PbmjI2uyAm+Y52uo522YUbAkK4PxjU08wh
qw3GXF3O7N/CBXMqxgLQD8nP2vWHrYd6gQOjcDBuMB0GA1UdDgQWBBQH4dCRY4Ma
8QKC4hutb+3eHv0XUTAfBgNVHSMEGDAWgBQH4dCRY4Ma8QKC4hutb+3eHv0XUTAP
BgNVHRMBAf8EBTADAQH/MBsGA1UdEQQUMBKCCmRiLmV4YW1wbGWHBAoAAAEwCgYI
KoZIzj0EAwIDSAAwRQIhALzSxbNkHaPw1FHlAcnjC8XhgxqLZ7Paw6tlnwwY4Kvp
AiAsw4SlGgX92VJtiOTou2NaXGT6Cl9Sj7mG/puuM/pCTA==
-----END CERTIFICATE-----
"""
"""For db.example and 10.0.0.1."""


def _openssl(folder: Path, *words: str) -> None:
    done = subprocess.run(["openssl", *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@dataclass(frozen=True)
class Authority:
    """A folder with ca.pem, and what it issued: server-cert.pem and server-key.pem."""

    folder: Path

    @classmethod
    def made(cls, folder: Path, names: str = "DNS:db.example,IP:127.0.0.1") -> Authority:
        folder.mkdir()
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        _openssl(folder, "req", "-x509", *key, "-days", "2", "-subj", "/CN=A", "-keyout", "ca.key", "-out", "ca.pem")
        _openssl(folder, "req", *key, "-subj", "/CN=db.example", "-keyout", "server-key.pem", "-out", "server.csr")
        (folder / "names").write_text(f"subjectAltName={names}\n")
        issuer = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
        _openssl(folder, "x509", "-req", "-in", "server.csr", *issuer, "-out", "server-cert.pem")
        return cls(folder)

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()
