"""The account in moto's memory: how it is served, how much it holds, and how it is emptied between tests."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import boto3
from moto.backends import get_backend
from moto.server import ThreadedMotoServer

REGION = "us-west-2"
ACCOUNT = "123456789012"


@contextlib.contextmanager
def moto() -> Iterator[str]:
    """Serves the account on a free port of this machine; its address."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    reset_account()
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def environment(url: str) -> dict[str, str]:
    """What leads a program there: credentials that are none, and no look around for others."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "AKIATESTTESTTESTTEST",
        "AWS_SECRET_ACCESS_KEY": "made-up-secret",
        "AWS_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }


def clients(url: str) -> Any:
    """The account as somebody else sees it: clients for ec2 and iam."""
    session = boto3.Session(aws_access_key_id="other", aws_secret_access_key="other", region_name=REGION)
    ec2, iam = (session.client(name, endpoint_url=url) for name in ("ec2", "iam"))
    return SimpleNamespace(ec2=ec2, iam=iam)


def things() -> int:
    """How much there is; asked of moto itself, whose API lists thousands of snapshots and policies of others."""
    roles = get_backend("iam")[ACCOUNT]["aws"].roles.values()
    in_roles = sum(len(role.policies) + len(role.managed_policies) for role in roles)
    return in_roles + sum(len(holds) for holds in _holdings())


def _holdings() -> Sequence[dict[str, Any]]:
    """What the account holds, by id; with moto's own snapshots and policies."""
    ec2, iam = get_backend("ec2")[ACCOUNT][REGION], get_backend("iam")[ACCOUNT]["aws"]
    return ec2.volumes, ec2.snapshots, ec2.reservations, iam.managed_policies, iam.roles


@functools.cache
def _from_the_start() -> Sequence[frozenset[str]]:
    return [frozenset(holds) for holds in _holdings()]


def empty_account() -> None:
    """Takes away what tests made: moto's own reset reads thousands of images and policies again."""
    for holds, known in zip(_holdings(), _from_the_start(), strict=True):
        for one in set(holds) - known:
            del holds[one]


def reset_account() -> None:
    """Makes the account as moto makes it; to be called before it is first emptied."""
    get_backend("ec2").reset()
    get_backend("iam").reset()
    _from_the_start.cache_clear()
    _from_the_start()
