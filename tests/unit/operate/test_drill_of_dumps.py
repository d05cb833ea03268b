"""Drills of dumps: which is loaded, by what, into which volume, and what a failure says. EC2 and S3 are moto's."""

import copy
import json
from argparse import ArgumentTypeError
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from nomad_stateful.databases.dumps import begun
from nomad_stateful.operate import stack
from nomad_stateful.operate.drill import dumps, report, scratch
from nomad_stateful.operate.drill.model import DrillError, Dump, Json, Scratch
from nomad_stateful.operate.drill.report import Report
from tests.fake_nomad.jobs import ended
from tests.unit import aws
from tests.unit.operate import test_drill as drills
from tests.unit.operate.conftest import Operate

# Fixtures.
account, ec2, unsaved = drills.account, drills.ec2, drills.unsaved

BUCKET, PREFIX = "dumps", "shop/prod/"
PLACE = f"s3://{BUCKET}/{PREFIX}"
OLD, NEW, NONE = "20260101T030000Z.sql.gz", "20260102T030000Z.sql.gz", "20250101T030000Z.sql.gz"
# Of a clock that was ahead, and of no time.
NO_LATEST = ("29990101T030000Z.sql.gz", "20261399T030000Z.sql.gz")
LOADED = [drills.HEALTHY[0], "loading", "loaded", *drills.HEALTHY[1:]]
SCRIPTS = [{"DestPath": f"local/{name}.sh", "EmbeddedTmpl": name} for name in ("dumps", "restore")]
LOGIN = {"DestPath": "secrets/client.cnf", "EmbeddedTmpl": "login of the live job"}
MOUNTS = [{"Volume": "dumps", "Destination": "/dumps"}]
RESTORE: Json = {
    "ID": "mysql-backup-restore",
    "TaskGroups": [
        {
            "Tasks": [
                {
                    "Name": "fetch",
                    "Driver": "docker",
                    "Config": {
                        "image": "agent:1",
                        "args": ["fetch-dump", "--folder=/dumps", f"--bucket={BUCKET}", f"--prefix={PREFIX}"],
                    },
                    "Env": {"AWS_REGION": aws.REGION},
                    "Lifecycle": {"Hook": "prestart", "Sidecar": False},
                    "VolumeMounts": MOUNTS,
                },
                {
                    "Name": "restore",
                    "Driver": "docker",
                    "Config": {"image": "mysql:9.7"},
                    "Templates": [*SCRIPTS, LOGIN],
                    "VolumeMounts": MOUNTS,
                    "Resources": {"CPU": 200, "MemoryMB": 256},
                },
            ]
        }
    ],
}


class Nomad(drills.Nomad):
    """A cluster that also has the job that restores dumps."""

    restore: Json = RESTORE
    fetch_failed = False
    late_reads = 2

    def __init__(self) -> None:
        super().__init__()
        self.runs: dict[str, Json] = {}
        """Of the job that makes dumps: how the uploads have ended, by the dumps' names."""

    def find(self, path: str, **params: Any) -> Any:
        """The job too."""
        return copy.deepcopy(self.restore) if path == "job/mysql-backup-restore" else super().find(path, **params)

    def get(self, path: str, **params: Any) -> Any:
        """The task that fetches may have failed; the runs that made dumps are there too."""
        if path == "jobs" and params.get("prefix") == "mysql-backup/":
            return [run(name) for name in self.runs]
        if path.startswith("job/mysql-backup"):
            return [
                {"ClientStatus": "complete", "CreateIndex": 1, "TaskStates": {"dump": ended(0), "upload": upload}}
                for name, upload in self.runs.items()
                if path == f"job/{run(name)['ID']}/allocations".replace("/periodic", "%2Fperiodic")
            ]
        found = super().get(path, **params)
        if path.endswith("/allocations"):
            found[0]["TaskStates"]["fetch"] = {"Failed": self.fetch_failed}
        return found

    def text(self, path: str, **words: Any) -> str:
        """What it says then."""
        if words["task"] != "fetch":
            return super().text(path, **words)
        # Nomad has it a moment later.
        self.late_reads -= 1
        return "" if self.late_reads >= 0 else "first\nhas the SHA-256 1\n"


def run(name: str) -> Json:
    """The run that made a dump, as Nomad lists it."""
    moment = begun(name)
    assert moment is not None
    launched = int(moment.timestamp())
    summary = {"Summary": {"dump": {"Complete": 1}}}
    known = {"ID": f"mysql-backup/periodic-{launched}", "ParentID": "mysql-backup", "SubmitTime": launched * 10**9}
    return {**known, "JobSummary": summary}


@pytest.fixture
def nomad() -> Nomad:
    """It says of itself that the dump was loaded."""
    made = Nomad()
    made.says(LOADED)
    made.runs = {OLD: ended(0), NEW: ended(0)}
    return made


@pytest.fixture
def bench(unsaved: drills.Bench) -> Iterator[drills.Bench]:
    """A stack that copies its dumps to a bucket, in which there are two."""
    unsaved.outputs["mysqlBackup"] = {"job": "mysql-backup", "restoreJob": "mysql-backup-restore", "s3": PLACE}
    unsaved.outputs["volumes"]["shared"]["id"] = unsaved.live
    client = s3()
    client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": aws.REGION})
    for name in (OLD, NEW, *NO_LATEST, "notes.txt", "20260103T030000Z.sql"):
        client.put_object(Bucket=BUCKET, Key=PREFIX + name, Body=b"dump of " + name.encode())
    yield unsaved
    for one in client.list_objects_v2(Bucket=BUCKET).get("Contents", []):
        client.delete_object(Bucket=BUCKET, Key=one["Key"])
    client.delete_bucket(Bucket=BUCKET)


def s3() -> Any:
    return boto3.client("s3", region_name=aws.REGION)


def drill(bench: drills.Bench, dump: str = "latest", **options: Any) -> None:
    bench.drill(dump=dump, **options)


def test_the_latest_dump_is_loaded_into_an_empty_server_and_all_is_removed(
    bench: drills.Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    drill(bench, newest="SELECT 1")
    captured = capsys.readouterr()
    said = json.loads(captured.out)
    assert said["dump"] == {
        "name": NEW,
        "begun": "2026-01-02T03:00:00Z",
        "sizeBytes": len(f"dump of {NEW}"),
        "place": PLACE + NEW,
    }
    assert said["snapshot"] is None
    age_s = (datetime.now(UTC) - datetime(2026, 1, 2, 3, tzinfo=UTC)).total_seconds()
    assert said["rpoSeconds"] == pytest.approx(age_s, abs=60)
    assert said["rtoSeconds"] >= 0
    assert list(said["phases"]) == ["volume", "register", "attach", "start", "load", "check", "remove"]
    # The live volume has 2 GiB; the dump needs room beside the data.
    assert (
        f"load {NEW} (0.0 MiB) of {PLACE} into a new server on an empty EBS volume (3 GiB, us-west-2a)" in captured.err
    )
    assert bench.nothing_is_left()


def test_it_is_fetched_and_loaded_by_the_tasks_of_the_stacks_own_restore(bench: drills.Bench) -> None:
    drill(bench, OLD)
    job = bench.nomad.submitted
    [group] = job["TaskGroups"]
    fetch, server, check = group["Tasks"]
    assert (job["Meta"]["dump"], job["Meta"]["from"]) == (OLD, "s3")
    assert list(group["Volumes"]) == ["data"]
    folder = "/srv/.drill-dump"
    assert fetch["Config"] == {
        "image": "agent:1",
        "args": ["fetch-dump", f"--bucket={BUCKET}", f"--prefix={PREFIX}", f"--folder={folder}"],
    }
    assert fetch["VolumeMounts"] == check["VolumeMounts"] == server["VolumeMounts"]
    # Beside the data directory, on the scratch volume.
    assert check["Env"]["DUMPS"] == folder
    assert [one for one in check["Templates"] if one in SCRIPTS] == SCRIPTS
    assert check["Resources"] == {"CPU": 200, "MemoryMB": 256}
    # Neither the live job's login nor its volume.
    assert "login of the live job" not in json.dumps(job["TaskGroups"])
    assert "--folder=/dumps" in RESTORE["TaskGroups"][0]["Tasks"][0]["Config"]["args"]


PLANTED = ("20260102T030001Z.sql.gz", "20260102T030000Z.tar")
"""Newer than the newest by their names: of no run, and of the newest one but for the ending."""


@pytest.mark.parametrize("planted", PLANTED)
@pytest.mark.parametrize("uploaded", [True, False])
def test_the_latest_is_what_a_run_has_made_and_no_newer_name(
    bench: drills.Bench, nomad: Nomad, planted: str, *, uploaded: bool
) -> None:
    s3().put_object(Bucket=BUCKET, Key=PREFIX + planted, Body=b"an old dump", Metadata={"sha256": "its own"})
    nomad.runs[NEW] = ended(0) if uploaded else ended(137, killed=True)
    newest = NEW if uploaded else OLD
    drill(bench)
    said = bench.said()
    assert (said["ok"], said["dump"]["name"]) == (True, newest)
    [note] = said["notes"]
    assert note.startswith(f"Nomad has no successful run of mysql-backup that made {max(NEW, planted)}: ")
    assert note.endswith(f", so {newest} is the latest")


def test_where_nomad_has_forgotten_the_runs_the_newest_name_is_drilled_with_a_note(
    bench: drills.Bench, nomad: Nomad
) -> None:
    nomad.runs = {}
    drill(bench)
    said = bench.said()
    assert (said["ok"], said["dump"]["name"]) == (True, NEW)
    [note] = said["notes"]
    assert note.startswith(f"Nomad has no successful run of mysql-backup that made {NEW}: only its name says")


def test_a_name_of_now_that_no_run_has_made_is_drilled_and_red(bench: drills.Bench, nomad: Nomad) -> None:
    nomad.runs = {OLD: ended(1)}
    now = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.sql.gz"
    s3().put_object(Bucket=BUCKET, Key=PREFIX + now, Body=b"an old dump", Metadata={"sha256": "its own"})
    with pytest.raises(DrillError, match=rf"that made {now}: only its name says .* has earlier runs still.*CloudTrail"):
        drill(bench)
    said = bench.said()
    assert (said["ok"], said["dump"]["name"], len(said["tables"])) == (False, now, 2)
    assert bench.nothing_is_left()


def test_a_dump_that_is_named_is_green_and_its_note_says_that_no_run_is_known(
    bench: drills.Bench, nomad: Nomad
) -> None:
    drill(bench, OLD)
    assert bench.said()["notes"] == []
    del nomad.runs[OLD]
    drill(bench, OLD)
    said = bench.said()
    assert said["ok"]
    assert [note.partition(":")[0] for note in said["notes"]] == [
        f"Nomad has no successful run of mysql-backup that made {OLD}"
    ]


def test_an_empty_scratch_volume_is_encrypted_like_the_live_one(ec2: Any) -> None:
    made = ec2.create_volume(AvailabilityZone=drills.ZONE, Size=2, VolumeType="gp3", Encrypted=True, Iops=4000)
    made_like_it = scratch.create(aws.PLACE, drills.target(volume_id=made["VolumeId"]), Scratch(5))
    [found] = ec2.describe_volumes(VolumeIds=[made_like_it])["Volumes"]
    assert (found["Size"], found["VolumeType"], found["Iops"]) == (5, "gp3", 4000)
    assert not found.get("SnapshotId")
    assert (found["Encrypted"], found["KmsKeyId"]) == (True, made["KmsKeyId"])


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            [*LOADED[:2], "unloaded\tERROR 1064 (42000) at line 2: near ',)'"],
            r"the dump does not load: ERROR 1064 .*Next: drill earlier dumps \(`aws s3 ls s3://dumps/shop/prod/`",
        ),
        (LOADED[:2], "the server ended while the dump was loaded"),
        ([], "the server does not start on the empty volume"),
    ],
)
def test_a_dump_that_does_not_load_is_red_and_the_server_is_not_said_to_be_back(
    bench: drills.Bench, lines: list[str], reason: str
) -> None:
    bench.nomad.says(lines, "failed")
    with pytest.raises(DrillError, match=reason):
        drill(bench)
    assert bench.said()["rtoSeconds"] is None
    assert bench.nothing_is_left()


def test_a_dump_that_cannot_be_fetched_is_red_with_the_last_line_of_that_task(
    bench: drills.Bench, nomad: Nomad
) -> None:
    nomad.says([], "failed")
    nomad.fetch_failed = True
    with pytest.raises(DrillError, match="the dump cannot be fetched: has the SHA-256 1"):
        drill(bench)
    assert bench.nothing_is_left()


def test_a_dump_that_is_too_old_or_lacks_rows_is_red_and_still_drilled(bench: drills.Bench) -> None:
    with pytest.raises(DrillError, match=rf"newest dump, {NEW}, is .* h old: --max-age .*periodic force mysql-backup"):
        drill(bench, max_age_s=60)
    assert len(bench.said()["tables"]) == 2
    bench.nomad.says([*LOADED[:-2], "newest\t2026-01-02 02:00:00", "done"])
    with pytest.raises(DrillError, match=r"newest row is 1\.0 h older than the dump: --max-lag allows 60 s"):
        drill(bench, newest="SELECT 1", max_lag_s=60)


def test_no_dump_is_red_before_anything_is_made(bench: drills.Bench) -> None:
    for name in (OLD, NEW):
        s3().delete_object(Bucket=BUCKET, Key=PREFIX + name)
    with pytest.raises(DrillError, match=f"there is no dump in {PLACE}.*periodic force mysql-backup"):
        drill(bench)
    assert bench.said()["dump"] is None
    assert bench.nomad.sent == []


NOT_COPIED = {"job": "mysql-backup", "restoreJob": "mysql-backup-restore", "s3": ""}


@pytest.mark.parametrize(
    ("outputs", "job", "options", "reason"),
    [
        ({}, RESTORE, {"dump": NONE}, f"no dump {NONE} in {PLACE}; these are there: {OLD}, {NEW}"),
        ({"mysqlBackup": None}, RESTORE, {}, r"makes no dumps: set mysql\.backup and mysql\.backup\.s3"),
        (
            {"mysqlBackup": NOT_COPIED},
            RESTORE,
            {},
            r"mysql\.backup\.s3 is not set, .* one writer: set it \(mysql\.backup\.s3: {}\)",
        ),
        ({}, RESTORE, {"volume": "shared"}, r"volume shared is not MySQL's: leave --dump out, or name mysql"),
        ({}, {}, {}, r"job mysql-backup-restore fetches no dumps .*run `pulumi up`"),
    ],
)
def test_what_cannot_be_loaded_is_refused_before_anything_is_made(
    bench: drills.Bench, monkeypatch: pytest.MonkeyPatch, outputs: Json, job: Json, options: Json, reason: str
) -> None:
    monkeypatch.setattr(bench.nomad, "restore", job)
    bench.outputs.update(outputs)
    volume = {"type": "nomad:index/csiVolume:CsiVolume", "urn": "urn:pulumi:prod::shop::x::z", "id": "shared"}
    inputs = {"volumeId": "mysql", "capabilities": [{"accessMode": "a", "attachmentMode": "b"}]}
    bench.outputs["volumes"]["shared"] |= {"nomadId": "mysql", "zone": drills.ZONE, "plugin": "aws-ebs0"}
    monkeypatch.setattr(stack, "resources", lambda: [volume | {"inputs": inputs}])
    with pytest.raises(DrillError, match=reason):
        drill(bench, **options)
    assert bench.nomad.sent == []


def test_a_live_volume_that_is_gone_has_no_size_to_go_by(ec2: Any) -> None:
    target = drills.target(volume_id="vol-0123456789abcdef0")
    with pytest.raises(DrillError, match=r"EBS volume vol-0123456789abcdef0 of volume mysql is gone.*pulumi up"):
        dumps.empty_for(aws.PLACE, target, Dump(OLD, datetime.now(UTC), 1, datetime.now(UTC)))


@pytest.mark.parametrize(
    "words", [["--snapshot", "snap-1"], ["--to", "latest"], ["--check", "true"]], ids=lambda words: words[0]
)
def test_options_of_other_drills_are_refused_with_a_dump(
    operate: Operate, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setattr(stack, "outputs", dict)
    ended = operate("drill", "--dump", "latest", *words)
    assert ended.status == 1
    assert f"--dump fills an empty server, so there is no {words[0]}" in ended.err


@pytest.mark.parametrize("name", ["", "newest", "../20260101T030000Z.sql.gz", "20260101T030000Z.sql.gz\n", ".*"])
def test_names_that_are_no_dumps_are_refused(name: str) -> None:
    with pytest.raises(ArgumentTypeError, match=r"write its file's name, as 20260101T030000Z\.sql\.gz, or latest"):
        dumps.dump_name(name)
    assert (dumps.dump_name("latest"), dumps.dump_name(OLD)) == ("latest", OLD)


def test_metrics_of_snapshots_and_of_dumps_stand_beside_each_other(tmp_path: Path) -> None:
    file = tmp_path / "drill.prom"
    now = datetime.now(UTC)
    of_dump = Report("mysql", now, Dump(OLD, now - timedelta(hours=2), 1, now), PLACE, rto_s=30)
    report.write_metrics(Report("mysql", now), file)
    report.write_metrics(of_dump, file)
    of_dump.wrong("does not load", "look")
    report.write_metrics(of_dump, file)
    report.write_metrics(Report("mysql", now), file)
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if "_success{" in line or "_rpo_" in line]
    assert sorted(line for line in lines if not line.startswith("#")) == [
        'nomad_stateful_drill_rpo_seconds{volume="mysql",backup="dump"} 7200',
        'nomad_stateful_drill_success{volume="mysql",backup="dump"} 0',
        'nomad_stateful_drill_success{volume="mysql"} 1',
    ]


def test_the_report_says_which_dump_and_how_old_it_is() -> None:
    now = datetime(2026, 1, 1, 5, tzinfo=UTC)
    said = report.text(Report("mysql", now, Dump(OLD, now - timedelta(hours=2), 3 << 20, now), PLACE, rto_s=30))
    assert f"dump      {OLD} (3.0 MiB) of {PLACE}, begun 2026-01-01T03:00:00Z" in said
    assert "RPO       2.0 h (age of the dump)" in said
    assert said.endswith("GREEN: the dump can be restored, and all of the drill is removed")
