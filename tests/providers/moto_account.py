"""The account in moto's memory: how it is served, how much it holds, and how it is emptied between tests."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import boto3
from moto.backends import get_backend
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

from sandbox.cloud import moto_facts
from sandbox.cloud.lifecycle.api import LifecycleApi

REGION = "us-west-2"
ACCOUNT = "123456789012"

LIFECYCLE = LifecycleApi(
    DomainDispatcherApplication(create_backend_app),
    lambda region: get_backend("ec2")[ACCOUNT][region],
    lambda arn: moto_facts.trusts_lifecycle_manager(arn, ACCOUNT),
    ACCOUNT,
)
"""moto, and in front of it the service that it lacks."""


@contextlib.contextmanager
def moto() -> Iterator[str]:
    """Serves the account; its address."""
    reset_account()
    with served(LIFECYCLE) as url:
        yield url


@contextlib.contextmanager
def served(application: Any) -> Iterator[str]:
    """Serves an application on a free port of this machine; its address."""
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=_Quiet)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Quiet(WSGIRequestHandler):  # type: ignore[misc]
    def log_request(self, *_: Any) -> None:
        """Nobody reads it."""


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
    """The account as somebody else sees it: clients for ec2, iam, dlm and s3."""
    session = boto3.Session(aws_access_key_id="other", aws_secret_access_key="other", region_name=REGION)
    made = {name: session.client(name, endpoint_url=url) for name in ("ec2", "iam", "dlm", "s3")}
    return SimpleNamespace(**made)


def things() -> int:
    """How much there is; asked of moto itself, whose API lists thousands of snapshots and policies of others."""
    roles = get_backend("iam")[ACCOUNT]["aws"].roles.values()
    in_roles = sum(len(role.policies) + len(role.managed_policies) for role in roles)
    in_buckets = sum(_set_in(bucket) for bucket in get_backend("s3")[ACCOUNT]["aws"].buckets.values())
    on_volumes = sum(map(len, _tags().values()))
    others = len(LIFECYCLE.everything()) + sum(len(holds) for holds in _holdings())
    return in_roles + in_buckets + on_volumes + others


def _tags() -> dict[str, dict[str, str]]:
    """The tags of volumes, by their ids; moto keeps them when a volume is gone."""
    ec2 = get_backend("ec2")[ACCOUNT][REGION]
    return {key: tags for key, tags in ec2.tags.items() if key in ec2.volumes}


def _set_in(bucket: Any) -> int:
    """How much is set in a bucket."""
    parts = (bucket.policy, bucket.encryption, bucket.public_access_block, bucket.rules, bucket.default_lock_mode)
    return sum(map(bool, parts)) + int(bucket.versioning_status == "Enabled")


def _holdings() -> Sequence[dict[str, Any]]:
    """What the account holds, by id; with moto's own snapshots and policies."""
    ec2, iam = get_backend("ec2")[ACCOUNT][REGION], get_backend("iam")[ACCOUNT]["aws"]
    buckets = get_backend("s3")[ACCOUNT]["aws"].buckets
    return ec2.volumes, ec2.snapshots, ec2.reservations, iam.managed_policies, iam.roles, buckets


@functools.cache
def _from_the_start() -> Sequence[frozenset[str]]:
    return [frozenset(holds) for holds in _holdings()]


def empty_account() -> None:
    """Takes away what tests made: moto's own reset reads thousands of images and policies again."""
    for holds, known in zip(_holdings(), _from_the_start(), strict=True):
        for one in set(holds) - known:
            del holds[one]
    ec2 = get_backend("ec2")[ACCOUNT][REGION]
    for volume_id in [one for one in ec2.tags if one.startswith("vol-") and one not in ec2.volumes]:
        del ec2.tags[volume_id]
    # Names are everybody's, and moto keeps whose they are apart.
    get_backend("s3").bucket_accounts.clear()
    LIFECYCLE.clear()


def reset_account() -> None:
    """Makes the account as moto makes it; to be called before it is first emptied."""
    get_backend("ec2").reset()
    get_backend("iam").reset()
    _from_the_start.cache_clear()
    _from_the_start()
