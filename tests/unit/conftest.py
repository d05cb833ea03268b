"""What makes moto and botocore quick: neither reads anew, for each test, what no test here asks for."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.loaders import JSONFileLoader


@pytest.fixture(scope="session", autouse=True)
def quick_aws() -> Iterator[None]:
    """An EC2 without the 650 images of others, and models of the services' APIs that are read once."""
    kept = functools.cache(JSONFileLoader().load_file)

    def load_file(_loader: Any, path: str) -> Any:
        return kept(path)

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
        patched.setattr(JSONFileLoader, "load_file", load_file)
        yield
