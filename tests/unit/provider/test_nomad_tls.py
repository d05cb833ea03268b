"""TLS towards Nomad: every wrong certificate has its sentence."""

import contextlib
import datetime as dt
import http.server
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from nomad_stateful.nomad.api import NomadApi, NomadError, NomadUnreachable
from nomad_stateful.nomad.tls import TlsSettings, explain

SERVER = "server.global.nomad"


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as files."""

    cert: Path
    key: Path


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common)])


def issue(folder: Path, name: str, issuer: Pair | None, **options: Any) -> Pair:
    """A certificate by an issuer, or a CA; `names` for its subject, `days` of validity, `passphrase` of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    signer: Any = key
    by = _name(name)
    if issuer:
        signer = serialization.load_pem_private_key(issuer.key.read_bytes(), None)
        by = x509.load_pem_x509_certificate(issuer.cert.read_bytes()).subject
    now = dt.datetime.now(dt.UTC)
    ends = now + dt.timedelta(days=options.get("days", 1))
    built = (
        x509.CertificateBuilder(by, _name(name), key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=5))
        .not_valid_after(ends)
        .add_extension(x509.SubjectAlternativeName(options.get("names", [x509.DNSName(name)])), critical=False)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .sign(signer, hashes.SHA256())
    )
    passphrase = options.get("passphrase", b"")
    hidden = serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
    pair = Pair(folder / f"{name}.pem", folder / f"{name}-key.pem")
    pair.cert.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    pair.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hidden))
    return pair


@contextlib.contextmanager
def serving(context: ssl.SSLContext | None) -> Iterator[int]:
    """The port of a server that answers everything with `{}`."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, format: str, *args: Any) -> None:
            return

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            return

    server = Server(("127.0.0.1", 0), Handler)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass(frozen=True)
class Cluster:
    """A server that asks for certificates, its CA, and a client certificate of that CA."""

    address: str
    folder: Path
    ca: Pair
    mine: Pair

    @property
    def settings(self) -> dict[str, Any]:
        return {"ca_file": str(self.ca.cert), "cert_file": str(self.mine.cert), "key_file": str(self.mine.key)}

    def said(self, **changes: Any) -> str:
        """What a request is refused with."""
        with pytest.raises(NomadError) as refused:
            ask(self.address, **{**self.settings, **changes})
        # What no waiting cures is not tried again.
        assert not isinstance(refused.value, NomadUnreachable)
        return str(refused.value)


def ask(address: str, **settings: Any) -> Any:
    with contextlib.closing(NomadApi(address, tls=TlsSettings(**settings))) as api:
        return api.get("nodes")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("tls")
    ca = issue(folder, "ca", None)
    names = [x509.DNSName(SERVER), x509.IPAddress(ip_address("127.0.0.1"))]
    its, mine = issue(folder, SERVER, ca, names=names), issue(folder, "mine", ca)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(ca.cert))
    context.load_cert_chain(its.cert, its.key)
    context.verify_mode = ssl.CERT_REQUIRED
    with serving(context) as port:
        yield Cluster(f"https://127.0.0.1:{port}", folder, ca, mine)


def test_files_and_texts_serve_alike(cluster: Cluster) -> None:
    assert ask(cluster.address, **cluster.settings) == {}
    texts: dict[str, Any] = {
        name.replace("_file", "_pem"): Path(path).read_text() for name, path in cluster.settings.items()
    }
    assert ask(cluster.address, **texts) == {}
    assert ask(cluster.address, **texts, ca_file="/no/such/file") == {}
    assert texts["key_pem"] not in repr(TlsSettings(**texts))


def test_a_name_that_is_in_the_certificate_serves_for_an_address_that_is_not(cluster: Cluster) -> None:
    assert ask(cluster.address, **cluster.settings, server_name=SERVER) == {}
    said = cluster.said(server_name="nomad.example")
    assert "its certificate was made for another name" in said
    assert "NOMAD_TLS_SERVER_NAME" in said


def test_skip_verify_takes_any_certificate(cluster: Cluster) -> None:
    assert ask(cluster.address, **{**cluster.settings, "ca_file": "", "skip_verify": True}) == {}


def test_a_server_of_another_ca_is_told_with_the_ca_that_was_used(cluster: Cluster) -> None:
    other = issue(cluster.folder, "other-ca", None)
    said = cluster.said(ca_file=str(other.cert))
    assert f"was not signed by the CA of caFile (NOMAD_CACERT) {str(other.cert)!r}" in said
    assert "any CA of this machine" in cluster.said(ca_file="")


def test_a_missing_and_an_unaccepted_client_certificate_are_two_things(cluster: Cluster) -> None:
    missing = cluster.said(cert_file="", key_file="")
    assert "it asks for a client certificate. Set certFile (NOMAD_CLIENT_CERT) and keyFile" in missing
    other = issue(cluster.folder, "foreign", issue(cluster.folder, "foreign-ca", None))
    said = cluster.said(cert_file=str(other.cert), key_file=str(other.key))
    assert f"it does not accept the client certificate of certFile (NOMAD_CLIENT_CERT) {str(other.cert)!r}" in said
    ended = issue(cluster.folder, "ended", cluster.ca, days=-1)
    assert "it does not accept" in cluster.said(cert_file=str(ended.cert), key_file=str(ended.key))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"ca_file": "/no/such/ca"}, "caFile (NOMAD_CACERT) is '/no/such/ca': it cannot be read (No such file"),
        ({"cert_file": "/no/such"}, "certFile (NOMAD_CLIENT_CERT) is '/no/such': it cannot be read"),
        ({"key_file": "/no/such"}, "keyFile (NOMAD_CLIENT_KEY) is '/no/such': it cannot be read"),
        ({"ca_file": __file__}, "it holds no CA certificate in PEM form"),
        ({"ca_pem": "nonsense"}, "caPem cannot be used: it holds no CA certificate"),
        ({"ca_path": "/no/such"}, "NOMAD_CAPATH is '/no/such': there is no such folder"),
        ({"key_file": ""}, "keyFile (NOMAD_CLIENT_KEY) is not set: a client certificate needs it beside certFile"),
        ({"cert_file": ""}, "certFile (NOMAD_CLIENT_CERT) is not set"),
        ({"key_file": __file__}, "are not a private key and a certificate in PEM form"),
        ({"key_pem": "nonsense"}, "keyPem cannot be used"),
        (
            {"key_file": "-----BEGIN PRIVATE KEY-----\nnonsense"},
            "keyFile (NOMAD_CLIENT_KEY) is a text in PEM: it cannot",
        ),
    ],
)
def test_what_cannot_be_used_is_named_with_rule_and_remedy(
    cluster: Cluster, changes: dict[str, str], said: str
) -> None:
    told = cluster.said(**changes)
    assert said in told
    assert "nonsense" not in told


def test_the_key_of_another_certificate_and_one_with_a_passphrase_are_refused_without_asking(cluster: Cluster) -> None:
    other = issue(cluster.folder, "another", cluster.ca)
    assert "it is not the key of certFile" in cluster.said(key_file=str(other.key))
    hidden = issue(cluster.folder, "hidden", cluster.ca, passphrase=b"sesame")
    assert "it is protected by a passphrase" in cluster.said(cert_file=str(hidden.cert), key_file=str(hidden.key))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (62, "its certificate was made for another name (in other words)"),
        (64, "its certificate was made for another name (in other words)"),
        (10, "its certificate is not valid today"),
        (9, "its certificate is not valid today"),
        (18, "was not signed by any CA of this machine"),
        (20, "was not signed by any CA of this machine"),
    ],
)
def test_a_certificate_is_explained_by_openssls_code_and_not_by_its_words(code: int, said: str) -> None:
    failure = ssl.SSLCertVerificationError(1, "the peer was not believed")
    failure.verify_code, failure.verify_message = code, "in other words"
    assert said in explain(_raised_from(failure), "https://n", TlsSettings())


@pytest.mark.parametrize(
    ("reason", "text", "said"),
    [
        ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "other words", "it asks for a client certificate"),
        ("TLSV1_ALERT_UNKNOWN_CA", "other words", "it asks for a client certificate"),
        ("WRONG_VERSION_NUMBER", "other words", "it does not speak TLS"),
        ("", "[SSL] record layer failure (_ssl.c:1006)", "it does not speak TLS"),
        ("UNEXPECTED_EOF_WHILE_READING", "certificate verify failed", ""),
    ],
)
def test_a_failed_handshake_is_explained_by_openssls_reason(reason: str, text: str, said: str) -> None:
    failure = ssl.SSLError(1, text)
    failure.reason = reason
    told = explain(_raised_from(failure), "https://n", TlsSettings())
    assert said in told
    assert bool(told) is bool(said)


def test_what_is_no_failure_of_tls_is_not_explained_by_its_words() -> None:
    assert explain(ConnectionError("certificate verify failed: hostname mismatch"), "https://n", TlsSettings()) == ""


def _raised_from(failure: ssl.SSLError) -> Exception:
    error = RuntimeError("the HTTP client's own words")
    error.__cause__ = ConnectionError("its transport's")
    error.__cause__.__cause__ = failure
    return error


def test_https_to_a_server_without_tls_is_told() -> None:
    with serving(None) as port, pytest.raises(NomadError, match=r"it does not speak TLS\. Use http://"):
        ask(f"https://127.0.0.1:{port}")


def test_the_environment_stands_in_for_what_is_not_given() -> None:
    env = {"NOMAD_CACERT": "a", "NOMAD_CLIENT_CERT": "b", "NOMAD_SKIP_VERIFY": "true", "NOMAD_TLS_SERVER_NAME": "n"}
    found = TlsSettings.of({"cert_file": "mine", "key_file": "", "skip_verify": None, "token": "t"}, env)
    assert found == TlsSettings(ca_file="a", cert_file="mine", server_name="n", skip_verify=True)
    assert not TlsSettings.of({"skip_verify": False}, env).skip_verify
