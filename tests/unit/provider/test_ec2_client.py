"""One client of EC2 for all resources of a region."""

import pytest

from nomad_stateful.ebs.ec2_client import AwsPlace, ec2_client
from nomad_stateful.errors import ProviderError


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-west-2"}.items():
        monkeypatch.setenv(name, value)


def test_resources_of_one_region_share_a_client() -> None:
    assert ec2_client(AwsPlace("us-west-2")) is ec2_client(AwsPlace("us-west-2", "111111111111"))
    assert ec2_client(AwsPlace("us-west-2")) is not ec2_client(AwsPlace("us-east-1"))


def test_another_endpoint_in_the_environment_makes_another_client(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ec2_client()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert ec2_client().meta.endpoint_url == "http://127.0.0.1:9" != before.meta.endpoint_url


def test_a_missing_region_is_told_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    for _ in range(2):
        with pytest.raises(ProviderError, match="Set region, or AWS_REGION"):
            ec2_client()


@pytest.mark.parametrize(
    ("variable", "what"),
    [
        ("AWS_ACCESS_KEY_ID", "access key"),
        ("AWS_SECRET_ACCESS_KEY", "secret key"),
        ("AWS_SESSION_TOKEN", "session token"),
    ],
)
@pytest.mark.parametrize("value", ["s3cret\n", " s3cret", "s3crét"])
def test_credentials_that_no_header_can_have_are_not_shown(
    monkeypatch: pytest.MonkeyPatch, variable: str, what: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ProviderError, match=rf"^the AWS {what} \(env\) is a value that is not shown: ") as refused:
        ec2_client()
    assert value.strip() not in str(refused.value)
