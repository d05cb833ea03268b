"""A neighbour, another user, a container and a web page against the sandbox: refused, and the keys' owner not."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from nomad_stateful.nomad.api import NomadApi
from sandbox.machine import firewall
from sandbox.settings import SandboxSettings, load_settings
from tests.sandbox.networks import Network, network, plug
from tools.trial.running import Running, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

EVIL = "http://evil.example"
# What another user has: the address, and an invented key. What the call needs is loaded before, as root can.
AS_NOBODY = """
import boto3, os, sys
from botocore.exceptions import ClientError
url, home = sys.argv[1:]
key = {"aws_access_key_id": "AKIAINVENTEDINVENTED", "aws_secret_access_key": "x", "region_name": "us-west-2"}
ec2 = boto3.client("ec2", endpoint_url=url, **key)
for uid in (0, 65534):
    os.setgroups([]); os.setgid(uid); os.setuid(uid)
    try:
        ec2.run_instances(ImageId="ami-1", MinCount=1, MaxCount=1, UserData="#!/bin/sh\\n")
    except ClientError as error:
        print(error.response["Error"]["Code"])
for name in ("env", "aws-credentials.json", "nomad/gossip.key", "nomad/management.token"):
    try:
        open(f"{home}/{name}")
    except PermissionError:
        print("closed")
"""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A sandbox that nothing was deployed in."""
    running = Running.prepare(tmp_path_factory.mktemp("strangers"))
    with running.up("--no-stack", "--plugins", "embedded"):
        yield running


@pytest.fixture(scope="module")
def settings(alone: Running) -> SandboxSettings:
    home, config = alone.project / ".sandbox", alone.project / "sandbox.toml"
    return load_settings({"NOMAD_STATEFUL_SANDBOX_HOME": str(home), "NOMAD_STATEFUL_SANDBOX_CONFIG": str(config)})


@contextmanager
def beside(settings: SandboxSettings, kind: str) -> Iterator[Network]:
    """A host on another network of this machine: a neighbour's, or that of containers, which is behind a bridge."""
    subnet = IPv4Network((int(settings.subnet.network_address) + (1 << 16), 29))
    name, bridge = f"{settings.name}{kind}", f"{settings.name}br0"
    with network(name) as there:
        if kind == "lan":
            plug(name, there, subnet, subnet[1], None, "")
            yield there
            return
        subprocess.run(["ip", "link", "add", bridge, "type", "bridge"], check=True)
        try:
            subprocess.run(["ip", "address", "add", f"{subnet[1]}/29", "dev", bridge], check=True)
            subprocess.run(["ip", "link", "set", bridge, "up"], check=True)
            plug(name, there, subnet, subnet[1], None, bridge)
            yield there
        finally:
            subprocess.run(["ip", "link", "delete", bridge], check=True)


def ports(settings: SandboxSettings) -> tuple[int, ...]:
    return settings.ec2_port, settings.nomad_http_port, settings.nomad_rpc_port, settings.nomad_serf_port


def ask(url: str, method: str, path: str, body: str = "", **headers: str) -> tuple[int, dict[str, str]]:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=20)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}


def management(alone: Running, settings: SandboxSettings) -> NomadApi:
    token = (settings.nomad_dir / "management.token").read_text(encoding="utf-8").strip()
    return NomadApi.from_env({"token": token}, alone.env)


def test_the_keys_owner_is_answered(alone: Running) -> None:
    reservations = alone.ec2.describe_instances()["Reservations"]
    assert len([one for each in reservations for one in each["Instances"]]) == 3
    assert len(alone.nomad.get("nodes")) == 3


@pytest.mark.parametrize("kind", ["lan", "box"], ids=["a neighbour", "a container"])
def test_another_network_of_the_machine_reaches_nothing(settings: SandboxSettings, kind: str) -> None:
    with beside(settings, kind) as there:
        reached = [port for port in ports(settings) if there.reaches(settings.gateway, port)]
        clients = [spec.name for spec in settings.instances if there.reaches(settings.instance_address(spec), 4646)]
        assert (reached, clients) == ([], [])


def test_where_nft_sets_no_rule_the_api_still_hangs_up_on_another_network(settings: SandboxSettings) -> None:
    def answer() -> bytes:
        with socket.create_connection((str(settings.gateway), settings.ec2_port), timeout=10) as connection:
            try:
                connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
                return connection.recv(1)
            except ConnectionError:
                return b""

    assert answer() != b"", "this machine is answered"
    assert firewall.remove(settings)
    try:
        with beside(settings, "lan") as there:
            assert there.run(answer) == b""
    finally:
        assert firewall.install(settings) == ""


def test_another_user_has_no_key_that_is_taken_and_reads_none(alone: Running, settings: SandboxSettings) -> None:
    words = [sys.executable, "-c", AS_NOBODY, settings.ec2_url, str(settings.home)]
    done = subprocess.run(words, env=alone.env, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["AuthFailure", "AuthFailure", *["closed"] * 4]


@pytest.mark.parametrize("path", ["/", "/moto-api/data.json", "/moto-api/reset", "/sandbox/clock", "/some-bucket/key"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_is_not_signed_is_refused(settings: SandboxSettings, method: str, path: str) -> None:
    assert ask(settings.ec2_url, method, path)[0] == 403


def test_a_web_page_gets_neither_an_answer_nor_leave_to_read_it(alone: Running, settings: SandboxSettings) -> None:
    form = "application/x-www-form-urlencoded"
    asked = {"Access_Control_Request_Method": "POST", "Access_Control_Request_Headers": "authorization,content-type"}
    for method, headers in (("OPTIONS", asked), ("POST", {"Content_Type": form}), ("GET", {})):
        status, answered = ask(settings.ec2_url, method, "/", Origin=EVIL, **headers)
        assert status == 403
        assert not [name for name in answered if name.startswith("access-control")]
    task = {"Name": "t", "Driver": "exec", "Config": {"command": "/bin/true"}, "Resources": {"CPU": 50, "MemoryMB": 32}}
    group = {"Name": "g", "Count": 1, "Tasks": [task]}
    job = {"ID": "page", "Name": "page", "Type": "batch", "Datacenters": ["*"], "TaskGroups": [group]}
    for method, path, body in (
        ("PUT", "/v1/jobs", json.dumps({"Job": job})),
        ("GET", "/v1/acl/tokens", ""),
        ("GET", "/v1/nodes", ""),
    ):
        assert ask(settings.nomad_url, method, path, body, Origin=EVIL)[0] == 403, path


def test_nomads_agents_let_nobody_in_without_the_sandboxs_files(
    alone: Running, settings: SandboxSettings, tmp_path: Path
) -> None:
    """A server and a client that somebody on this machine starts, knowing the addresses."""
    kinds = {
        "server": {
            "enabled": True,
            "server_join": {"retry_join": [f"{settings.gateway}:{settings.nomad_serf_port}"], "retry_interval": "1s"},
        },
        "client": {"enabled": True, "servers": [f"{settings.gateway}:{settings.nomad_rpc_port}"]},
    }
    refused = {"server": r"join failed", "client": r"error (registering|querying|fetching)|rpc error|no servers"}
    for kind, block in kinds.items():
        with stranger(alone, tmp_path / kind, kind, block) as log:
            await_line(log, refused[kind])
            api = management(alone, settings)
            peers = api.get("operator/raft/configuration")["Servers"]
            members = api.get("agent/members")["Members"]
            nodes = sorted(node["Name"] for node in api.get("nodes"))
            api.close()
            assert [peer["Address"] for peer in peers] == [f"{settings.gateway}:{settings.nomad_rpc_port}"]
            assert [member["Name"] for member in members] == ["server.global"]
            assert nodes == [spec.name for spec in settings.instances]


@contextmanager
def stranger(alone: Running, folder: Path, kind: str, block: dict[str, object]) -> Iterator[Path]:
    """A Nomad agent with nothing but addresses; gives its log."""
    folder.mkdir()
    names = ("http", "rpc", "serf")
    # In namespaces nothing else of the machine is asked; here the clouds' metadata services must not be.
    denied = "env_aws,env_gce,env_azure,env_digitalocean"
    config = {
        "name": f"stranger-{kind}",
        "data_dir": str(folder / "data"),
        "bind_addr": "127.0.0.1",
        "advertise": dict.fromkeys(names, "127.0.0.1"),
        "ports": dict(zip(names, free_ports(len(names)), strict=True)),
        "disable_update_check": True,
        "consul": {"auto_advertise": False, "server_auto_join": False, "client_auto_join": False},
        kind: block,
    }
    config["client"] = {**dict(config.get("client") or {}), "options": {"fingerprint.denylist": denied}}  # type: ignore[call-overload]
    (folder / "agent.json").write_text(json.dumps(config), encoding="utf-8")
    log = folder / "log"
    with log.open("wb") as output:
        env = {**alone.env, "NOMAD_TOKEN": "", "AWS_EC2_METADATA_DISABLED": "true"}
        words = ["nomad", "agent", f"-config={folder / 'agent.json'}"]
        process = subprocess.Popen(words, env=env, cwd=folder, stdout=output, stderr=output)
    try:
        yield log
    finally:
        process.terminate()
        process.wait(30)


def await_line(log: Path, pattern: str) -> None:
    """Waits until an agent's log has a line."""
    eventually(lambda: re.search(pattern, log.read_text()), 60, f"a line with {pattern}", log.read_text)


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return found
