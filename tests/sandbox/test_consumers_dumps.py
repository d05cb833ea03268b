"""Dumps under trouble and change: one that fails is seen and lets a restore in; a given certificate is verified."""

import re
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
import yaml

from tests.certificates import Authority
from tests.sandbox.consuming import force_dump, sql, stack_with_consumers, summary
from tools.trial.running import Running, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with stack_with_consumers(tmp_path_factory.mktemp("project")) as running:
        yield running


def ssl_certificate(stack: Running, host: str, port: int) -> bytes:
    """The certificate that the server shows, in DER."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    password = stack.outputs()["mysqlPassword"]
    connection: Any = pymysql.connect(host=host, port=port, user="root", password=password, ssl=context)
    with connection:
        shown: bytes = connection._sock.getpeercert(binary_form=True)
        return shown


def test_a_dump_that_fails_gives_its_volume_to_a_restore_and_stays_to_be_seen(stack: Running) -> None:
    assert summary(stack, force_dump(stack)) == {"Complete": 1}
    sql(stack, "REVOKE SELECT ON *.* FROM 'backup'@'%'")
    answer = stack.nomad.put("job/mysql-backup/periodic/force", {})
    child = stack.nomad.get(f"evaluation/{answer['EvalID']}")["JobID"]
    failed = {"ID": child}
    eventually(lambda: summary(stack, failed).get("Failed"), 240, "a failed dump", stack.diagnosis)
    operator = {"NOMAD_OPERATOR_TOKEN": stack.env.get("NOMAD_OPERATOR_TOKEN") or stack.env["NOMAD_TOKEN"]}
    command = (stack.python, "-m", "nomad_stateful.operate")
    restored = stack.run(*command, "restore", "--yes", "--timeout", "60", more_env=operator)
    assert restored.returncode == 0, restored.stderr
    status = stack.run(*command, "status", more_env=operator).stdout
    assert f"{child}: the dump has failed 1 times" in status
    assert re.search(r"\(Exit Code: 1\b.*\); Nomad retries it", status)
    preview = stack.run("pulumi", "preview", "--non-interactive")
    assert f"mysql.backup: the dump {child} has failed" in preview.stdout + preview.stderr
    assert stack.nomad.get(f"job/{child.replace('/', '%2F')}")["Status"] != "dead"
    sql(stack, "GRANT SELECT ON *.* TO 'backup'@'%'")
    stack.nomad.delete(f"job/{child.replace('/', '%2F')}", purge=True)
    assert summary(stack, force_dump(stack)) == {"Complete": 1}


def test_a_given_certificate_takes_the_place_of_the_servers_own_and_dumps_verify_it(
    stack: Running, tmp_path: Path
) -> None:
    authority = Authority.made(tmp_path / "authority")
    certificate, key = (authority.read(name) for name in ("server-cert.pem", "server-key.pem"))
    path = stack.project / "Pulumi.dev.yaml"
    whole = yaml.safe_load(path.read_text())
    whole["config"]["nomad-stateful:mysql"]["tlsCertificate"] = {
        "certificate": certificate,
        "key": key,
        "ca": authority.read("ca.pem"),
    }
    path.write_text(yaml.safe_dump(whole))
    up = stack.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive")
    assert up.returncode == 0, up.stdout + up.stderr
    at = stack.server_endpoint()
    shown = ssl_certificate(stack, at.host, at.port)
    assert shown == ssl.PEM_cert_to_DER_cert(certificate)
    exported = stack.run("pulumi", "stack", "export").stdout
    assert key.splitlines()[1] not in exported
    assert summary(stack, force_dump(stack)) == {"Complete": 1}
