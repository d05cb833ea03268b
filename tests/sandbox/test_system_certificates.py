"""`make bootstrap` behind a company's proxy, whose CA is among the system's certificates alone."""

from __future__ import annotations

import hashlib
import ipaddress
import os
import shutil
import ssl
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sandbox.settings import PROJECT
from tools.wheel import uv

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]
SYSTEM = Path("/etc/ssl/certs/ca-certificates.crt")
NOT_SET = ("SSL_CERT_FILE", "SSL_CERT_DIR", "UV_SYSTEM_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def certify(folder: Path) -> tuple[Path, Path]:
    """A CA's certificate, and what a server on loopback shows that it has certified."""
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("company", "proxy")]
    made = []
    for key, name, is_ca in zip(keys, names, (True, False), strict=True):
        begun = datetime.now(UTC) - timedelta(hours=1)
        builder = x509.CertificateBuilder(names[0], name, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(begun).not_valid_after(begun + timedelta(days=1))
        builder = builder.add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        if not is_ca:
            address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
            builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
        made.append(builder.sign(keys[0], hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    private = keys[1].private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "ca.pem").write_bytes(made[0])
    (folder / "server.pem").write_bytes(made[1] + private)
    return folder / "ca.pem", folder / "server.pem"


def put_wheel(index: Path, name: str, content: dict[str, str]) -> str:
    """Puts a package into the index; its line in a lock file."""
    wheel = index / "simple" / name / f"{name}-1-py3-none-any.whl"
    wheel.parent.mkdir(parents=True)
    tag = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    own = {"METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n", "WHEEL": tag, "RECORD": ""}
    with zipfile.ZipFile(wheel, "w") as packed:
        for path, text in {**content, **{f"{name}-1.dist-info/{key}": text for key, text in own.items()}}.items():
            entry = zipfile.ZipInfo(path)
            entry.external_attr = 0o100755 << 16  # a file that can be run
            packed.writestr(entry, text)
    (wheel.parent / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>')
    return f"{name}==1 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone that needs one package; its uv is the real one behind a script, out of the same index."""
    folder = tmp_path / "clone"
    (folder / "tools").mkdir(parents=True)
    shutil.copy(PROJECT / "tools/bootstrap.sh", folder / "tools")
    shutil.copy(PROJECT / "pyproject.toml", folder)
    script = f'#!/bin/sh\nexec {uv()} "$@"\n'
    (folder / "tools/uv-requirements.txt").write_text(put_wheel(tmp_path, "uv", {"uv-1.data/scripts/uv": script}))
    (folder / "requirements.lock").write_text(put_wheel(tmp_path, "tiny", {"tiny.py": ""}))
    return folder


@pytest.fixture
def company(tmp_path: Path, clone: Path) -> Iterator[tuple[Path, str]]:
    """The company's CA, and the index behind a server that it certified."""
    authority, shown = certify(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(shown)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield authority, f"https://127.0.0.1:{server.server_address[1]}/simple"
        server.shutdown()
        thread.join()


def bootstrap(clone: Path, index: str, trusted: Path) -> subprocess.CompletedProcess[str]:
    """Runs the script where the system trusts these certificates, and nothing in the shell names any."""
    env = {key: value for key, value in os.environ.items() if key not in NOT_SET}
    env |= {"PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0", "UV_HTTP_RETRIES": "0", "PIP_INDEX_URL": index}
    env |= {"UV_DEFAULT_INDEX": index, "UV_NO_CACHE": "1", "XDG_CACHE_HOME": str(clone.parent / "cache")}
    script = f"mount --bind {trusted} {SYSTEM} && exec tools/bootstrap.sh"
    words = ["unshare", "--mount", "sh", "-c", script]
    return subprocess.run(words, cwd=clone, env=env, capture_output=True, text=True, check=False)


def test_pip_and_uv_trust_what_the_system_trusts(clone: Path, company: tuple[Path, str]) -> None:
    authority, index = company
    done = bootstrap(clone, index, trusted=authority)
    assert done.returncode == 0, done.stderr
    assert list(clone.glob(".venv/lib/python*/site-packages/tiny.py"))


def test_a_proxy_that_the_system_does_not_trust_is_not_trusted(clone: Path, company: tuple[Path, str]) -> None:
    _, index = company
    done = bootstrap(clone, index, trusted=SYSTEM)
    assert done.returncode == 1
    assert "that the system trusts the proxy's certificate" in done.stderr
