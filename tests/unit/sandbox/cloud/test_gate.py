"""Who gets through to the sandbox's API: clients with a key that the sandbox gave out, as AWS would have it."""

from __future__ import annotations

import functools
import http.client
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore import UNSIGNED
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from sandbox.cloud.gate import Gate
from sandbox.cloud.signatures import Key

OWNER, USER, SESSION = "AKIAOWNEROWNEROWNER1", "AKIAUSERUSERUSERUSE1", "ASIASESSIONSESSIONS1"
SECRET, TOKEN = "the-secret-of-the-owner", "a-session-token"
CALLS: dict[str, Callable[[Any], Any]] = {
    "ec2": lambda client: client.describe_volumes(Filters=[{"Name": "tag:a b", "Values": ["c+d/ä~*"]}]),
    "sts": lambda client: client.get_caller_identity(),
    "iam": lambda client: client.list_roles(PathPrefix="/a b/"),
    "s3": lambda client: client.put_object(Bucket="dumps", Key="a b/ä+c=d&e//f", Body=b"rows", Metadata={"x": "a  b"}),
    "efs": lambda client: client.describe_file_systems(CreationToken="a b+c/ä"),
    "dlm": lambda client: client.list_tags_for_resource(ResourceArn="arn:aws:dlm:us-west-2:1:policy/policy-1"),
}
UNKNOWN = {
    "ec2": "AuthFailure",
    "sts": "InvalidClientTokenId",
    "iam": "InvalidClientTokenId",
    "s3": "InvalidAccessKeyId",
    "efs": "UnrecognizedClientException",
    "dlm": "UnrecognizedClientException",
}
MISMATCH = {
    "ec2": "AuthFailure",
    "sts": "SignatureDoesNotMatch",
    "iam": "SignatureDoesNotMatch",
    "s3": "SignatureDoesNotMatch",
    "efs": "InvalidSignatureException",
    "dlm": "InvalidSignatureException",
}
_SESSION = boto3.Session(region_name="us-west-2")
_DONE = b"<done><ListRolesResult/><GetCallerIdentityResult/></done>"


@functools.cache
def _client(url: str, service: str, key: str, secret: str, token: str, unsigned: bool) -> Any:
    options: Any = {"signature_version": UNSIGNED} if unsigned else {}
    config = Config(retries={"total_max_attempts": 1}, proxies={}, **options)
    keys: Any = {"aws_access_key_id": key, "aws_secret_access_key": secret, "aws_session_token": token or None}
    return _SESSION.client(service, endpoint_url=url, config=config, **keys)  # type: ignore[call-overload]


class Api:
    """An API behind a gate: the calls that got through, and the clock by which the gate goes."""

    def __init__(self, url: str) -> None:
        self.through: list[str] = []
        self.url = url
        self.skew = timedelta()
        self.session_ends = datetime.now(UTC) + timedelta(hours=1)
        self.gate = Gate(self._do, self._key_of, OWNER, {"/sandbox/clock"}, self._now)

    def _now(self) -> datetime:
        return datetime.now(UTC) + self.skew

    def _key_of(self, access_key_id: str) -> Key | None:
        known = {OWNER: Key(SECRET), USER: Key(SECRET), SESSION: Key(SECRET, TOKEN, self.session_ends)}
        return known.get(access_key_id)

    def _do(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        self.through.append(environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0)).decode())
        start_response("200 OK", [("Access-Control-Allow-Origin", "*")])
        scope = environ["HTTP_AUTHORIZATION"]
        return [b"{}" if "/efs/" in scope or "/dlm/" in scope else _DONE]

    def client(
        self, service: str, key: str = OWNER, secret: str = SECRET, token: str = "", unsigned: bool = False
    ) -> Any:
        return _client(self.url, service, key, secret, token, unsigned)

    def code(self, service: str, **credentials: Any) -> str:
        """The code of the error that a call is refused with, as the SDK reads it."""
        before = len(self.through)
        with pytest.raises(ClientError) as refused:
            CALLS[service](self.client(service, **credentials))
        assert len(self.through) == before, "what is refused does not get through"
        return str(refused.value.response["Error"]["Code"])

    def send(self, path: str, method: str = "GET", body: str = "", **headers: str) -> tuple[int, dict[str, str]]:
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=10)
        connection.request(method, path, body or None, {name.replace("_", "-"): one for name, one in headers.items()})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}

    def signed(self, path: str, key: str = OWNER, method: str = "GET", body: str = "") -> dict[str, str]:
        request = AWSRequest(method, f"{self.url}{path}", {}, body.encode())
        SigV4Auth(Credentials(key, SECRET), "ec2", "us-west-2").add_auth(request)
        return dict(request.headers.items())


@pytest.fixture
def api(served: tuple[str, list[Any]]) -> Api:
    url, current = served
    made = Api(url)
    current[:] = [made.gate]
    return made


@pytest.mark.parametrize("service", CALLS)
@pytest.mark.parametrize("credentials", [{}, {"key": SESSION, "token": TOKEN}])
def test_a_call_signed_with_a_key_that_was_given_out_gets_through_with_its_body(
    api: Api, service: str, credentials: dict[str, str]
) -> None:
    CALLS[service](api.client(service, **credentials))  # type: ignore[arg-type]
    expected = {"s3": "rows", "ec2": "Action=DescribeVolumes", "sts": "Action=GetCallerIdentity"}
    assert api.through[0].startswith(expected.get(service, ""))


@pytest.mark.parametrize("service", CALLS)
def test_a_key_that_nobody_was_given_is_refused_in_the_services_words(api: Api, service: str) -> None:
    assert api.code(service, key="AKIAINVENTEDINVENTED") == UNKNOWN[service]


@pytest.mark.parametrize("service", CALLS)
def test_a_key_with_another_secret_is_refused_in_the_services_words(api: Api, service: str) -> None:
    assert api.code(service, secret="a-guess") == MISMATCH[service]


@pytest.mark.parametrize(
    ("service", "code"),
    [("ec2", "MissingAuthenticationToken"), ("sts", "MissingAuthenticationToken"), ("s3", "AccessDenied")],
)
def test_a_call_without_a_signature_is_refused_in_the_services_words(api: Api, service: str, code: str) -> None:
    assert api.code(service, unsigned=True) == code


@pytest.mark.parametrize(("service", "code"), [("ec2", "AuthFailure"), ("sts", "InvalidClientTokenId")])
@pytest.mark.parametrize("token", ["", "another-token"])
def test_a_roles_key_is_worth_nothing_without_its_token(api: Api, service: str, code: str, token: str) -> None:
    assert api.code(service, key=SESSION, token=token) == code


@pytest.mark.parametrize(
    ("service", "code"), [("ec2", "RequestExpired"), ("sts", "ExpiredToken"), ("s3", "ExpiredToken")]
)
def test_a_roles_key_ends(api: Api, service: str, code: str) -> None:
    api.session_ends = datetime.now(UTC) - timedelta(seconds=1)
    assert api.code(service, key=SESSION, token=TOKEN) == code


@pytest.mark.parametrize("minutes", [-16, 16])
def test_a_signature_is_good_for_a_quarter_of_an_hour(api: Api, minutes: int) -> None:
    api.skew = timedelta(minutes=minutes)
    assert api.code("ec2") == "RequestExpired"
    assert api.code("s3") == "RequestTimeTooSkewed"


@pytest.mark.parametrize(
    ("path", "method", "body"), [("/?Action=B", "POST", ""), ("/b", "POST", ""), ("/", "PUT", ""), ("/", "POST", "x=1")]
)
def test_a_signature_is_good_for_its_own_method_path_query_and_body(
    api: Api, path: str, method: str, body: str
) -> None:
    headers = api.signed("/", method="POST")
    assert api.send("/", "POST", **headers)[0] == 200
    assert api.send(path, method, body, **headers)[0] == 401
    assert api.send("/", "POST", **{**headers, "Host": "evil.example"})[0] == 401
    assert api.through == [""]


def test_a_body_that_is_not_the_signed_one_is_refused_by_s3(api: Api) -> None:
    def change(request: Any, **_: Any) -> None:
        request.body = b"other"

    client = api.client("s3")
    client.meta.events.register("before-send.s3.PutObject", change, unique_id="change")
    with pytest.raises(ClientError) as refused:
        client.put_object(Bucket="dumps", Key="a", Body=b"dumps")
    client.meta.events.unregister("before-send.s3.PutObject", unique_id="change")
    assert refused.value.response["Error"]["Code"] == "XAmzContentSHA256Mismatch"
    assert api.through == []


def test_a_browsers_page_is_refused_before_its_signature_is_looked_at(api: Api) -> None:
    asked = {"Access_Control_Request_Method": "POST", "Access_Control_Request_Headers": "authorization"}
    preflight, headers = api.send("/", "OPTIONS", Origin="http://evil.example", **asked)
    assert (preflight, [name for name in headers if name.startswith("access-control")]) == (403, [])
    assert api.send("/", "POST", Origin="http://evil.example", **api.signed("/", method="POST"))[0] == 403
    assert api.send("/", "POST", Origin="null", **api.signed("/", method="POST"))[0] == 403
    assert api.through == []


def test_no_answer_lets_a_page_of_another_origin_read_it(api: Api) -> None:
    status, headers = api.send("/", "POST", **api.signed("/", method="POST"))
    assert (status, [name for name in headers if name.startswith("access-control")]) == (200, [])


@pytest.mark.parametrize("path", ["/moto-api/data.json", "/moto-api/reset", "/%6doto-api/", "/latest/meta-data/iam/"])
def test_motos_own_pages_are_closed_to_the_owner_too(api: Api, path: str) -> None:
    assert api.send(path, **api.signed(path))[0] == 403
    assert api.through == []


def test_the_clock_of_snapshots_obeys_the_owner_alone(api: Api) -> None:
    assert api.send("/sandbox/clock", **api.signed("/sandbox/clock", USER))[0] == 403
    assert api.send("/sandbox/clock", **api.signed("/sandbox/clock"))[0] == 200


@pytest.mark.parametrize("query", ["", "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=" + "0" * 64])
@pytest.mark.parametrize("authorization", ["", "Basic YTpi", "AWS4-HMAC-SHA256 Credential=x", "AWS AKIA:old"])
def test_nothing_else_counts_as_a_signature(api: Api, query: str, authorization: str) -> None:
    headers = {"Authorization": authorization} if authorization else {}
    assert api.send(f"/bucket/key?{query}", **headers)[0] in (400, 403)
    assert api.through == []
