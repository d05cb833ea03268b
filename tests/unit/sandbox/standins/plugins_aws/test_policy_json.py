import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.standins.plugins.aws import policy_json


def document(**statement: object) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **statement}]})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (document(Action=["a", "b"], Resource="*"), document(Action=["b", "a"], Resource=["*"])),
        (
            document(Action="a", Principal={"AWS": "123456789012"}),
            document(Action="a", Principal={"AWS": ["arn:aws:iam::123456789012:root"]}),
        ),
        (
            document(Action="a", Condition={"Bool": {"aws:SecureTransport": True}}),
            document(Action="a", Condition={"Bool": {"aws:SecureTransport": ["true"]}}),
        ),
        (document(Action="a", Sid=""), document(Action="a")),
        ('{"Statement":{"Action":"a","Effect":"Allow"}}', '{"Statement":[{"Effect":"Allow","Action":["a"]}]}'),
    ],
)
def test_documents_that_mean_the_same_are_equivalent(one: str, other: str) -> None:
    assert policy_json.equivalent(one, other)
    assert policy_json.equivalent(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (document(Action="a", Resource="*"), document(Action="b", Resource="*")),
        (document(Action="a"), document(NotAction="a")),
        (document(Action="a", Principal={"AWS": "123456789012"}), document(Action="a", Principal={"AWS": "*"})),
        (document(Action="a", Condition={"Bool": {"x": "true"}}), document(Action="a")),
        (document(Action="a"), "not json"),
    ],
)
def test_documents_that_mean_something_else_are_not(one: str, other: str) -> None:
    assert not policy_json.equivalent(one, other)


def test_statements_may_come_in_any_order() -> None:
    a, b = {"Effect": "Allow", "Action": "a"}, {"Effect": "Deny", "Action": "b"}
    assert policy_json.equivalent(json.dumps({"Statement": [a, b]}), json.dumps({"Statement": [b, a]}))


def test_the_normal_form_is_compact_sorted_and_escaped_like_go() -> None:
    assert policy_json.normalise('{"b": "<ü&>", "a": [1]}') == '{"a":[1],"b":"\\u003cü\\u0026\\u003e"}'


def test_inline_policies_start_with_their_version() -> None:
    text = policy_json.normalise_version_first('{"Statement": [], "Id": "x", "Version": "2012-10-17"}')
    assert text == '{"Version":"2012-10-17","Id":"x","Statement":[]}'


@pytest.mark.parametrize("text", ["", "policy", "[]", '{"a": }'])
def test_what_is_no_json_object_is_an_invalid_policy(text: str) -> None:
    assert "invalid JSON policy" in (policy_json.problem(text) or "")


@given(st.recursive(st.text() | st.integers() | st.booleans(), lambda x: st.dictionaries(st.text(), x) | st.lists(x)))
def test_go_text_reads_back_as_what_it_was(value: Any) -> None:
    assert json.loads(policy_json.go_json(value)) == value


@given(st.dictionaries(st.text(), st.text()))
def test_the_normal_form_is_stable(value: Any) -> None:
    once = policy_json.normalise(json.dumps(value))
    assert policy_json.normalise(once) == once
