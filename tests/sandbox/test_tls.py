"""A sandbox with mutual TLS, and what else keeps strangers out: its files, its sockets, its tokens."""

import contextlib
import socket
import ssl
from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path

import httpx2
import pytest

from nomad_stateful.nomad.api import NomadApi, NomadApiError, NomadError
from nomad_stateful.nomad.tls import TlsSettings
from tests.providers.harness import Failed
from tests.sandbox import open_sockets, program_policy, secret_files
from tests.sandbox.program_policy import POLICY, STEPS, Plugins, grants, plugins_for, token_for
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad]

GRANTS = grants(POLICY.read_text())
# The first byte of a connection to that port.
RPC_IN_CLEAR, RPC_IN_TLS = b"\x01", b"\x04"
WITHOUT_CERTIFICATE = {"NOMAD_CLIENT_CERT": "", "NOMAD_CLIENT_KEY": ""}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    config = running.project / "sandbox.toml"
    config.write_text(config.read_text() + "tls = true\n")
    with running.up():
        yield running


@pytest.fixture(scope="module")
def home(stack: Running) -> Path:
    return stack.project / ".sandbox"


@pytest.fixture(scope="module")
def management(stack: Running, home: Path) -> Iterator[NomadApi]:
    api = NomadApi.from_env({"token": (home / "nomad/management.token").read_text().strip()}, stack.env)
    yield api
    api.close()


@pytest.fixture(scope="module")
def plugins(stack: Running, management: NomadApi) -> Iterator[Plugins]:
    with plugins_for(stack, management) as both:
        yield both


def api_error(stack: Running, **changes: str) -> str:
    """What a user is told when a part of the environment is changed."""
    with pytest.raises(NomadError) as refused, contextlib.closing(api_of(stack, **changes)) as api:
        api.get("nodes")
    return str(refused.value)


def api_of(stack: Running, **changes: str) -> NomadApi:
    return NomadApi.from_env(environ={**stack.env, **changes})


def test_mysql_answers_a_second_up_changes_nothing_and_the_preview_is_empty(stack: Running) -> None:
    assert stack.env["NOMAD_ADDR"] == f"https://{stack.ground.gateway}:4646"
    assert stack.sql(stack.server_endpoint(), "SELECT 1") == [(1,)]
    again = stack.sandbox("up", "--no-stack")
    assert again.returncode == 0, again.stderr
    assert "Nothing changed" in again.stdout
    preview = stack.run("pulumi", "preview", "--stack", "dev", "--expect-no-changes", "--non-interactive")
    assert preview.returncode == 0, preview.stdout + preview.stderr


def test_nomads_own_command_and_status_show_their_certificates(stack: Running) -> None:
    members = stack.run("nomad", "node", "status")
    assert members.stdout.count("ready") == 3, members.stderr
    assert "mysql-server" in stack.sandbox("status").stdout


@pytest.mark.parametrize("agent", ["the server", "a client"])
def test_plain_http_and_a_stranger_without_a_certificate_are_refused(stack: Running, agent: str) -> None:
    server = stack.env["NOMAD_ADDR"]
    address = server if agent == "the server" else f"https://{stack.server_endpoint().host}:4646"
    plain = httpx2.get(f"{address.replace('https', 'http')}/v1/status/leader", trust_env=False)
    assert plain.status_code == 400
    assert "it asks for a client certificate" in api_error(stack, NOMAD_ADDR=address, **WITHOUT_CERTIFICATE)


def test_agents_talk_to_the_server_in_tls_alone_and_as_agents(stack: Running, home: Path) -> None:
    rpc = (str(stack.ground.gateway), 4647)
    with socket.create_connection(rpc, timeout=10) as plain:
        plain.sendall(RPC_IN_CLEAR)
        assert plain.recv(1) == b"", "the server took it"
    ca, agent = stack.env["NOMAD_CACERT"], home / "nomad/tls/global-client-nomad"
    member = TlsSettings(ca_file=ca, cert_file=f"{agent}.pem", key_file=f"{agent}-key.pem")
    # To a stranger, and to one with a person's certificate, an alert comes; to a member nothing, until it asks.
    for settings, seen in (
        (member, TimeoutError),
        (TlsSettings.of({}, stack.env), ssl.SSLError),
        (TlsSettings(ca), ssl.SSLError),
    ):
        with pytest.raises(seen), dialled(rpc, settings) as connection:
            connection.recv(1)


@contextlib.contextmanager
def dialled(rpc: tuple[str, int], settings: TlsSettings) -> Iterator[ssl.SSLSocket]:
    """A connection to the server's RPC port."""
    with socket.create_connection(rpc, timeout=2) as raw:
        raw.sendall(RPC_IN_TLS)
        with settings.context().wrap_socket(raw, server_hostname="server.global.nomad") as wrapped:
            yield wrapped


def test_a_missing_certificate_is_told_at_preview(stack: Running) -> None:
    preview = stack.run("pulumi", "preview", "--stack", "dev", "--non-interactive", more_env=WITHOUT_CERTIFICATE)
    printed = " ".join((preview.stdout + preview.stderr).split())
    assert preview.returncode != 0
    assert (
        "it asks for a client certificate. Set certFile (NOMAD_CLIENT_CERT) and keyFile (NOMAD_CLIENT_KEY)" in printed
    )
    assert "nothing was created" in printed
    assert "Traceback" not in printed


def test_both_plugins_take_certificates_as_text_in_the_place_of_files(stack: Running, management: NomadApi) -> None:
    files = {"caPem": "NOMAD_CACERT", "certPem": "NOMAD_CLIENT_CERT", "keyPem": "NOMAD_CLIENT_KEY"}
    config = {key: Path(stack.env[variable]).read_text() for key, variable in files.items()}
    config |= {"address": stack.env["NOMAD_ADDR"], "secretId": stack.env["NOMAD_TOKEN"]}
    with plugins_for(stack, management, hidden="NOMAD_") as plugins:
        for plugin in (plugins.nomad, plugins.csi):
            assert "keyPem" in plugin.check_config(config).inputs.secrets
            plugin.configure(config)
        assert plugins.csi.invoke("nomad-csi:index:getCluster")["zones"] == ["us-west-2a", "us-west-2b"]
        assert plugins.nomad.invoke("nomad:index/getPlugins:getPlugins")["plugins"]


def test_a_token_that_nomad_does_not_know_is_told_from_one_that_may_not(stack: Running) -> None:
    unknown = api_error(stack, NOMAD_TOKEN="11111111-2222-3333-4444-555555555555")
    assert "is not known to this cluster or has expired" in unknown
    assert "no token was sent: set NOMAD_TOKEN" in api_error(stack, NOMAD_TOKEN="")


def test_every_grant_of_the_programs_policy_has_a_step_that_needs_it() -> None:
    assert set(GRANTS) == set(STEPS)


@pytest.mark.parametrize("grant", sorted(GRANTS))
def test_without_one_grant_a_step_is_refused_with_the_line_to_add(
    management: NomadApi, plugins: Plugins, grant: str
) -> None:
    plugins.use(token_for(management, GRANTS[grant]))
    with pytest.raises(Failed) as refused:
        STEPS[grant](plugins)
    said = refused.value.message
    assert "403 (Permission denied)" in said
    *_, capability = grant.split()
    line = f'{capability} {{ policy = "read" }}' if grant in ("node", "plugin") else f'"{capability}"'
    assert line in said.partition("policy needs ")[2], said


def test_with_the_policy_as_it_is_no_step_is_refused(management: NomadApi, plugins: Plugins) -> None:
    plugins.use(token_for(management, POLICY.read_text()))
    for grant, step in STEPS.items():
        said = ""
        try:
            step(plugins)
        except Failed as failed:
            said = failed.message
        assert "403" not in said, grant
    left = [job["ID"] for job in management.get("jobs") if job["ID"].startswith("probe")]
    assert left == []


def test_files_with_secrets_are_for_their_owner_alone(stack: Running, home: Path, tmp_path: Path) -> None:
    # What the server keeps of its state in a snapshot holds the tokens too.
    token = {"NOMAD_TOKEN": (home / "nomad/management.token").read_text().strip()}
    saved = stack.run("nomad", "operator", "snapshot", "save", str(tmp_path / "state.snap"), more_env=token)
    assert saved.returncode == 0, saved.stderr
    secrets = secret_files.secrets_of(stack)
    found = dict(secret_files.holders(home, secrets))
    assert any("snapshots" in path.parts for path in found), "no snapshot of the server's state was looked at"
    in_files = set().union(*found.values())
    assert in_files == set(secrets) - {"MySQL password"}, "where is it kept, then?"
    assert [said for path in found if (said := secret_files.open_to_others(path, home))] == []


def test_nothing_listens_beyond_loopback_and_the_sandboxes_own_bridge(stack: Running, home: Path) -> None:
    subnet = stack.ground.subnet
    found = open_sockets.on_the_machine(home)
    assert {(one.protocol, one.port) for one in found} >= {("tcp", 5000), ("tcp", 4646), ("tcp", 4647), ("udp", 4648)}
    assert [one for one in found if not one.address.is_loopback and one.address not in subnet] == []


def test_an_instance_has_no_way_but_the_bridge_and_listens_on_no_wildcard_of_another(
    stack: Running, home: Path
) -> None:
    subnet, metadata = stack.ground.subnet, IPv4Address("169.254.169.254")
    known = open_sockets.instances(home)
    assert len(known) == 3
    for name, pid in known.items():
        found = open_sockets.in_namespace_of(pid)
        assert ("tcp", 4646) in {(one.protocol, one.port) for one in found}
        beyond = [
            one
            for one in found
            if not (one.address.is_loopback or one.address.is_unspecified or one.address == metadata)
            and one.address not in subnet
        ]
        assert beyond == [], name
        # A wildcard is no more than the namespace's own addresses; docker's bridge leads to its containers alone.
        listed = stack.run("nsenter", "--target", str(pid), "--net", "ip", "-o", "-4", "address").stdout.splitlines()
        own = [line.split() for line in listed if line.split()[1] != "docker0"]
        addresses = [IPv4Address(fields[3].partition("/")[0]) for fields in own]
        assert [one for one in addresses if not one.is_loopback and one != metadata and one not in subnet] == []
        assert "default" not in stack.run("nsenter", "--target", str(pid), "--net", "ip", "route").stdout


def test_the_policys_reader_takes_one_grant_at_a_time() -> None:
    for name, without in GRANTS.items():
        assert set(program_policy.grants(without)) == set(GRANTS) - {name}


def test_a_refusal_keeps_nomads_own_words(management: NomadApi) -> None:
    with pytest.raises(NomadApiError, match=r"^Unexpected response code: 40"):
        management.put("jobs", {"Job": {}})
