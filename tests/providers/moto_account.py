"""The account in moto's memory: how much it holds, and how it is emptied between tests."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from moto.backends import get_backend

REGION = "us-west-2"
ACCOUNT = "123456789012"


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
