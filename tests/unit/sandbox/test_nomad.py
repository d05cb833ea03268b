import base64
import json
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from sandbox.cluster import client, server, tls
from sandbox.docker.store import Store
from sandbox.machine import processes
from sandbox.settings import SandboxError, SettingsError, parse_settings
from tools import check_jobs, toolchain

SETTINGS = parse_settings({}, Path("/nowhere"))
SPEC = SETTINGS.instances[2]
STORE = Store(Path("/a store"))
THREE = parse_settings({"zones": ["us-west-2a", "us-west-2b", "us-west-2c"], "servers": 3}, Path("/nowhere"))


def boot_script() -> str:
    return client.user_data(SETTINGS, SPEC, Path("/tool chain/nomad"), STORE)


def test_the_boot_script_is_a_shell_script() -> None:
    subprocess.run(["/bin/sh", "-n"], input=boot_script(), text=True, check=True)


def test_the_client_is_named_as_its_instance_and_joins_the_server_on_the_gateway() -> None:
    config = client.config(SETTINGS, SPEC, STORE)
    assert 'name      = "client-3"' in config
    assert 'bind_addr = "10.173.86.138"' in config
    assert '"10.173.86.1:4647"' in config


def test_of_three_servers_each_expects_and_joins_the_others_and_a_client_knows_them_all() -> None:
    files = [server.config(THREE, "key", one) for one in THREE.nomad_servers]
    addresses = [str(one.address) for one in THREE.nomad_servers]
    for file, own in zip(files, addresses, strict=True):
        settings = file["server"]
        assert isinstance(settings, dict)
        assert file["bind_addr"] == own
        assert settings["bootstrap_expect"] == 3
        assert settings["server_join"]["retry_join"] == [f"{other}:4648" for other in addresses if other != own]
    assert len({str(file["data_dir"]) for file in files}) == 3
    config = client.config(THREE, SPEC, STORE)
    assert f"servers           = {json.dumps([f'{address}:4647' for address in addresses])}" in config


def test_connections_to_a_server_that_is_cut_off_end_soon_where_there_are_others() -> None:
    assert "keep_alive_interval" in client.config(THREE, SPEC, STORE)
    assert all("rpc" in server.config(THREE, "key", one) for one in THREE.nomad_servers)
    assert "keep_alive_interval" not in client.config(SETTINGS, SPEC, STORE)
    assert "rpc" not in server.config(SETTINGS, "key", SETTINGS.nomad_servers[0])


def test_another_number_of_servers_than_the_sandbox_was_started_with_is_refused(tmp_path: Path) -> None:
    settings = parse_settings({}, tmp_path)
    settings.nomad_dir.mkdir()
    for one in THREE.nomad_servers:
        (settings.nomad_dir / f"{one.name}.json").touch()
    with pytest.raises(SettingsError, match=r"servers is 1: the sandbox was started with 3\. Run `make down`"):
        server.start(settings, Path("/no/nomad"))


def test_a_client_asks_the_metadata_service_and_has_no_credentials_in_its_boot_script() -> None:
    denied = next(line for line in client.config(SETTINGS, SPEC, STORE).splitlines() if "denylist" in line)
    assert "env_gce" in denied
    assert "env_aws" not in denied
    assert "unset AWS_CA_BUNDLE" in boot_script()
    assert "AWS_SECRET" not in boot_script()


def test_a_task_finds_the_cloud() -> None:
    assert "AWS_EC2_ENDPOINT=http://10.173.86.1:5000" in boot_script()
    assert "AWS_REGION=us-west-2" in boot_script()


def test_the_server_never_asks_a_metadata_service_and_listens_on_the_gateway_alone() -> None:
    config = json.dumps(server.config(SETTINGS, "key", SETTINGS.nomad_servers[0]))
    assert "env_aws" in config
    assert "127.0.0.1" not in config
    assert "0.0.0.0" not in config


def test_the_agents_environment_leads_nowhere_but_keeps_the_sandboxs_own_variables() -> None:
    outer = {
        "AWS_CA_BUNDLE": "x",
        "NOMAD_TOKEN": "x",
        "VAULT_ADDR": "x",
        "HOME": "/",
        "NOMAD_STATEFUL_SANDBOX_HOME": "/h",
    }
    assert processes.environment(outer) == {"HOME": "/", "NOMAD_STATEFUL_SANDBOX_HOME": "/h"}


@pytest.mark.nomad
def test_a_job_file_that_nomad_cannot_read_or_that_has_no_example_is_complained_about(tmp_path: Path) -> None:
    tools = toolchain.find()
    if tools is None:
        pytest.skip("the toolchain is not built: run `python -m tools.toolchain`")
    (tmp_path / "good.nomad.hcl").write_text(
        'variable "n" {\n  type = string\n}\n\njob "x" {\n  id = var.n\n\n  group "g" {}\n}\n'
    )
    (tmp_path / "bad.nomad.hcl").write_text('job "x" {\n  nonsense {}\n}\n')
    (tmp_path / "bad.vars.hcl").write_text("")
    (tmp_path / "good.vars.hcl").write_text('n = "x"\n')
    (tmp_path / "lonely.nomad.hcl").write_text('job "x" {}\n')
    complaints = "\n".join(check_jobs.check(tools.nomad, tmp_path))
    assert "good.nomad.hcl" not in complaints
    assert "nonsense" in complaints
    assert "lonely.vars.hcl" in complaints


def test_a_folder_without_job_files_is_complained_about(tmp_path: Path) -> None:
    assert check_jobs.check(Path("/bin/true"), tmp_path) == [f"{tmp_path} holds no .nomad.hcl file"]


def test_with_tls_both_agents_verify_each_other_by_files_that_the_user_data_only_names() -> None:
    settings = parse_settings({"tls": True}, Path("/nowhere"))
    block = server.config(settings, "key", settings.nomad_servers[0])["tls"]
    assert isinstance(block, dict)
    assert block["verify_server_hostname"] is block["verify_https_client"] is block["http"] is block["rpc"] is True
    script = client.user_data(settings, SPEC, Path("/nomad"), STORE)
    assert 'key_file = "/nowhere/nomad/tls/global-client-nomad-key.pem"' in script
    assert "verify_server_hostname = true" in script
    assert "PRIVATE KEY" not in script


def test_without_tls_over_http_the_agents_still_verify_each_other(tmp_path: Path) -> None:
    block = server.config(SETTINGS, "key", SETTINGS.nomad_servers[0])["tls"]
    assert isinstance(block, dict)
    assert (block["rpc"], block["verify_server_hostname"], block["http"]) == (True, True, False)
    assert "http = false" in boot_script()
    assert "verify_server_hostname = true" in boot_script()


def test_the_key_of_the_gossip_is_private_and_stays(tmp_path: Path) -> None:
    settings = parse_settings({}, tmp_path)
    key = tls.gossip_key(settings)
    assert len(base64.b64decode(key)) == 32
    assert tls.gossip_key(settings) == key
    assert {path.stat().st_mode & 0o777 for path in settings.nomad_dir.iterdir()} == {0o600}


@pytest.mark.nomad
def test_certificates_are_private_made_once_and_refused_at_their_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = toolchain.find()
    if tools is None:
        pytest.skip("the toolchain is not built: run `python -m tools.toolchain`")
    settings = parse_settings({"tls": True}, tmp_path)
    assert tls.ensure(settings, tools.nomad)
    keys = sorted(settings.nomad_tls_dir.glob("*-key.pem"))
    assert len(keys) == 4
    assert {key.stat().st_mode & 0o777 for key in keys} == {0o600}
    assert {folder.stat().st_mode & 0o777 for folder in (settings.nomad_dir, settings.nomad_tls_dir)} == {0o700}
    assert not tls.ensure(settings, tools.nomad)
    # As if the last day of theirs had come.
    monkeypatch.setattr(tls, "RENEWAL", timedelta(days=tls.VALID_DAYS))
    with pytest.raises(SandboxError, match="valid for 365 days"):
        tls.ensure(settings, tools.nomad)


@pytest.mark.parametrize("tls_over_http", [True, False])
def test_a_sandbox_without_tls_is_not_turned_into_one_with_it(tmp_path: Path, tls_over_http: bool) -> None:
    (tmp_path / "nomad/server").mkdir(parents=True)
    with pytest.raises(SandboxError, match=r"was started by a version without TLS .*\. Run `make down`"):
        tls.ensure(parse_settings({"tls": tls_over_http}, tmp_path), Path("/no/nomad"))


def test_a_sandbox_without_tls_over_http_is_not_turned_into_one_with_it(tmp_path: Path) -> None:
    settings = parse_settings({"tls": True}, tmp_path)
    (tmp_path / "nomad/server").mkdir(parents=True)
    settings.nomad_tls_dir.mkdir()
    for role in ("server", "client"):
        (settings.nomad_tls_dir / f"global-{role}-nomad.pem").touch()
    with pytest.raises(SandboxError, match=r"was started without it\. Run `make down`"):
        tls.ensure(settings, Path("/no/nomad"))
