"""What the clients may do with dumps in S3: each statement allows what the jobs do, and nothing of others."""

from typing import Any

import pytest

from nomad_stateful.databases.mysql.archive import FOLDER as LOGS
from nomad_stateful.databases.mysql.archive import UNTIL as REPLACED
from nomad_stateful.drivers.dump_policy import policy
from tests.iam.evaluator import Case, of_statement

BUCKET = "arn:aws:s3:::dumps"
DUMP = f"{BUCKET}/nomad-stateful/prod/20260101T030000Z.sql.gz"
OTHERS = f"{BUCKET}/nomad-stateful/prod-2/20260101T030000Z.sql.gz"
ELSEWHERE = "arn:aws:s3:::dumps-2/nomad-stateful/prod/20260101T030000Z.sql.gz"
KEY = "arn:aws:kms:us-west-2:123456789012:key/11111111-2222-3333-4444-555555555555"
LOG = f"{BUCKET}/nomad-stateful/prod/binlogs/20260101T030000Z-binlog.000004"
UNTIL = f"{BUCKET}/nomad-stateful/prod/binlogs/until"
SEEN = {"s3:if-match": '"0123456789abcdef"', "s3:ObjectCreationOperation": "true"}
NEW = {"s3:if-none-match": "*", "s3:ObjectCreationOperation": "true"}
THROUGH_S3 = {"kms:ViaService": "s3.us-west-2.amazonaws.com"}

STATEMENTS: dict[str, tuple[list[Case], list[Case]]] = {
    "ListDumps": (
        [("s3:ListBucket", BUCKET, {"s3:prefix": "nomad-stateful/prod/"})],
        [
            ("s3:ListBucket", BUCKET, {}),
            ("s3:ListBucket", BUCKET, {"s3:prefix": ""}),
            ("s3:ListBucket", BUCKET, {"s3:prefix": "nomad-stateful/prod-2/"}),
            ("s3:ListBucketVersions", BUCKET, {"s3:prefix": "nomad-stateful/prod/"}),
        ],
    ),
    "WriteNewDumps": (
        [("s3:PutObject", DUMP, NEW)],
        [
            # Over one that is there.
            ("s3:PutObject", DUMP, {"s3:ObjectCreationOperation": "true"}),
            ("s3:PutObject", OTHERS, NEW),
            ("s3:PutObject", ELSEWHERE, NEW),
            ("s3:DeleteObject", DUMP, {}),
            ("s3:DeleteObjectVersion", DUMP, {}),
            ("s3:PutObjectRetention", DUMP, {}),
        ],
    ),
    "WriteParts": (
        [("s3:PutObject", DUMP, {"s3:ObjectCreationOperation": "false"})],
        [
            ("s3:PutObject", DUMP, {"s3:ObjectCreationOperation": "true"}),
            ("s3:PutObject", OTHERS, {"s3:ObjectCreationOperation": "false"}),
        ],
    ),
    "AbortUploads": ([("s3:AbortMultipartUpload", DUMP, {})], [("s3:AbortMultipartUpload", OTHERS, {})]),
    "ReplaceWhatWasSeen": (
        [("s3:PutObject", UNTIL, SEEN)],
        [
            ("s3:PutObject", UNTIL, {"s3:ObjectCreationOperation": "true"}),
            ("s3:PutObject", f"{UNTIL}/x", SEEN),
            ("s3:PutObject", LOG, SEEN),
            ("s3:PutObject", DUMP, SEEN),
            ("s3:DeleteObject", UNTIL, {}),
        ],
    ),
    "ReadDumps": (
        [("s3:GetObject", DUMP, {})],
        [("s3:GetObject", OTHERS, {}), ("s3:GetObject", ELSEWHERE, {}), ("s3:GetObjectVersion", DUMP, {})],
    ),
    "UseDumpKey": (
        [("kms:GenerateDataKey", KEY, THROUGH_S3), ("kms:Decrypt", KEY, THROUGH_S3)],
        [
            ("kms:Decrypt", KEY, {}),
            ("kms:Decrypt", KEY.replace("1111", "9999"), THROUGH_S3),
            ("kms:ScheduleKeyDeletion", KEY, THROUGH_S3),
        ],
    ),
}


def document(kms_key_arn: str | None = KEY, replaced: str | None = f"{LOGS}{REPLACED}") -> dict[str, Any]:
    """The policy of a stack's binary logs; that of its dumps has nothing that is replaced."""
    scope = {"partition": "aws", "region": "us-west-2"}
    return policy("dumps", "nomad-stateful/prod/", kms_key_arn=kms_key_arn, replaced=replaced, **scope)


def test_every_statement_is_judged_here() -> None:
    assert [one["Sid"] for one in document()["Statement"]] == list(STATEMENTS)
    assert [one["Sid"] for one in document(None)["Statement"]] == list(STATEMENTS)[:-1]
    dumps = [one["Sid"] for one in document(replaced=None)["Statement"]]
    assert dumps == [sid for sid in STATEMENTS if sid != "ReplaceWhatWasSeen"]


@pytest.mark.parametrize("sid", STATEMENTS)
def test_a_statement_allows_what_it_is_for_and_no_more(sid: str) -> None:
    allowed, denied = STATEMENTS[sid]
    by_it, by_others = of_statement(document(), sid, [*allowed, *denied])
    assert by_it == allowed
    assert not [case for case in allowed if case in by_others], "no statement is there twice over"
