import json

import pytest

from nomad_stateful.errors import ProviderError
from sandbox.standins.plugins.aws.config import parse, problems, with_defaults


def test_the_region_comes_from_the_environment_when_unset() -> None:
    assert with_defaults({}, {"AWS_REGION": "us-west-2"})["region"] == "us-west-2"
    assert with_defaults({"region": "eu-west-1"}, {"AWS_REGION": "us-west-2"})["region"] == "eu-west-1"


def test_the_official_defaults_are_filled_in() -> None:
    filled = with_defaults({}, {})
    assert filled["skipCredentialsValidation"] == "false"
    assert filled["skipRegionValidation"] == "true"


def test_a_missing_region_names_the_key_and_the_remedy() -> None:
    (reason,) = problems({})
    assert "aws:region" in reason
    assert "AWS_REGION" in reason


def test_values_arrive_as_json_strings() -> None:
    config = parse(
        {
            "region": "us-west-2",
            "accessKey": "12345",
            "allowedAccountIds": "[123456789012, 1]",
            "endpoints": json.dumps([{"ec2": "http://127.0.0.1:5000"}, {"iam": "http://127.0.0.1:5001"}]),
            "defaultTags": json.dumps({"tags": {"team": "db", "cost": 5}}),
            "skipRequestingAccountId": "true",
            "maxRetries": "3",
            "version": "7.51.1",
        }
    )
    assert config.access_key == "12345"
    assert config.allowed_accounts == ("123456789012", "000000000001")
    assert config.endpoints == {"ec2": "http://127.0.0.1:5000", "iam": "http://127.0.0.1:5001"}
    assert config.tag_rules.defaults == {"team": "db", "cost": "5"}
    assert config.skip_account_id
    assert config.max_retries == 3


def test_credentials_do_not_show_in_a_repr() -> None:
    config = parse({"region": "us-west-2", "secretKey": "hush", "token": "psst"})
    assert "hush" not in repr(config)
    assert "psst" not in repr(config)


def test_assumed_roles_become_parameters_of_sts() -> None:
    role = {"roleArn": "arn:aws:iam::123456789012:role/x", "externalId": "e"}
    (params,) = parse({"region": "us-west-2", "assumeRoles": json.dumps([role])}).assume_roles
    assert params == {
        "RoleArn": "arn:aws:iam::123456789012:role/x",
        "RoleSessionName": "pulumi",
        "ExternalId": "e",
    }


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("assumeRole", "{}", "should be 'aws:assumeRoles'"),
        ("httpProxy", "http://proxy:3128", "--plugins official"),
        ("useFipsEndpoint", "true", "--plugins official"),
        ("tagPolicyCompliance", "error", "--plugins official"),
        ("regoin", "us-west-2", "no such key"),
        ("sharedCredentialsFiles", '["a","b"]', "more than one file"),
        ("sharedConfigFiles", '["a"]', "--plugins official"),
        ("ignoreTags", '{"keys": ["a"]}', "--plugins official"),
        ("skipMetadataApiCheck", "true", "--plugins official"),
        ("skipRegionValidation", "false", "--plugins official"),
        ("maxRetries", "-1", "aws:maxRetries is -1"),
        ("maxRetries", "many", "aws:maxRetries is 'many'"),
        ("retryMode", "adaptive", "--plugins official"),
        ("allowedAccountIds", '["prod"]', "twelve digits"),
        ("allowedAccountIds", "123456789012", "not a list"),
        ("skipRequestingAccountId", "perhaps", "use true or false"),
        ("endpoints", '[{"ec2": "localhost:5000"}]', "http://"),
        ("assumeRoles", '[{"sessionName": "x"}]', "roleArn"),
        ("assumeRoles", '[{"roleArn": "x", "duration": "1h"}]', "--plugins official"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(key: str, value: str, said: str) -> None:
    (reason,) = problems({"region": "us-west-2", key: value})
    assert key in reason
    assert said in reason


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("useFipsEndpoint", "false"),
        ("httpProxy", ""),
        ("tagPolicyCompliance", "disabled"),
        ("s3UsePathStyle", "true"),
        ("skipRegionValidation", "true"),
    ],
)
def test_what_changes_nothing_is_accepted(key: str, value: str) -> None:
    assert problems({"region": "us-west-2", key: value}) == []


def test_a_region_that_cannot_be_part_of_a_host_name_is_refused() -> None:
    with pytest.raises(ProviderError, match="letters, digits and hyphens"):
        parse({"region": "us west 2"})
