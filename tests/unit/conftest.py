"""What unit tests share: quick moto and botocore, a Nomad, and the pages of a wheel."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.loaders import JSONFileLoader

from tests.fake_nomad import FakeNomad, fake_nomad

_kept = functools.cache(JSONFileLoader().load_file)


def _load_file(_loader: Any, path: str) -> Any:
    return _kept(path)


@pytest.fixture
def ec2() -> Iterator[Any]:
    """EC2 of an account that has nothing but what the test makes."""
    from tests.unit.aws import account  # moto takes half a second to import

    with account() as client:
        yield client


@pytest.fixture
def nomad() -> Iterator[FakeNomad]:
    """A Nomad that answers what the test puts there."""
    with fake_nomad() as fake:
        yield fake


@pytest.fixture(scope="module", autouse=True)
def quick_aws() -> Iterator[None]:
    """An EC2 without the 650 images of others, and models of the services' APIs that are read once.

    For a module at a time: what else runs in this process needs the images.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
        patched.setattr(JSONFileLoader, "load_file", _load_file)
        yield


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where a wheel has put the pages."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    folder = tmp_path / "share/doc/nomad-stateful/docs"
    folder.mkdir(parents=True)
    return folder
