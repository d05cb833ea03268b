"""What the task that copies binary logs asks of S3, by its own script: the clients' policy allows all of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nomad_stateful.databases.mysql.archive import FOLDER as LOGS
from nomad_stateful.databases.mysql.archive import UNTIL
from nomad_stateful.drivers.dump_policy import policy
from tests.iam.evaluator import Request, judge
from tests.mysql import fake_s3
from tests.mysql.sidecars import BUCKET, FOLDER, Sidecars, key, scripts
from tools import toolchain

pytestmark = [pytest.mark.nomad]

ARN = f"arn:aws:s3:::{BUCKET}"
PARTS = ("create-multipart-upload", "upload-part")
WRITES = ("put-object", "complete-multipart-upload")


def asked(verb: str, options: dict[str, str]) -> Request:
    """A call of the AWS CLI as S3 asks IAM about it."""
    if verb == "list-objects-v2":
        return Request("s3:ListBucket", ARN, {"s3:prefix": options["prefix"]})
    if verb == "abort-multipart-upload":
        return Request("s3:AbortMultipartUpload", f"{ARN}/{options['key']}")
    if verb in PARTS or verb in WRITES:
        conditions = {f"s3:{name}": options[name] for name in ("if-match", "if-none-match") if name in options}
        new = {"s3:ObjectCreationOperation": "true" if verb in WRITES else "false"}
        return Request("s3:PutObject", f"{ARN}/{options['key']}", {**conditions, **new})
    return Request("s3:GetObject", f"{ARN}/{options.get('key', FOLDER)}")


def test_the_copier_asks_for_nothing_that_its_policy_refuses(tmp_path: Path) -> None:
    sidecars = Sidecars(tmp_path, scripts(toolchain.ensure().nomad, tmp_path))
    sidecars.serve(1, 3)
    large = fake_s3.LARGEST + 1
    with sidecars.runs("binlog-copy"):
        sidecars.reaches(sidecars.close())
        sidecars.write(3, large)
        sidecars.write(4)
        # One whose answer was lost, after an upload that failed.
        sidecars.put(key(4), (tmp_path / "data/binlog.000004").read_bytes())
        sidecars.fault("part", "SlowDown")
        sidecars.serve(1, 5)
        moment = sidecars.close()
        sidecars.says("SlowDown")
        sidecars.fault("part")
        sidecars.reaches(moment)
    assert sidecars.stored[key(3)] == large
    calls = [json.loads(line) for line in (sidecars.bucket / ".calls").read_text().splitlines()]
    assert {verb for _, verb, _ in calls} == {
        *("cp", "list-objects-v2", "put-object", "head-object", "get-object", "abort-multipart-upload"),
        *(*PARTS, "complete-multipart-upload"),
    }
    scope = {"partition": "aws", "region": "us-west-2"}
    allowed = policy(BUCKET, FOLDER.removesuffix(LOGS), replaced=f"{LOGS}{UNTIL}", **scope)
    requests = [asked(verb, options) for _, verb, options in calls]
    assert judge([allowed], requests) == [[True] * len(requests)]
