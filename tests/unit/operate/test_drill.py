"""Restore drills: what they make, what they say, and that all of it is removed whatever happens. EC2 is moto's."""

import copy
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nomad_stateful.ebs.snapshots import Snapshot
from nomad_stateful.ebs.tags import AS_OF_TAG, DRILL_TAG, STACK_TAG, listed, read
from nomad_stateful.nomad.api import NomadApiError
from nomad_stateful.operate import cluster, stack
from nomad_stateful.operate.drill import command, report, scratch
from nomad_stateful.operate.drill import job as jobs
from nomad_stateful.operate.drill.model import DrillError, Json, Options, Scratch, Target
from nomad_stateful.operate.drill.report import Report, Table
from nomad_stateful.operate.drill.watch import Watch
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Frame, NotConfirmedError, age_s
from nomad_stateful.waiting import Context, Progress, Stopwatch
from tests.fake_nomad import variables
from tests.fake_nomad.answers import Asked
from tests.fake_nomad.jobs import ended
from tests.unit import aws
from tests.unit.aws import PLACE

ZONE = "us-west-2a"
SPACE, JOB = "drill", "drill-shop-prod-mysql"
FRAME = Frame("drill", yes=True, as_json=True)
HEALTHY = [
    "answers\t9.7.0",
    "tables\t2",
    "checking\t`shop`.`orders`",
    "table\t`shop`.`orders`\t40\tOK",
    "checking\t`shop`.`notes`",
    "table\t`shop`.`notes`\t2\tOK",
    "newest\t2026-11-22 20:00:00",
    "done",
]
SERVER = {
    "Name": "mysql",
    "Driver": "docker",
    "User": "",
    "Config": {"image": "mysql:9.7", "command": "sh", "args": ["start.sh", "--port=${NOMAD_PORT_db}"], "ports": ["db"]},
    "Env": {"START_SOCKET": "${NOMAD_ALLOC_DIR}/mysql/mysql.sock"},
    "Services": [{"Name": "mysql-server"}],
    "VolumeMounts": [{"Volume": "data", "Destination": "/srv", "ReadOnly": False}],
}
PARSED = {
    "ID": "mysql-server",
    "Type": "service",
    "Datacenters": ["*"],
    "NodePool": "default",
    "Update": {"MaxParallel": 1},
    "TaskGroups": [
        {
            "Name": "mysql",
            "Count": 1,
            "Volumes": {"data": {"Type": "csi", "Source": JOB, "ReadOnly": False}},
            "Networks": [{"ReservedPorts": [{"Label": "db", "Value": 3306, "To": 3306}]}],
            "Disconnect": {"StopOnClientAfter": 60},
            "Update": {"MaxParallel": 1},
            "Services": [{"Name": "other"}],
            "Tasks": [SERVER],
        }
    ],
}
INDEXER = {
    "ID": "indexer",
    "Type": "service",
    "Datacenters": ["*"],
    "TaskGroups": [
        {
            "Count": 2,
            "Volumes": {
                "index": {"Type": "csi", "Source": "index", "PerAlloc": True},
                "logs": {"Type": "csi", "Source": "logs"},
            },
            "Tasks": [
                {
                    "Name": "container",
                    "Driver": "docker",
                    "Config": {"image": "indexer:1", "command": "serve", "ports": ["http"]},
                    "Templates": [{"EmbeddedTmpl": "plain"}, {"EmbeddedTmpl": '{{ with nomadVar "x" }}{{ end }}'}],
                    "VolumeMounts": [{"Volume": "index", "ReadOnly": True}, {"Volume": "logs", "ReadOnly": False}],
                }
            ],
        }
    ],
}


def state() -> list[Json]:
    """The stack's state: the registration of the volume, and MySQL's job."""
    volume: Json = {"volumeId": "mysql", "mountOptions": {"fsType": "xfs"}}
    volume["capabilities"] = [{"accessMode": "single-node-writer", "attachmentMode": "file-system"}]
    variables = {
        "job": {"id": "mysql-server", "namespace": "default", "datacenters": ["*"], "node_pool": "default"},
        "volume": {"id": "mysql", "release": "r1", "mount_path": "/srv"},
        "tls": {"certificate": True, "ca": True, "args": ["--ssl-ca=x"]},
        "files": {"my.cnf": "[mysqld]\nmax_connections = 50\n"},
    }
    known = {"vars": {name: json.dumps(value) for name, value in variables.items()}}
    urn = "urn:pulumi:prod::shop::x::y"
    return [
        {
            "type": "nomad:index/csiVolumeRegistration:CsiVolumeRegistration",
            "urn": urn,
            "id": "mysql",
            "inputs": volume,
        },
        {"type": "nomad:index/job:Job", "urn": urn, "id": "mysql-server", "inputs": {"jobspec": "text", "hcl2": known}},
    ]


class Nomad:
    """A cluster whose drill job runs at once and says what it is given."""

    address = "http://nomad"

    def __init__(self) -> None:
        self.spaces: dict[str, Json] = {}
        self.jobs: dict[str, Json] = {}
        self.volumes: dict[str, Json] = {}
        self.variables: dict[str, Json] = {}
        self.sent: list[tuple[str, str]] = []
        self.live = ""
        self.lines, self.status = HEALTHY, "complete"
        self.killed = 0
        self.may_make_namespaces = True
        self.interrupts = 0
        self.submitted: Json = {}
        self.password: Json = {}
        self.parsed: Json = {}
        self.unhealthy = 0
        self.lost_controller = 0
        self.after: dict[str, Callable[[], None]] = {}
        """What happens by itself, once, after a request: "register", or "job"."""

    def get(self, path: str, **params: Any) -> Any:
        """Allocations and evaluations of the drill's job, and the stack's volumes."""
        if path == "volumes":
            return [{"ID": "mysql", "ExternalID": self.live, "Namespace": "default"}]
        if path == "jobs":
            return [{"ID": "indexer"}] if params["namespace"] == "default" else []
        if path.endswith("/evaluations"):
            return [{"Status": "complete"}]
        assert path.endswith("/allocations")
        self.after.pop("job", lambda: None)()
        if self.interrupts:
            self.interrupts -= 1
            raise KeyboardInterrupt
        # The server is a sidecar, which Nomad kills once the check has ended.
        check = ended(self.killed or int(self.status == "failed"), killed=bool(self.killed))
        started = {"mysql": ended(1, killed=True), "check": check}
        return [{"ID": "a1", "CreateIndex": 1, "ClientStatus": self.status, "TaskStates": started}]

    def find(self, path: str, **_params: Any) -> Any:
        """What is registered under a path; None where nothing is."""
        kind, _, name = path.partition("/")
        if path == "plugin/csi/aws-ebs0":
            self.unhealthy -= 1
            return {"ControllersHealthy": int(self.unhealthy < 0), "ControllerRequired": True}
        if path.startswith("volume/csi/"):
            return self.volumes.get(path.removeprefix("volume/csi/"))
        if path == "job/indexer":
            return copy.deepcopy(INDEXER)
        return {"namespace": self.spaces, "job": self.jobs, "var": self.variables}[kind].get(name)

    def put(self, path: str, body: Any, **params: Any) -> Any:
        """Registers, in the drill's namespace alone."""
        self.sent.append(("PUT", path))
        kind, _, name = path.partition("/")
        if kind == "namespace":
            if not self.may_make_namespaces:
                raise NomadApiError(403, "Permission denied")
            self.spaces[name] = body
            return None
        assert params["namespace"] == SPACE
        if path == "jobs/parse":
            self.parsed = body
            return copy.deepcopy(PARSED)
        if kind == "jobs":
            self.submitted = self.jobs[body["Job"]["ID"]] = body["Job"]
        elif kind == "var":
            self.password = body["Items"] if "root_password" in (body["Items"] or {}) else self.password
            return self._variable("PUT", name, body, params)
        elif self.lost_controller:
            self.lost_controller -= 1
            raise NomadApiError(500, "controller validate volume: No path to node")
        else:
            self.volumes[name.removeprefix("csi/")] = body["Volumes"][0]
            self.after.pop("register", lambda: None)()
        return None

    def _variable(self, method: str, name: str, body: Any, params: Json) -> Any:
        status, answer = variables.write(self.variables, Asked(method, name, params, body), 1)
        if status >= 400:
            raise NomadApiError(status, str(answer))
        return answer

    def delete(self, path: str, **params: Any) -> None:
        """Removes what is at the path; a job is stopped first, and purged then."""
        self.sent.append(("DELETE", path))
        kind, _, name = path.partition("/")
        if kind == "namespace":
            if self.jobs or self.volumes or self.variables:
                raise NomadApiError(500, "not empty")
            del self.spaces[name]
            return
        assert params["namespace"] == SPACE
        if kind == "job" and not params.get("purge"):
            self.jobs[name]["Stop"] = True
            self.status = self.status if self.status in ("complete", "failed") else "complete"
            return
        if kind == "var":
            self._variable("DELETE", name, None, params)
            return
        {"job": self.jobs, "volume": self.volumes}[kind].pop(name.removeprefix("csi/"))

    def text(self, path: str, **words: Any) -> str:
        """The log of a task."""
        assert path == "client/fs/logs/a1"
        if words["type"] == "stderr":
            return "InnoDB: corruption\n"
        return "".join(f"drill\t{line}\n" for line in self.lines)[words["offset"] :]

    def close(self) -> None:
        """Nothing to close."""

    def says(self, lines: list[str], status: str = "complete") -> None:
        """What the drill job says, and how it ends."""
        self.lines, self.status = lines, status


@pytest.fixture(scope="module")
def account() -> Iterator[Any]:
    """One account for all tests: moto takes a second to make one."""
    with aws.account() as client:
        yield client


@pytest.fixture
def ec2(account: Any) -> Iterator[Any]:
    """The account, with nothing in it after each test."""
    yield account
    volumes = [one["VolumeId"] for one in account.describe_volumes()["Volumes"]]
    # moto's own images have snapshots too.
    mine = account.describe_snapshots(Filters=[{"Name": "volume-id", "Values": [*volumes, "none"]}])["Snapshots"]
    for one in mine:
        account.delete_snapshot(SnapshotId=one["SnapshotId"])
    for volume_id in volumes:
        account.delete_volume(VolumeId=volume_id)


class Bench:
    """A stack with a live volume, its account, and the cluster in which it is drilled."""

    def __init__(self, ec2: Any, nomad: Nomad, printed: pytest.CaptureFixture[str]) -> None:
        self.ec2, self.nomad = ec2, nomad
        self.live = aws.made_volume(ec2, {"Name": "mysql", STACK_TAG: "shop/prod"}, VolumeType="gp3")
        self.nomad.live = self.live
        self.snapshot_id = ""
        self.outputs: Json = {
            "volumes": {
                "mysql": {"id": self.live, "nomadId": "mysql", "zone": ZONE, "plugin": "aws-ebs0"},
                "shared": {"id": "fs-0123"},
            },
            "plugins": {"aws-ebs0": {"topologyKey": "topology.ebs.csi.aws.com/zone"}},
            "mysql": {"job": "mysql-server", "namespace": "default", "zone": ZONE, "volume": "mysql", "user": "root"},
            "mysqlPassword": "live-secret",
        }
        self._printed = printed

    def drill(self, *, clean: bool = False, **options: Any) -> None:
        command.drill(FRAME, Options(options.pop("volume", ""), **options), clean=clean)

    def said(self) -> Json:
        """The report for scripts that was printed since it was asked for."""
        found: Json = json.loads(self._printed.readouterr().out)
        return found

    def nothing_is_left(self) -> bool:
        volumes = [one["VolumeId"] for one in self.ec2.describe_volumes()["Volumes"]]
        nomad = self.nomad
        return volumes == [self.live] and not (nomad.jobs or nomad.volumes or nomad.variables or nomad.spaces)


@pytest.fixture
def nomad() -> Nomad:
    return Nomad()


@pytest.fixture
def unsaved(ec2: Any, nomad: Nomad, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bench:
    """One whose live volume has no snapshot."""
    made = Bench(ec2, nomad, capsys)
    monkeypatch.setattr(stack, "aws_place", lambda: PLACE)
    monkeypatch.setattr(cluster, "POLL_S", 0.01)
    monkeypatch.setattr(stack, "outputs", lambda: made.outputs)
    monkeypatch.setattr(stack, "resources", state)
    monkeypatch.setattr("nomad_stateful.operate.frame.stack_cluster", lambda _volume: nomad)
    return made


@pytest.fixture
def bench(unsaved: Bench) -> Bench:
    """One whose live volume has a snapshot."""
    unsaved.snapshot_id = aws.made_snapshot(unsaved.ec2, unsaved.live)
    return unsaved


def target(volume: str = "mysql", volume_id: str = "vol-1") -> Target:
    """What is drilled of a volume."""
    own = JOB if volume == "mysql" else f"drill-{volume}"
    return Target(volume, volume_id, f"shop/prod/{volume}", own, SPACE, ZONE, "aws-ebs0", "zone")


def test_a_drill_restores_checks_reports_and_removes_everything(bench: Bench) -> None:
    bench.drill(newest="SELECT MAX(created) FROM shop.orders;")
    said = bench.said()
    assert (said["ok"], said["snapshot"]["id"], said["server"]) == (True, bench.snapshot_id, "9.7.0")
    assert [(one["name"], one["rows"]) for one in said["tables"]] == [("`shop`.`orders`", 40), ("`shop`.`notes`", 2)]
    assert said["newest"] == "2026-11-22T20:00:00Z"
    assert list(said["phases"]) == ["volume", "register", "attach", "recover", "check", "remove"]
    assert said["rpoSeconds"] >= 0
    assert said["rtoSeconds"] >= 0
    assert bench.nothing_is_left()
    # Nothing is sent about the live job, volume or variable.
    assert {path for _, path in bench.nomad.sent} <= {
        "namespace/drill",
        "jobs/parse",
        "jobs",
        f"job/{JOB}",
        f"volume/csi/{JOB}",
        f"var/nomad/jobs/{JOB}",
        f"var/nomad/jobs/nomad-stateful/{JOB}",
    }


def test_the_drills_server_is_the_stacks_but_no_client_finds_it(bench: Bench) -> None:
    bench.drill(newest="SELECT 1;")
    nomad = bench.nomad
    text = json.dumps(nomad.submitted)
    [group] = nomad.submitted["TaskGroups"]
    server, check = group["Tasks"]
    assert (nomad.submitted["ID"], nomad.submitted["Namespace"], nomad.submitted["Type"]) == (JOB, SPACE, "batch")
    assert "mysql-server" not in text
    assert "live-secret" not in text
    assert not group["Services"]
    assert not server["Services"]
    assert group["Networks"] == [{"ReservedPorts": None, "DynamicPorts": [{"Label": "db", "Value": 0, "To": 3306}]}]
    assert server["Lifecycle"] == {"Hook": "prestart", "Sidecar": True}
    assert "--event-scheduler=OFF" in server["Config"]["args"]
    assert check["Config"]["image"] == "mysql:9.7"
    given = dict(line.split(" = ", 1) for line in nomad.parsed["Variables"].splitlines())
    assert not json.loads(given["tls"])["certificate"]
    assert json.loads(given["volume"])["id"] == JOB
    assert json.loads(given["files"]) == {"my.cnf": "[mysqld]\nmax_connections = 50\n"}
    # By the socket: the password stays in the allocation, whatever answers at its address.
    [login] = [one["EmbeddedTmpl"] for one in check["Templates"] if one["DestPath"].endswith("client.cnf")]
    assert 'protocol = socket\nsocket = {{ env "NOMAD_ALLOC_DIR" }}/mysql/mysql.sock\n' in login
    assert "port = " not in login
    # A password of the drill's own: nowhere but in the variable that its job alone can read.
    assert nomad.password["root_password"] not in text
    assert nomad.password["root_password"] != "live-secret"


def test_a_job_of_an_earlier_release_is_to_be_updated_first(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SERVER, "Env", {})
    with pytest.raises(
        DrillError, match="job mysql-server serves on another socket than this release: run `pulumi up`"
    ):
        bench.drill()


@pytest.mark.parametrize(
    ("fault", "times", "said"),
    [
        ("unhealthy", 3, "a controller of plugin aws-ebs0 is healthy.*nomad-stateful doctor"),
        ("lost_controller", 2, r"Nomad registers volume \S+: not after .*No path to node"),
    ],
)
def test_it_waits_for_a_controller_as_after_the_loss_of_a_zone(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, fault: str, times: int, said: str
) -> None:
    """Also while Nomad asks one on a client that it lost."""
    monkeypatch.setattr(bench.nomad, fault, times)
    bench.drill()
    assert getattr(bench.nomad, fault) <= 0
    monkeypatch.setattr(bench.nomad, fault, 10**6)
    with pytest.raises(DrillError, match=said):
        bench.drill(timeout_s=0.2)
    assert bench.nothing_is_left()


@pytest.mark.parametrize(
    ("lines", "status", "reason"),
    [
        (
            [*HEALTHY[:3], "table\t`shop`.`orders`\t-\tPage 4 is corrupted", "done"],
            "complete",
            "table `shop`.`orders` is damaged in the snapshot: Page 4 is corrupted",
        ),
        (HEALTHY[:3], "failed", "the server ended while table `shop`.`orders` was checked"),
        ([], "failed", "the server does not start on the restored volume: .*Exit Code: 1"),
        (["silent\tAccess denied"], "failed", "does not let root in: Access denied"),
        ([*HEALTHY[:-2], "newest\tNULL", "done"], "complete", "--newest returned 'NULL'"),
    ],
)
def test_a_snapshot_that_cannot_be_used_is_red_and_all_is_removed(
    bench: Bench, lines: list[str], status: str, reason: str
) -> None:
    bench.nomad.says(lines, status)
    with pytest.raises(DrillError, match=f"drill of volume mysql failed: .*{reason}.*Next: "):
        bench.drill()
    assert bench.nothing_is_left()


def test_another_stacks_snapshot_is_drilled_only_where_that_stack_is_named(unsaved: Bench) -> None:
    ec2, tags = unsaved.ec2, {"Name": "mysql", STACK_TAG: "shop/staging"}
    theirs = aws.made_volume(ec2)
    taken, own = (aws.made_snapshot(ec2, one, tags) for one in (theirs, unsaved.live))
    ec2.delete_volume(VolumeId=theirs)
    said = f"--snapshot {taken} is of volume mysql of stack shop/staging: .*--snapshot-stack shop/staging if that is"
    for stack_name in ("", "shop/third"):
        with pytest.raises(DrillError, match=said):
            unsaved.drill(snapshot=taken, snapshot_stack=stack_name)
    for snapshot_id, stack_name in ((taken, "shop/staging"), (own, "")):
        unsaved.drill(snapshot=snapshot_id, snapshot_stack=stack_name)
        assert unsaved.nothing_is_left()
    ec2.delete_snapshot(SnapshotId=taken)


def test_a_snapshot_of_a_point_in_time_is_as_old_as_that(bench: Bench) -> None:
    moment = datetime.now(UTC) - timedelta(hours=2)
    bench.ec2.create_tags(Resources=[bench.snapshot_id], Tags=listed({AS_OF_TAG: moment.isoformat()}))
    bench.drill(snapshot=bench.snapshot_id)
    assert bench.said()["rpoSeconds"] == pytest.approx(7200, abs=60)


@pytest.mark.parametrize(
    ("known", "remedy"),
    [({}, "run `pulumi up` first"), ({"volumes": {"b": {}, "a": {}}}, r"name a volume \(a, b\)")],
)
def test_without_a_database_a_volume_is_to_be_named_once_there_is_one(
    monkeypatch: pytest.MonkeyPatch, known: Json, remedy: str
) -> None:
    monkeypatch.setattr(stack, "outputs", lambda: known)
    with pytest.raises(DrillError, match=f"^the stack has no database server: {remedy}$"):
        command.drill(FRAME, Options(""))


def test_no_snapshot_is_red_before_anything_is_made(unsaved: Bench) -> None:
    with pytest.raises(DrillError, match=r"no completed snapshot of volume mysql.*volumes\[\]\.snapshots"):
        unsaved.drill()
    assert unsaved.nomad.sent == []


def test_a_snapshot_that_is_too_old_is_red_and_still_drilled(bench: Bench) -> None:
    with pytest.raises(DrillError, match="old: --max-age allows -1 s"):
        bench.drill(max_age_s=-1)
    assert len(bench.said()["tables"]) == 2
    assert bench.nothing_is_left()


def test_a_snapshot_that_lacks_its_newest_rows_is_red(bench: Bench) -> None:
    bench.nomad.says([*HEALTHY[:-2], "newest\t2020-01-01 00:00:00", "done"])
    with pytest.raises(DrillError, match=r"newest row is .* older than the snapshot: --max-lag allows 60 s"):
        bench.drill(newest="SELECT 1", max_lag_s=60)


APPLIED = ["answers\t9.7.0", "replaying", "replayed", "event\tshop.purge", "engine\tshop.old (MyISAM)"]


def test_what_the_logs_change_beside_the_rows_is_told(bench: Bench) -> None:
    bench.nomad.says([*APPLIED, *HEALTHY[1:]])
    bench.drill()
    event, engine = bench.said()["notes"]
    assert "event shop.purge was made or altered since the snapshot" in event
    assert "table shop.old (MyISAM) does not recover" in engine


def test_what_was_restored_is_kept_where_only_its_checks_took_too_long(bench: Bench) -> None:
    bench.nomad.says([*APPLIED, "checking\t`shop`.`orders`"], "running")
    with pytest.raises(DrillError, match="the job ends: not within --timeout"):
        bench.drill(keep=True, timeout_s=1)
    kept = bench.said()["kept"]
    assert bench.ec2.describe_snapshots(SnapshotIds=[kept])["Snapshots"][0]["VolumeId"] != bench.live
    assert bench.nothing_is_left()
    bench.ec2.delete_snapshot(SnapshotId=kept)


@pytest.mark.parametrize("lines", [["answers\t9.7.0", "replaying"], [*APPLIED, "table\t`shop`.`orders`\t-\tcorrupt"]])
def test_nothing_is_kept_that_lacks_transactions_or_is_damaged(bench: Bench, lines: list[str]) -> None:
    bench.nomad.says(lines, "running")
    with pytest.raises(DrillError, match="not within --timeout"):
        bench.drill(keep=True, timeout_s=1)
    assert not bench.said()["kept"]


class Another:
    """Another drill of the volume: it has removed the first one's, and has things of its own by the same names."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.volume = ""

    def begins(self) -> None:
        ec2 = self._bench.ec2
        for one in ec2.describe_volumes(Filters=[{"Name": "tag-key", "Values": [DRILL_TAG]}])["Volumes"]:
            ec2.delete_volume(VolumeId=one["VolumeId"])
        self.volume = aws.made_volume(ec2, {DRILL_TAG: "shop/prod/mysql"}, SnapshotId=self._bench.snapshot_id)

    def takes_over(self) -> None:
        """Once Nomad has freed the lock of the first one, which was suspended."""
        lock = {"Items": {"what": "a drill"}, "Lock": {"ID": "another's"}}
        self._bench.nomad.variables[f"nomad/jobs/nomad-stateful/{JOB}"] = lock
        self.begins()


@pytest.mark.parametrize("after", ["register", "job"])
def test_a_drill_that_lost_its_turn_is_red_and_leaves_the_other_one_alone(bench: Bench, after: str) -> None:
    another = Another(bench)
    bench.nomad.after[after] = another.takes_over
    with pytest.raises(DrillError, match="the drill of volume mysql failed"):
        bench.drill(keep=True)
    said = bench.said()
    assert any("another drill of volume mysql began" in one["what"] for one in said["findings"])
    assert not said["kept"]
    assert aws.snapshots_of(bench.ec2, another.volume) == []
    assert bench.ec2.describe_volumes(VolumeIds=[another.volume])["Volumes"]
    assert bool(bench.nomad.submitted) is (after == "job")
    assert ("DELETE", f"job/{JOB}") not in bench.nomad.sent


def test_no_volume_is_kept_but_the_one_that_was_restored(bench: Bench) -> None:
    another = Another(bench)
    bench.nomad.after["job"] = another.begins
    with pytest.raises(DrillError, match="no snapshot is kept: EC2 does not show vol-"):
        bench.drill(keep=True)
    assert not bench.said()["kept"]
    assert aws.snapshots_of(bench.ec2, another.volume) == []
    assert bench.nothing_is_left()


def test_ctrl_c_removes_what_was_made(bench: Bench) -> None:
    bench.nomad.status, bench.nomad.interrupts = "running", 1
    with pytest.raises(OperateError, match=r"interrupted: .*What the drill made is removed"):
        bench.drill()
    assert bench.nothing_is_left()


@pytest.mark.parametrize("clean", [True, False])
def test_what_a_killed_drill_left_is_removed_by_the_next_one(bench: Bench, *, clean: bool) -> None:
    nomad = bench.nomad
    nomad.spaces[SPACE] = {"Meta": {"made-by": "nomad-stateful drill"}}
    nomad.jobs[JOB] = {"ID": JOB, "TaskGroups": []}
    nomad.volumes[JOB] = {"ID": JOB}
    nomad.variables[f"nomad/jobs/{JOB}"] = {"Items": {}, "ModifyIndex": 1}
    aws.made_volume(bench.ec2, {DRILL_TAG: "shop/prod/mysql"}, SnapshotId=bench.snapshot_id)
    bench.drill(clean=clean)
    assert bench.nothing_is_left()


def test_a_namespace_that_was_there_stays(bench: Bench) -> None:
    bench.nomad.spaces[SPACE] = {"Meta": None}
    bench.drill()
    assert list(bench.nomad.spaces) == [SPACE]


def test_a_namespace_that_may_not_be_made_is_told_with_the_command(bench: Bench) -> None:
    bench.nomad.may_make_namespaces = False
    with pytest.raises(DrillError, match=r"nomad namespace apply .* drill.*nomad_stateful/operate/nomad-policy\.hcl"):
        bench.drill()
    assert bench.nothing_is_left()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"namespace": "default"}, "--namespace is default, which the stack itself runs in"),
        ({"volume": "archive"}, "the stack has no volume archive: it has mysql, shared"),
        ({"volume": "shared"}, "volume shared is fs-0123, which is not an EBS volume"),
    ],
)
def test_what_cannot_be_drilled_is_refused_before_anything_is_made(bench: Bench, options: Json, reason: str) -> None:
    with pytest.raises(DrillError, match=reason):
        bench.drill(**options)
    assert bench.nomad.sent == []


def test_without_yes_a_script_gets_the_plan_and_nothing_is_done(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(NotConfirmedError, match=r"add --yes\. Nothing was changed"):
        command.drill(Frame("drill", yes=False), Options("mysql"))
    assert f"restore {bench.snapshot_id}" in capsys.readouterr().err
    assert bench.nomad.sent == []


def test_a_volume_that_cannot_be_removed_is_red_with_the_command_that_removes_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stuck(*_words: Any) -> None:
        raise OperateError("vol-1 is detached: not after 180 s")

    monkeypatch.setattr(scratch, "await_detached", stuck)
    with pytest.raises(DrillError, match=r"scratch volume is not removed: vol-1 .*drill mysql --clean"):
        bench.drill()


def test_only_volumes_with_a_drills_tags_are_deleted(unsaved: Bench) -> None:
    with pytest.raises(DrillError, match="does not have the tags of a drill's volume"):
        scratch.delete(PLACE, unsaved.live)
    assert unsaved.ec2.describe_volumes(VolumeIds=[unsaved.live])["Volumes"]


def test_the_scratch_volume_is_unknown_to_schedules_and_performs_like_the_live_one(bench: Bench) -> None:
    """It is waited for until EC2 lists it."""
    of_live = target(volume_id=bench.live)
    with aws.answers(bench.ec2, "DescribeVolumes", "", aws.UNLISTED) as left:
        made = scratch.create(PLACE, of_live, Scratch(2, bench.snapshot_id))
    assert left == []
    [found] = bench.ec2.describe_volumes(VolumeIds=[made])["Volumes"]
    assert read(found) == {"Name": JOB, DRILL_TAG: "shop/prod/mysql", "ebs.csi.aws.com/cluster": "true"}
    assert (found["VolumeType"], found["SnapshotId"]) == ("gp3", bench.snapshot_id)
    assert scratch.left_over(PLACE, of_live) == [made]


def test_another_consumers_check_runs_in_its_task_on_the_restored_volume(nomad: Any) -> None:
    made = jobs.consumer(nomad, "default", "index[1]", target("index"), "check-index /data")
    [group] = made["TaskGroups"]
    [task] = group["Tasks"]
    assert (made["ID"], made["Type"], group["Count"]) == ("drill-index", "batch", 1)
    assert list(group["Volumes"]) == ["index"]
    assert (group["Volumes"]["index"]["Source"], group["Volumes"]["index"]["PerAlloc"]) == ("drill-index", False)
    assert task["VolumeMounts"] == [{"Volume": "index", "ReadOnly": False}]
    assert task["Config"]["entrypoint"] == ["/bin/sh"]
    assert "command" not in task["Config"]
    # What a template looks up belongs to the live job.
    assert [one["EmbeddedTmpl"] for one in task["Templates"]] == ["plain", "check-index /data\n"]
    with pytest.raises(DrillError, match="no job in namespace default uses volume other"):
        jobs.consumer(nomad, "default", "other", target("index"), "true")


def test_another_consumers_check_that_was_stopped_proves_nothing() -> None:
    nomad: Any = Nomad()
    nomad.says(HEALTHY[:3])
    nomad.killed = 137
    found = Report("index", datetime.now(UTC))
    Watch(nomad, target("index"), found, Stopwatch(), Progress(Context(), 60)).follow()
    [finding] = found.findings
    assert finding.what.startswith("--check failed on the restored volume")
    assert "Task successfully killed" in finding.what


@pytest.mark.parametrize("printed", ["whole\n", ""])
def test_what_another_consumers_check_printed_is_read_though_nomad_writes_it_later(
    monkeypatch: pytest.MonkeyPatch, printed: str
) -> None:
    class Late(Nomad):
        reads = 0

        def get(self, path: str, **params: Any) -> Any:
            return [{"ID": "a1", "CreateIndex": 1, "ClientStatus": "complete", "TaskStates": {"check": ended(0)}}]

        def text(self, path: str, **words: Any) -> str:
            self.reads += 1
            return printed[words["offset"] :] if self.reads > 3 else ""

    monkeypatch.setattr(cluster, "POLL_S", 0.001)
    nomad: Any = Late()
    found = Report("index", datetime.now(UTC))
    Watch(nomad, target("index"), found, Stopwatch(), Progress(Context(), 60)).follow()
    assert found.output == printed.split()
    assert found.ok


def test_metrics_of_other_volumes_stay_and_the_volumes_own_are_replaced(tmp_path: Path) -> None:
    file = tmp_path / "drill.prom"
    now = datetime.now(UTC)
    good = Report("mysql", now, Snapshot("snap-1", "vol-1", "completed", now - timedelta(hours=1), 2), rto_s=12.5)
    report.write_metrics(Report("archive", now, findings=[]), file)
    report.write_metrics(good, file)
    good.wrong("damaged", "look")
    report.write_metrics(good, file)
    lines = file.read_text(encoding="utf-8").splitlines()
    assert 'nomad_stateful_drill_success{volume="archive"} 1' in lines
    assert 'nomad_stateful_drill_success{volume="mysql"} 0' in lines
    assert 'nomad_stateful_drill_rpo_seconds{volume="mysql"} 3600' in lines
    assert 'nomad_stateful_drill_rto_seconds{volume="mysql"} 12.50' in lines
    assert len([line for line in lines if line.startswith("# TYPE")]) == 4
    assert len([line for line in lines if 'volume="mysql"' in line]) == 4
    with pytest.raises(DrillError, match=r"--metrics: .* cannot be written"):
        report.write_metrics(good, tmp_path / "missing" / "drill.prom")


def test_the_report_shows_damaged_tables_before_large_ones() -> None:
    found = Report("mysql", datetime.now(UTC))
    found.tables = [Table(f"`a`.`t{number}`", number, "OK") for number in range(60)]
    found.tables.append(Table("`a`.`bad`", None, "corrupt"))
    found.wrong("table `a`.`bad` is damaged", "look at it")
    said = report.text(found)
    assert said.index("`a`.`bad`") < said.index("`a`.`t59`")
    assert "and 21 smaller ones, all OK" in said
    assert said.endswith("RED")


@pytest.mark.parametrize(("text", "seconds"), [("90m", 5400), ("26h", 93600), ("7d", 604800), ("30s", 30)])
def test_ages(text: str, seconds: float) -> None:
    assert age_s(text) == seconds
