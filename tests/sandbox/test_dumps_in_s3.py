"""Dumps that leave the zone: copied by the agent to a bucket of the stack's, restored from there, never deleted."""

import gzip
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from botocore.exceptions import ClientError

from sandbox.docker import agent
from tests import official_parts
from tests.sandbox.consuming import force_dump, newest_child, sql, summary
from tools.trial.running import Running, eventually

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

AGENT_IMAGE = f"{agent.REPOSITORY}:{agent.tag()}"
PORT = 5000
PREFIX = "nomad-stateful/dev/"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running.prepare(tmp_path_factory.mktemp("project"))
    set_s3(running, {"endpoint": f"http://{running.ground.gateway}:{PORT}"})
    configure(running, failover={"count": 1})
    with running.up(*official_parts.words()):
        sql(running, "CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY, what VARCHAR(20))")
        sql(running, "INSERT INTO shop.orders VALUES (1, 'one'), (2, 'two')")
        yield running


def configure(running: Running, **settings: Any) -> None:
    path = running.project / "Pulumi.dev.yaml"
    whole = yaml.safe_load(path.read_text())
    whole["config"] |= {f"nomad-stateful:{key}": value for key, value in settings.items()}
    path.write_text(yaml.safe_dump(whole))


def set_s3(running: Running, s3: dict[str, Any]) -> None:
    """The sandbox's stack with dumps, and copies of them."""
    path = running.project / "Pulumi.dev.yaml"
    whole = yaml.safe_load(path.read_text())
    config = whole["config"]
    volumes = config["nomad-stateful:volumes"]
    if not any(one["name"] == "dumps" for one in volumes):
        volumes.append({**volumes[0], "name": "dumps"})
    config["nomad-stateful:mysql"]["backup"] = {"volume": "dumps", "schedule": "@yearly", "keep": 2, "s3": s3}
    config["nomad-stateful:agentImage"] = AGENT_IMAGE
    path.write_text(yaml.safe_dump(whole))


def s3(stack: Running) -> Any:
    return stack.aws("s3")


def bucket(stack: Running) -> str:
    place = str(stack.outputs()["mysqlBackup"]["s3"])
    assert place.endswith(f"/{PREFIX}")
    return place.removeprefix("s3://").partition("/")[0]


def keys(stack: Running) -> list[str]:
    found = s3(stack).list_objects_v2(Bucket=bucket(stack), Prefix=PREFIX).get("Contents", [])
    return sorted(str(one["Key"]).removeprefix(PREFIX) for one in found)


def operate(stack: Running, *words: str, timeout_s: float = 600) -> subprocess.CompletedProcess[str]:
    operator = {"NOMAD_OPERATOR_TOKEN": stack.env.get("NOMAD_OPERATOR_TOKEN") or stack.env["NOMAD_TOKEN"]}
    return stack.run(stack.python, "-m", "nomad_stateful.operate", *words, more_env=operator, timeout_s=timeout_s)


def rows(stack: Running) -> Any:
    return sql(stack, "SELECT id, what FROM shop.orders ORDER BY id")


def test_the_bucket_is_made_as_it_should_be(stack: Running) -> None:
    client, name = s3(stack), bucket(stack)
    assert client.get_bucket_versioning(Bucket=name)["Status"] == "Enabled"
    assert all(client.get_public_access_block(Bucket=name)["PublicAccessBlockConfiguration"].values())
    assert client.get_bucket_encryption(Bucket=name)["ServerSideEncryptionConfiguration"]["Rules"]
    (rule,) = client.get_bucket_lifecycle_configuration(Bucket=name)["Rules"]
    assert rule["Expiration"]["Days"] == 35
    allowed = [one for document in stack.attached_policies("nomad-client") for one in document["Statement"]]
    (write,) = (one for one in allowed if one["Sid"] == "WriteNewDumps")
    assert write["Resource"] == f"arn:aws:s3:::{name}/{PREFIX}*"
    preview = stack.run("pulumi", "preview", "--non-interactive", "--refresh", "--expect-no-changes")
    assert preview.returncode == 0, preview.stdout + preview.stderr


def test_a_dump_is_in_the_bucket_and_restored_from_there(stack: Running) -> None:
    assert summary(stack, force_dump(stack)) == {"Complete": 1}
    (name,) = keys(stack)
    stored = s3(stack).get_object(Bucket=bucket(stack), Key=PREFIX + name)
    text = gzip.decompress(stored["Body"].read())
    assert b"'one'" in text
    assert len(stored["Metadata"]["sha256"]) == 64
    sql(stack, "DROP DATABASE shop")
    restored = operate(stack, "restore", "--yes", "--from", "s3")
    assert restored.returncode == 0, restored.stdout + restored.stderr
    assert rows(stack) == ((1, "one"), (2, "two"))


def test_the_failover_watch_runs_in_the_agents_image(stack: Running) -> None:
    # The `up` waited until it may read in Nomad and EC2 what a failover needs to know.
    [found] = stack.nomad.get("job/failover/allocations", namespace="default")
    operator = {"NOMAD_TOKEN": stack.env.get("NOMAD_OPERATOR_TOKEN") or stack.env["NOMAD_TOKEN"]}
    said = stack.run("nomad", "alloc", "logs", found["ID"], more_env=operator)
    assert "watching the jobs of namespace default" in said.stdout, said.stdout + said.stderr


def test_a_dump_that_s3_changed_is_not_restored(stack: Running) -> None:
    client, name = s3(stack), keys(stack)[-1]
    stored = client.get_object(Bucket=bucket(stack), Key=PREFIX + name)
    whole = stored["Body"].read()
    client.put_object(Bucket=bucket(stack), Key=PREFIX + name, Body=b"x" * len(whole), Metadata=stored["Metadata"])
    sql(stack, "INSERT INTO shop.orders VALUES (3, 'three')")
    refused = operate(stack, "restore", name, "--yes", "--from", "s3")
    assert refused.returncode != 0
    assert "fetch` says why" in refused.stderr
    assert rows(stack) == ((1, "one"), (2, "two"), (3, "three"))
    client.put_object(Bucket=bucket(stack), Key=PREFIX + name, Body=whole, Metadata=stored["Metadata"])
    assert operate(stack, "restore", name, "--yes", "--from", "s3").returncode == 0
    assert operate(stack, "restore", "19990101T000000Z.sql.gz", "--yes", "--from", "s3").returncode != 0


def test_a_lock_keeps_later_dumps_from_everybody_also_once_its_setting_is_gone(stack: Running) -> None:
    client, name = s3(stack), bucket(stack)
    earlier, endpoint = keys(stack), f"http://{stack.ground.gateway}:{PORT}"
    set_s3(stack, {"endpoint": endpoint, "objectLock": {"mode": "COMPLIANCE", "days": 7}})
    preview = stack.run("pulumi", "preview", "--non-interactive")
    assert "nobody can delete for 7 days" in preview.stdout + preview.stderr
    changed = stack.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive")
    assert changed.returncode == 0, changed.stdout + changed.stderr
    assert summary(stack, force_dump(stack)) == {"Complete": 1}
    (made,) = set(keys(stack)) - set(earlier)
    (version,) = client.list_object_versions(Bucket=name, Prefix=PREFIX + made)["Versions"]
    with pytest.raises(ClientError, match="AccessDenied"):
        client.delete_object(
            Bucket=name, Key=PREFIX + made, VersionId=version["VersionId"], BypassGovernanceRetention=True
        )
    set_s3(stack, {"endpoint": endpoint})
    changed = stack.run("pulumi", "up", "--yes", "--non-interactive")
    assert changed.returncode == 0, changed.stdout + changed.stderr
    assert "is left out, but the bucket goes on locking" in changed.stdout + changed.stderr
    rule = client.get_object_lock_configuration(Bucket=name)["ObjectLockConfiguration"]["Rule"]["DefaultRetention"]
    assert (rule["Mode"], rule["Days"]) == ("COMPLIANCE", 7)
    client.delete_object(Bucket=name, Key=PREFIX + made)


def test_a_copy_that_fails_is_told_and_made_later_without_a_second_dump(stack: Running) -> None:
    before = keys(stack)
    gateway = stack.ground.gateway
    set_s3(stack, {"endpoint": f"http://{gateway}:1"})
    assert stack.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive").returncode == 0
    answer = stack.nomad.put("job/mysql-backup/periodic/force", {})
    child = stack.nomad.get(f"evaluation/{answer['EvalID']}")["JobID"]
    eventually(lambda: summary(stack, {"ID": child}).get("Failed"), 480, "a failed copy", stack.diagnosis)
    assert f"{child}: the dump's copy to S3 has failed" in operate(stack, "status").stdout
    stack.nomad.delete(f"job/{child.replace('/', '%2F')}", purge=True)
    set_s3(stack, {"endpoint": f"http://{gateway}:{PORT}"})
    assert stack.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive").returncode == 0
    assert keys(stack) == before
    # The next run brings the one that is still missing along.
    assert summary(stack, force_dump(stack)) == {"Complete": 1}
    assert len(keys(stack)) == len(before) + 2


def test_a_given_bucket_that_is_not_there_is_refused_and_the_made_one_outlives_the_stack(stack: Running) -> None:
    name, kept = bucket(stack), keys(stack)
    set_s3(stack, {"bucket": "no-such-bucket", "endpoint": f"http://{stack.ground.gateway}:{PORT}"})
    refused = stack.run("pulumi", "preview", "--non-interactive")
    assert refused.returncode != 0
    assert "mysql.backup.s3.bucket is no-such-bucket" in refused.stdout + refused.stderr
    # What a destroyed stack does too: the program forgets the bucket, and what is in it stays.
    set_s3(stack, {"bucket": name, "endpoint": f"http://{stack.ground.gateway}:{PORT}"})
    changed = stack.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive")
    assert changed.returncode == 0, changed.stdout + changed.stderr
    assert keys(stack) == kept
    assert s3(stack).get_bucket_versioning(Bucket=name)["Status"] == "Enabled"
    assert operate(stack, "restore", "--yes", "--from", "s3").returncode == 0
    assert newest_child(stack, "mysql-backup-restore")["Status"] == "dead"
    destroyed = stack.run("pulumi", "destroy", "--yes", "--skip-preview", "--non-interactive")
    assert destroyed.returncode == 0, destroyed.stdout + destroyed.stderr
    found = s3(stack).list_objects_v2(Bucket=name, Prefix=PREFIX)
    assert found["KeyCount"] == len(kept)
