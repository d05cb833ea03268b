"""Whose jobs and volumes are, told from what Nomad has and from what the stack's state holds."""

from concurrent.futures import Future
from typing import Any, cast

import pytest

from nomad_stateful.nomad.registration import text as registration_text
from nomad_stateful.program import settings
from nomad_stateful.program.prefetch import Prefetch
from nomad_stateful.program.preflight import check
from nomad_stateful.program.preflight import ownership as preflight_ownership
from nomad_stateful.program.preflight.ownership import Known, Verdict
from tests.unit.program.answers import answered
from tests.unit.program.recorder import planned

OURS = "organization/nomad-stateful/ours"
THEIRS = "organization/nomad-stateful/theirs"
EXISTING = {"name": "data", "provision": "existing", "externalId": "vol-0000000000000000d", "zone": "us-west-2a"}
MADE = {"name": "data", "sizeGib": 1, "zone": "us-west-2a"}


def state(*resources: tuple[str, dict[str, Any]]) -> Known:
    return Known.of({"type": kind, "outputs": has} for kind, has in resources)


def job(name: str, namespace: str = "default") -> tuple[str, dict[str, Any]]:
    return "nomad:index/job:Job", {"name": name, "namespace": namespace}


def claim(resource_id: str, owner_id: str, kind: str = "job") -> tuple[str, dict[str, Any]]:
    has = {"kind": kind, "resourceId": resource_id, "namespace": "default", "ownerId": owner_id}
    return "nomad-csi:index:Ownership", has


def judge(
    known: Known,
    found: dict[str, dict[str, Any]],
    *,
    registrations: list[dict[str, str]] | None = None,
    volume: dict[str, Any] = EXISTING,
    **config: Any,
) -> Verdict:
    """What comes of it, where Nomad has what `found` says by name, and nothing else."""
    base = {"clientRole": "nomad-client", "plugins": [{"id": "ebs0"}], "volumes": [volume], "mysql": {"volume": "data"}}
    parsed = planned(base | config)
    nothing = {"exists": False, "stopped": False, "stack": "", "ownerId": "", "users": []}
    answers = [
        {"kind": one.kind, "id": one.id, "claim": f"PATH/{one.id}", **nothing, **found.get(one.name, {})}
        for one in preflight_ownership.subjects(parsed)
    ]
    answer = {"found": answers, "registrations": registrations or []}
    return preflight_ownership.judge(parsed, OURS, known, answer)


def registration(namespace: str, volume_id: str, external_id: str, plugin_id: str = "ebs0") -> dict[str, str]:
    return {"namespace": namespace, "id": volume_id, "externalId": external_id, "pluginId": plugin_id}


def test_where_nothing_has_an_id_nothing_is_expected() -> None:
    verdict = judge(state(), {})
    assert verdict.problems == []
    assert set(verdict.expects.values()) == {"nothing"}
    assert {"job/mysql-server", "job/plugin-ebs0-node", "volume/data"} <= set(verdict.expects)


def test_a_job_that_nobody_claims_is_ours_if_the_state_has_it() -> None:
    found = {"job/mysql-server": {"exists": True}}
    assert judge(state(job("mysql-server")), found).expects["job/mysql-server"] == "unclaimed"
    # The same id in another namespace is another job.
    (problem,) = judge(state(job("mysql-server", "elsewhere")), found).problems
    assert str(problem) == (
        "mysql.jobId is mysql-server: namespace default has such a job, and it is not in this stack's state: it, or "
        "its variable, would be overwritten, and purged by a destroy. Choose another id, or another "
        "placement.namespace; if it is to become this stack's, list it in adopt: [mysql-server]."
    )
    assert judge(state(), found, adopt=["mysql-server"]).expects["job/mysql-server"] == "unclaimed"


def test_only_the_users_of_volumes_that_are_nobodys_matter() -> None:
    parsed = planned({"clientRole": "r", "plugins": [{"id": "ebs0"}], "volumes": [EXISTING]})
    found = {"kind": "volume", "id": "data", "exists": True, "ownerId": ""}

    def strange(**changed: object) -> list[str]:
        return preflight_ownership.strange_volumes(parsed, known, {"found": [found | changed]})

    known = state()
    assert strange() == ["data"]
    assert strange(exists=False) == strange(ownerId="x") == strange(kind="job") == []
    known = state(("nomad:index/csiVolumeRegistration:CsiVolumeRegistration", {"volumeId": "data"}))
    assert strange() == []


def test_the_users_of_a_volume_that_is_nobodys_are_asked_for_and_told() -> None:
    parsed = planned({"clientRole": "r", "plugins": [{"id": "ebs0"}], "volumes": [EXISTING]})
    nothing = {"exists": False, "stopped": False, "stack": "", "ownerId": "", "users": [], "claim": ""}
    has = [
        {"kind": one.kind, "id": one.id, **nothing, "exists": one.kind == "volume"}
        for one in preflight_ownership.subjects(parsed)
    ]
    asked: list[dict[str, Any]] = []

    class Asking:
        def call(self, _function: str, args: dict[str, Any]) -> "Future[dict[str, Any]]":
            asked.append(args)
            return answered({"found": [nothing | {"kind": "volume", "id": "data", "exists": True, "users": ["web"]}]})

    first = answered({"found": has, "registrations": []})
    answer = check._owners(cast("Prefetch", Asking()), parsed, state(), first)
    assert asked == [{"volumes": ["data"], "users": True, "namespace": "default"}]
    (problem,) = preflight_ownership.judge(parsed, OURS, state(), answer).problems
    assert "and job web uses it" in str(problem)
    known = state(("nomad:index/csiVolumeRegistration:CsiVolumeRegistration", {"volumeId": "data"}))
    assert check._owners(cast("Prefetch", Asking()), parsed, known, first) == first.result()
    assert len(asked) == 1


def test_what_another_stack_claims_is_refused_also_where_the_state_has_it_and_where_it_is_adopted() -> None:
    found = {"job/mysql-server": {"exists": True, "stack": THEIRS, "ownerId": "x"}}
    for known, adopt in ((state(), []), (state(job("mysql-server")), []), (state(), ["mysql-server"])):
        (problem,) = judge(known, found, adopt=adopt).problems
        assert str(problem) == (
            "mysql.jobId is mysql-server: the job of this id in namespace default belongs to another stack, "
            f"{THEIRS}. Choose another id, or another placement.namespace. If that stack has released it, or is gone, "
            "list it in adopt: [mysql-server] after `nomad var purge -namespace default PATH/mysql-server`."
        )


def test_a_claim_of_this_state_is_ours_whoever_of_its_jobs_made_it() -> None:
    found = {"job/mysql-server": {"exists": True, "stack": OURS, "ownerId": "x"}}
    assert judge(state(claim("mysql-server", "x")), found).expects["job/mysql-server"] == "x"
    assert judge(state(claim("a-consumer-before", "x")), found).expects["job/mysql-server"] == "x"
    assert judge(state(claim("mysql-server", "y")), found).problems != []


@pytest.mark.parametrize(
    ("known", "exists", "config", "is_ours"),
    [
        (state(), False, {}, True),  # cut off before the claim was in the state, and the job made
        (state(job("mysql-server")), True, {}, True),  # the same, at the upgrade of a stack without claims
        (state(), True, {}, False),  # a stack of this name, in another backend
        (state(), True, {"adopt": ["mysql-server"]}, True),  # a state that was lost
    ],
)
def test_a_stack_of_the_same_name_may_be_another_one(
    known: Known, exists: bool, config: dict[str, Any], is_ours: bool
) -> None:
    verdict = judge(known, {"job/mysql-server": {"exists": exists, "stack": OURS, "ownerId": "x"}}, **config)
    if is_ours:
        assert verdict.expects["job/mysql-server"] == "x"
    else:
        assert "belongs to a stack of this name, with another state" in str(verdict.problems[0])


def test_a_stopped_job_of_an_update_that_was_cut_off_is_taken_back() -> None:
    found = {"exists": True, "stopped": True, "stack": OURS, "ownerId": "x"}
    assert judge(state(), {"job/mysql-server": found}).expects["job/mysql-server"] == "x"
    assert judge(state(), {"job/mysql-server": found | {"stack": THEIRS}}).problems != []


def test_a_claim_that_was_lost_is_taken_again() -> None:
    assert judge(state(claim("mysql-server", "x")), {}).expects["job/mysql-server"] == "unclaimed"


def test_a_registration_that_was_cut_off_is_ours_by_its_ebs_volume() -> None:
    found = {"volume/data": {"exists": True}}
    registered = [registration("default", "data", "vol-0000000000000000a")]
    known = state(("aws:ebs/volume:Volume", {"id": "vol-0000000000000000a"}))
    assert judge(known, found, registrations=registered, volume=MADE).problems == []
    (problem,) = judge(state(), found, registrations=registered, volume=MADE).problems
    assert str(problem) == (
        "volumes.data.name is data: namespace default has such a volume, and it is not in this stack's state (it is "
        "vol-0000000000000000a). Choose another id, or another placement.namespace; "
        "if it is to become this stack's, set provision: "
        "existing with externalId: vol-0000000000000000a, and list it in adopt: [data]."
    )
    # A volume that is made is another one than that which is there.
    assert judge(state(), found, registrations=registered, volume=MADE, adopt=["data"]).problems != []


def test_a_registration_is_adopted_where_it_is_the_same_volume_whoever_uses_it() -> None:
    registered = [registration("default", "data", "vol-0000000000000000d")]
    alone = {"volume/data": {"exists": True, "users": ["mysql-server"]}}
    verdict = judge(state(), alone, registrations=registered, adopt=["data"])
    assert (verdict.problems, verdict.expects["volume/data"]) == ([], "unclaimed")
    used = {"volume/data": {"exists": True, "users": ["reports"]}}
    (problem,) = judge(state(), used, registrations=registered).problems
    assert "(it is vol-0000000000000000d), and job reports uses it. Choose another id" in str(problem)
    assert judge(state(), used, registrations=registered, adopt=["data"]).expects["volume/data"] == "unclaimed"


BODY: dict[str, Any] = {
    "Name": "data",
    "ExternalID": "vol-0000000000000000d",
    "PluginID": "ebs0",
    "RequestedCapabilities": [{"AccessMode": "single-node-writer", "AttachmentMode": "file-system"}],
    "RequestedTopologies": {"Required": [{"Segments": {"topology.ebs.csi.aws.com/zone": "us-west-2a"}}]},
    "MountOptions": {"FSType": "ext4"},
}


@pytest.mark.parametrize(
    ("body", "settings_of_it", "said"),
    [
        ({}, {}, ""),
        ({"Name": "Ledger"}, {"registered": {"name": "Ledger"}}, ""),
        ({"RequestedTopologies": None}, {"registered": {"topologyKey": ""}}, ""),
        ({"MountOptions": {"FSType": "xfs"}}, {"fsType": "xfs"}, ""),
        ({"MountOptions": None}, {"fsType": ""}, ""),
        ({"MountOptions": {"FSType": "ext4", "MountFlags": ["[REDACTED]"]}}, {"mountFlags": ["noatime"]}, ""),
        ({"Name": "Ledger"}, {}, "registered.name is data: it is registered with Ledger. Set it so."),
        ({"RequestedTopologies": None}, {}, "zone is topology.ebs.csi.aws.com/zone=us-west-2a: it is registered with"),
        ({"MountOptions": {"FSType": "xfs"}}, {}, "fsType is ext4: it is registered with xfs"),
        ({"MountOptions": {"FSType": "ext4", "MountFlags": ["[REDACTED]"]}}, {}, "mountFlags is not set: it is regist"),
        ({"Context": {"a": "b"}}, {}, 'context is not set: it is registered with {"a": "b"}'),
        ({"Capacity": 1 << 30}, {}, "provision is existing: its driver made it, through Nomad (1073741824 bytes)"),
        (
            {"RequestedCapabilities": [{"AccessMode": "single-node-writer", "AttachmentMode": "block-device"}]},
            {},
            "accessMode is single-node-writer with file-system: it is registered as single-node-writer with block-dev",
        ),
    ],
)
def test_a_registration_is_adopted_only_as_it_is(
    body: dict[str, Any], settings_of_it: dict[str, Any], said: str
) -> None:
    there = {"exists": True, "users": ["reports"], "registered": registration_text(BODY | body)}
    verdict = judge(
        state(),
        {"volume/data": there},
        registrations=[registration("default", "data", "vol-0000000000000000d")],
        volume=EXISTING | settings_of_it,
        adopt=["data"],
    )
    assert len(verdict.problems) == bool(said)
    assert all(f"volumes.data.{said}" in str(problem) for problem in verdict.problems)


def test_a_second_registration_of_an_ebs_volume_is_refused_in_any_namespace() -> None:
    registered = [registration("elsewhere", "ledger", "vol-0000000000000000d", plugin_id="another-plugin")]
    (problem,) = judge(state(), {}, registrations=registered).problems
    assert str(problem) == (
        "volumes.data.externalId is vol-0000000000000000d: it is registered as "
        "volume ledger in namespace elsewhere, and Nomad counts "
        "the writers of each registration separately. Deregister that one (`nomad volume deregister -namespace "
        "elsewhere ledger`), or use another volume."
    )


def test_a_registration_that_the_stack_has_under_an_earlier_name_is_its_own() -> None:
    before = ("nomad:index/csiVolumeRegistration:CsiVolumeRegistration", {"volumeId": "old", "namespace": "default"})
    assert (
        judge(state(before), {}, registrations=[registration("default", "old", "vol-0000000000000000d")]).problems == []
    )


def test_an_ebs_volume_that_the_stack_made_is_not_also_an_existing_one() -> None:
    known = state(("aws:ebs/volume:Volume", {"id": "vol-0000000000000000d"}))
    (problem,) = judge(known, {}).problems
    assert (
        "volumes.data.externalId is vol-0000000000000000d: this stack made this volume itself, under another name"
        in str(problem)
    )


def test_what_is_adopted_has_to_be_configured() -> None:
    with pytest.raises(
        settings.SettingsError, match=r"adopt\.0 is nothing: no job and no volume of this configuration"
    ):
        judge(state(), {}, adopt=["nothing"])
