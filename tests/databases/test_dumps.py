"""Dumps and restores of every database, by the tasks' own scripts, as the accounts that the server's job makes."""

from __future__ import annotations

import subprocess

import pytest

from tests.databases.dumped import Dumped

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]


def test_a_dump_restores_everything_into_the_running_server(shop: Dumped) -> None:
    before = shop.objects()
    assert all(before.values())
    done = shop.dump()
    assert done.returncode == 0, done.stderr
    (name,) = shop.names
    assert done.stdout.startswith(f"{name} holds shop\n")
    shop.lose()
    restored = shop.restore()
    assert restored.returncode == 0, restored.stderr
    assert restored.stdout == f"{name} is restored\n"
    assert shop.objects() == before


def test_a_dump_that_is_cut_off_is_refused_before_anything_is_done(shop: Dumped) -> None:
    assert shop.dump().returncode == 0
    (name,) = shop.names
    content = (shop.folder / name).read_bytes()
    shop.put(content[: len(content) // 2], name)
    before = shop.objects()
    restored = shop.restore()
    assert restored.returncode != 0
    assert restored.stderr.endswith(f"{name} is not whole: nothing is changed. Restore another dump\n")
    assert shop.objects() == before


def test_the_oldest_dumps_go_once_there_are_more_than_are_kept(shop: Dumped) -> None:
    old = [shop.put(b"x", f"2020010{day}T000000Z.{shop.ending}") for day in (1, 2)]
    done = shop.dump(keep=2)
    assert done.returncode == 0, done.stderr
    assert shop.names[:-1] == old[1:]
    assert f"{old[0]} is removed: 2 dumps are kept" in done.stdout


def test_a_full_volume_fails_the_dump_and_keeps_the_older_ones(shop: Dumped) -> None:
    shop.grow()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(shop.folder)], check=True)
    try:
        older = shop.put(b"older", f"20260101T030000Z.{shop.ending}")
        done = shop.dump()
        kept = shop.names
    finally:
        subprocess.run(["umount", str(shop.folder)], check=True)
    assert done.returncode != 0
    assert "No space left on device" in done.stderr
    assert kept == [older]


def test_without_a_server_the_dump_says_that_there_is_no_service(shop: Dumped) -> None:
    done = shop.dump_of_no_service()
    assert done.returncode != 0
    assert "no such service is registered now" in done.stderr
    assert shop.names == []
