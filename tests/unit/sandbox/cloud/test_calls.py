"""The record of API calls."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sandbox.cloud.calls import CallRecorder, without_secrets


def environ(body: str, service: str = "ec2", method: str = "POST", path: str = "/") -> dict[str, Any]:
    """A call as a server hands it to an application."""
    signed = f"Credential=AKIA1/20260101/us-west-2/{service}/aws4_request, Signature=s"
    return {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "CONTENT_TYPE": "application/x-www-form-urlencoded; charset=utf-8",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body.encode()),
        "HTTP_AUTHORIZATION": f"AWS4-HMAC-SHA256 {signed}",
    }


def call(recorder: CallRecorder, body: str) -> tuple[str, bytes]:
    statuses: list[str] = []
    answer = b"".join(recorder(environ(body), lambda status, headers: statuses.append(status)))
    recorder.close()
    return statuses[0], answer


def test_a_call_is_recorded_with_its_caller_and_passed_on_whole(tmp_path: Path) -> None:
    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        start_response("400 Bad Request", [])
        return [b"<Code>Nope</Code>", environ["wsgi.input"].read()]

    log = tmp_path / "calls.jsonl"
    status, answer = call(CallRecorder(app, log, lambda key: f"who-{key}"), "Action=Do&Version=1&VolumeId=v")
    assert (status, answer) == ("400 Bad Request", b"<Code>Nope</Code>Action=Do&Version=1&VolumeId=v")
    entry = json.loads(log.read_text())
    assert (entry["action"], entry["caller"], entry["error"]) == ("Do", "who-AKIA1", "Nope")
    assert entry["params"] == {"VolumeId": "v"}
    assert log.stat().st_mode & 0o077 == 0


def test_a_failure_inside_is_answered_without_a_traceback(tmp_path: Path) -> None:
    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        raise NotImplementedError("not <yet>")

    status, answer = call(CallRecorder(app, tmp_path / "calls.jsonl", lambda key: ""), "Action=Do")
    assert status == "500 Internal Server Error"
    assert b"<Code>InternalError</Code><Message>NotImplementedError: not &lt;yet&gt;" in answer


def test_secrets_and_endless_values_stay_out_of_the_record() -> None:
    shown = without_secrets(
        {"UserData": "x", "SecretString": "x", "NewPassword": "x", "ClientToken": "t", "D": "d" * 999}
    )
    assert shown["UserData"] == shown["SecretString"] == shown["NewPassword"] == "(hidden)"
    assert shown["ClientToken"] == "t"
    assert len(shown["D"]) < 500


def test_a_detachment_is_recorded_with_where_the_volume_was_mounted_before_it(tmp_path: Path) -> None:
    mounted = {"vol-1": ["/mnt/v"]}

    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        mounted.clear()
        start_response("200 OK", [])
        return [b""]

    log = tmp_path / "calls.jsonl"
    recorder = CallRecorder(app, log, lambda key: "", mounted_at=lambda volume: mounted.get(volume, []))
    call(recorder, "Action=DetachVolume&VolumeId=vol-1")
    assert json.loads(log.read_text())["mounted"] == ["/mnt/v"]
