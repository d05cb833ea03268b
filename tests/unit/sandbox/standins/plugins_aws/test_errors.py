import botocore.exceptions as boto
import pytest

from nomad_stateful.errors import ProviderError
from sandbox.standins.plugins.aws.errors import aws_errors, error_code, explain


def test_a_refusal_keeps_awss_code_and_message() -> None:
    error = boto.ClientError({"Error": {"Code": "VolumeInUse", "Message": "vol-1 is in use"}}, "DeleteVolume")
    assert error_code(error) == "VolumeInUse"
    assert explain(error) == "VolumeInUse: vol-1 is in use (DeleteVolume)"


def test_unknown_credentials_come_with_a_remedy() -> None:
    error = boto.ClientError({"Error": {"Code": "InvalidClientTokenId", "Message": "no"}}, "GetCallerIdentity")
    assert "check access key and secret key" in explain(error)


def test_missing_credentials_name_the_settings() -> None:
    assert "AWS_ACCESS_KEY_ID" in explain(boto.NoCredentialsError())


@pytest.mark.parametrize(
    "error",
    [
        boto.EndpointConnectionError(endpoint_url="http://me:secret@127.0.0.1:5/", error="refused"),
        boto.ConnectTimeoutError(endpoint_url="http://me:secret@127.0.0.1:5/"),
    ],
)
def test_an_unreachable_endpoint_is_named_without_its_password(error: Exception) -> None:
    text = explain(error)
    assert "cannot reach AWS at http://127.0.0.1:5" in text
    assert "AWS_ENDPOINT_URL" in text
    assert "secret" not in text


def test_values_of_parameters_are_not_repeated() -> None:
    assert "hush" not in explain(boto.ParamValidationError(report="Invalid type for parameter, value: hush"))


def test_errors_start_with_what_was_being_done() -> None:
    with (
        pytest.raises(ProviderError, match=r"^creating EBS Volume: no valid credential"),
        aws_errors("creating EBS Volume"),
    ):
        raise boto.NoCredentialsError
    with pytest.raises(ProviderError, match=r"^reading it: it broke"), aws_errors("reading it"):
        raise ProviderError("it broke")
