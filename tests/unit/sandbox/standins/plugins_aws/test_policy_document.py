import json
import zlib
from typing import Any

import pytest

from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.clients import Cloud
from sandbox.standins.plugins.aws.functions.policy_document import PolicyDocument
from sandbox.standins.plugins.aws.policy_document import DocumentError, render
from sandbox.standins.plugins.aws.policy_json import go_json

GOLDEN = """{
  "Version": "2012-10-17",
  "Statement": [
    {
      "Sid": "Attach",
      "Effect": "Allow",
      "Action": [
        "ec2:DetachVolume",
        "ec2:AttachVolume"
      ],
      "Resource": [
        "arn:aws:ec2:*:*:volume/*",
        "arn:aws:ec2:*:*:instance/*"
      ],
      "Condition": {
        "StringEquals": {
          "aws:ResourceTag/owner": "${aws:username}"
        }
      }
    },
    {
      "Effect": "Allow",
      "Action": "ec2:Describe*",
      "Resource": "*"
    }
  ]
}"""

STATEMENTS = [
    {
        "sid": "Attach",
        "actions": ["ec2:AttachVolume", "ec2:DetachVolume", "ec2:AttachVolume"],
        "resources": ["arn:aws:ec2:*:*:instance/*", "arn:aws:ec2:*:*:volume/*"],
        "conditions": [{"test": "StringEquals", "variable": "aws:ResourceTag/owner", "values": ["&{aws:username}"]}],
    },
    {"actions": ["ec2:Describe*"], "resources": ["*"]},
]


def test_statements_render_as_the_official_plugin_renders_them() -> None:
    result = PolicyDocument(Cloud()).invoke(Context(), {"statements": STATEMENTS})
    assert result["json"] == GOLDEN
    assert result["minifiedJson"] == go_json(json.loads(GOLDEN))
    assert result["id"] == str(zlib.crc32(GOLDEN.encode()))
    assert result["version"] == "2012-10-17"


def test_principals_are_sorted_by_kind_and_merged() -> None:
    principals = [
        {"type": "Service", "identifiers": ["ec2.amazonaws.com"]},
        {"type": "AWS", "identifiers": ["111111111111"]},
        {"type": "AWS", "identifiers": ["222222222222"]},
    ]
    document = render([{"actions": ["sts:AssumeRole"], "principals": principals}])
    principal = document["Statement"][0]["Principal"]
    assert list(principal.items()) == [("AWS", ["222222222222", "111111111111"]), ("Service", "ec2.amazonaws.com")]


@pytest.mark.parametrize(("kind", "expected"), [("*", "*"), ("AWS", {"AWS": "*"})])
def test_everybody_is_a_star_only_when_the_kind_is_a_star(kind: str, expected: Any) -> None:
    document = render([{"actions": ["a:B"], "principals": [{"type": kind, "identifiers": ["*"]}]}])
    assert document["Statement"][0]["Principal"] == expected


def test_condition_values_keep_their_order() -> None:
    condition = {"test": "StringLike", "variable": "aws:RequestTag/x", "values": ["b", "a"]}
    document = render([{"actions": ["a:B"], "resources": ["*"], "conditions": [condition]}])
    assert document["Statement"][0]["Condition"] == {"StringLike": {"aws:RequestTag/x": ["b", "a"]}}


def test_sources_are_laid_below_and_overrides_above_the_statements() -> None:
    source = json.dumps({"Version": "2008-10-17", "Id": "below", "Statement": {"Sid": "A", "Action": ["x", "y"]}})
    override = json.dumps({"Id": "above", "Statement": [{"Sid": "B", "Effect": "Deny", "Action": "z"}]})
    statements: list[dict[str, Any]] = [{"sid": "B", "actions": ["b"]}, {"actions": ["c"]}]
    document = render(statements, sources=[source], overrides=[override])
    assert document["Version"] == "2012-10-17"
    assert document["Id"] == "above"
    assert document["Statement"] == [
        {"Sid": "A", "Action": ["x", "y"]},
        {"Sid": "B", "Effect": "Deny", "Action": "z"},
        {"Effect": "Allow", "Action": "c"},
    ]


def test_a_sid_may_appear_once_in_statements() -> None:
    with pytest.raises(DocumentError, match=r"duplicate Sid \(A\)"):
        render([{"sid": "A", "actions": ["x"]}, {"sid": "A", "actions": ["y"]}])


def test_a_sid_may_appear_once_in_source_documents() -> None:
    source = json.dumps({"Statement": [{"Sid": "A", "Action": "x"}]})
    with pytest.raises(DocumentError, match=r"duplicate Sid \(A\)"):
        render([], sources=[source, source])


def test_variables_are_refused_in_the_old_version() -> None:
    with pytest.raises(DocumentError, match="2008-10-17"):
        render([{"actions": ["x"], "resources": ["&{aws:username}"]}], version="2008-10-17")


def test_a_document_without_statements_has_no_statement_key() -> None:
    assert render([]) == {"Version": "2012-10-17"}


def test_a_source_that_is_not_json_is_named() -> None:
    with pytest.raises(DocumentError, match="not JSON"):
        render([], sources=["{"])
