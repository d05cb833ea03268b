"""When two parsed jobs are the same."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.standins.plugins.nomad.job_canonical import same_job


def job(group: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {"ID": "a", "Name": "a", "TaskGroups": [{"Name": "g", "Tasks": [{"Name": "t"}], **(group or {})}], **fields}


@pytest.mark.parametrize(
    "spelled_out",
    [
        job(Type="service", Namespace="default", Region="global", Priority=0, AllAtOnce=False),
        job({"Count": 1, "EphemeralDisk": {"Sticky": None, "SizeMB": 300}, "Constraints": None, "Services": []}),
        job({"Tasks": [{"Name": "t", "KillTimeout": 5_000_000_000, "Resources": {"CPU": 100, "MemoryMB": 300}}]}),
        job({"Update": {"MaxParallel": 1, "HealthCheck": "checks", "Canary": 0}}),
        job({"Meta": {}}),
    ],
)
def test_a_default_equals_nothing(spelled_out: dict[str, Any]) -> None:
    assert same_job(job(), spelled_out)


@pytest.mark.parametrize(
    "other",
    [
        job(ID="b"),
        job(Name="b"),
        job(Type="batch"),
        job({"Count": 2}),
        job({"Count": 0}),
        job({"Tasks": [{"Name": "t", "Env": {"A": "b"}}]}),
        job({"Volumes": {"v": {}}}),
        job({"Tasks": [{"Name": "t", "Leader": True}]}),
    ],
)
def test_anything_else_is_a_change(other: dict[str, Any]) -> None:
    assert not same_job(job(), other)


def test_update_defaults_count_where_a_group_would_not_get_them() -> None:
    update = {"Update": {"MaxParallel": 1}}
    assert not same_job(job(Type="batch"), job(update, Type="batch"))
    assert not same_job(job(Update={"MaxParallel": 2}), job(update, Update={"MaxParallel": 2}))
