"""What S3 has where a log belongs, and answers that fail or are lost: no object is replaced, and no log left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from nomad_stateful.agent.copies.model import HeldError
from nomad_stateful.ebs import bucket
from tests.unit.agent.world import BUCKET, World, fault, names, up_to

MIB = 1 << 20


def closed(world: World, size: int = 0) -> tuple[str, bytes]:
    """Has a transaction in a log that is closed and not yet copied; where it belongs, and the log."""
    number = world.server.number
    world.server.commit()
    world.server.rows(size)
    world.server.close_log()
    return world.key(number), world.server.path(number).read_bytes()


def test_what_came_there_meanwhile_is_not_replaced(world: World) -> None:
    world.commits(1)
    (first, log), (second, same) = closed(world), closed(world)
    world.put(first, b"4" * 500)
    # One whose answer was lost.
    world.put(second, same)
    assert world.commits(1).gtids == up_to(4)
    assert world.body(first) == b"4" * 500
    assert world.body(f"{first}-{len(log)}") == log
    assert world.sizes()[second] == len(same)
    assert not [key for key in world.sizes() if key.startswith(f"{second}-")]


@pytest.mark.parametrize("size", [0, 12 * MIB])
def test_another_ones_object_of_a_logs_key_and_size_is_not_taken_for_the_log(
    world: World, small_parts: None, size: int
) -> None:
    known = world.commits(1)
    key, log = closed(world, size)
    world.put(key, b"4" * len(log))
    for _ in range(2):
        with pytest.raises(HeldError, match=f"s3://{BUCKET}/{key} is not the server's binlog.000002: somebody else"):
            world.round()
    assert (world.until, world.body(key)) == (known, b"4" * len(log))
    world.s3.delete_object(Bucket=BUCKET, Key=key)
    assert world.round().gtids == up_to(2)
    assert world.body(key) == log


@contextmanager
def cut_off(client: Any) -> Iterator[list[str]]:
    """While it lasts, the connection ends after the first page of a listing, whose prefix is noted."""
    pages: list[str] = []

    def one_at_a_time(params: dict[str, Any], **_: Any) -> None:
        params["MaxKeys"] = 1
        if "ContinuationToken" in params:
            pages.append(params["Prefix"])
            raise ConnectionClosedError(endpoint_url="s3")

    client.meta.events.register("before-parameter-build.s3.ListObjectsV2", one_at_a_time)
    yield pages
    client.meta.events.unregister("before-parameter-build.s3.ListObjectsV2", one_at_a_time)


def test_a_listing_that_fails_in_its_middle_is_made_again(world: World) -> None:
    """The last log of a restored volume is shorter than the one that the old server copied."""
    (first, _), (second, log) = closed(world), closed(world)
    world.put(first, world.server.path(1).read_bytes())
    world.put(second, b"2" * 500)
    with cut_off(world.s3) as pages, pytest.raises(ConnectionClosedError):
        world.round()
    assert len(pages) == 1
    assert world.until is None
    world.round()
    assert world.sizes() == {
        first: world.server.path(1).stat().st_size,
        second: 500,
        f"{second}-{len(log)}": len(log),
    } | {world.key(3): world.server.path(3).stat().st_size}


class TestAnAnswerThatIsLost:
    """S3 has what was sent, and nobody was told: it costs a try."""

    def test_of_a_log(self, world: World) -> None:
        world.commits(1)
        known = world.until
        with fault(world.s3, "PutObject", done=True), pytest.raises(ConnectionClosedError):
            world.commits(1)
        assert (world.until, world.stored()) == (known, names(1, 2))
        assert world.round().gtids == up_to(2)
        assert world.stored() == names(1, 2)

    def test_of_until(self, world: World) -> None:
        world.commits(1)
        with fault(world.s3, "PutObject", until=True, done=True), pytest.raises(ConnectionClosedError):
            world.commits(1)
        assert world.commits(1).gtids == up_to(3)

    def test_of_what_the_client_sends_once_more_by_itself(self, world: World) -> None:
        world.commits(1)
        events, sent = world.s3.meta.events, []

        def again(attempts: int, **_: Any) -> int | None:
            sent.append(attempts)
            return 0 if attempts == 1 else None

        events.register_first("needs-retry.s3.PutObject", again)
        try:
            # Of `until` it may have been another one's.
            with pytest.raises(HeldError, match="was written by another one meanwhile"):
                world.commits(1)
        finally:
            events.unregister("needs-retry.s3.PutObject", again)
        assert sent == [1, 2, 1, 2]
        assert world.round().gtids == up_to(2)
        assert world.stored() == names(1, 2)

    @pytest.mark.parametrize("verb", ["CompleteMultipartUpload", "UploadPart", "CreateMultipartUpload"])
    def test_of_parts(self, world: World, small_parts: None, verb: str) -> None:
        world.commits(1)
        key, log = closed(world, 12 * MIB)
        with fault(world.s3, verb, done=True), pytest.raises(ConnectionClosedError):
            world.round()
        assert world.round().gtids == up_to(2)
        assert world.body(key) == log
        # One that was begun without an answer is the bucket's lifecycle's to end.
        assert len(uploads(world)) == (verb == "CreateMultipartUpload")


@pytest.mark.parametrize(
    "refused",
    [
        lambda world: fault(world.s3, "PutObject"),
        lambda world: fault(world.s3, "PutObject", until=True),
        lambda world: fault(world.s3, "GetObject", until=True),
    ],
    ids=["log", "until", "read"],
)
def test_what_s3_refuses_is_made_again(world: World, refused: Callable[[World], Any]) -> None:
    known = world.commits(1)
    with refused(world):
        for _ in range(2):
            with pytest.raises(ClientError, match="SlowDown"):
                world.commits(1)
    assert world.until == known
    assert world.commits(1).gtids == up_to(4)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has S3 take less at once than it does."""
    monkeypatch.setattr(bucket, "_LARGEST_PUT", MIB)
    monkeypatch.setattr(bucket, "_PART", 5 * MIB)


def uploads(world: World) -> list[Any]:
    """Uploads in parts that have neither ended nor been given up."""
    return list(world.s3.list_multipart_uploads(Bucket=BUCKET).get("Uploads", []))


@pytest.mark.usefixtures("small_parts")
class TestALogThatIsTooLargeForOneRequest:
    """It goes in parts."""

    def test_it_is_there_as_it_was(self, world: World) -> None:
        world.commits(1)
        key, log = closed(world, 12 * MIB)
        assert (world.round().gtids, world.body(key), uploads(world)) == (up_to(2), log, [])

    def test_it_does_not_replace_what_came_there_meanwhile(self, world: World) -> None:
        world.commits(1)
        key, log = closed(world, 12 * MIB)
        world.put(key, b"4" * 500)
        assert world.round().gtids == up_to(2)
        assert (world.body(key), world.body(f"{key}-{len(log)}"), uploads(world)) == (b"4" * 500, log, [])

    @pytest.mark.parametrize("verb", ["UploadPart", "CompleteMultipartUpload"])
    def test_parts_of_an_upload_that_fails_are_given_up(self, world: World, verb: str) -> None:
        known = world.commits(1)
        key, log = closed(world, 12 * MIB)
        with fault(world.s3, verb), pytest.raises(ClientError, match=f"SlowDown.* when calling the {verb}"):
            world.round()
        assert (world.until, uploads(world)) == (known, [])
        assert (world.round().gtids, world.body(key)) == (up_to(2), log)
