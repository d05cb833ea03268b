"""The newest and the failing dumps of the stack's database server, and a restore of one that has not ended."""

from datetime import UTC, datetime

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.commands import scope
from nomad_stateful.nomad.periodic_runs import FailingRun, failing_runs, newest_success
from nomad_stateful.operate import stack

_WHAT = {"upload": "the dump's copy to S3"}


def failing(nomad: NomadApi) -> list[FailingRun]:
    """Returns the runs that failed and have not succeeded since. Raises StackError."""
    server = stack.database()
    if server is None or not server.backup:
        return []
    return failing_runs(nomad, server.backup["job"], server.namespace)


def newest(nomad: NomadApi) -> tuple[str, str]:
    """Returns the dumps' job, and when the newest one that succeeded was begun, as far as Nomad remembers."""
    server = stack.database()
    if server is None or not server.backup:
        return "", ""
    job = str(server.backup["job"])
    found = newest_success(nomad, job, server.namespace)
    return job, f"{datetime.fromtimestamp(found, UTC):%Y-%m-%d %H:%MZ}" if found else ""


def restoring(nomad: NomadApi, server: stack.DatabaseOutputs) -> str:
    """Returns which restore into the server has not ended, with a remedy; "" where none has.

    It need not have begun, nor anybody wait for it: it drops its tables whenever its volume is free. Raises NomadError.
    """
    if not server.backup:
        return ""
    job = server.backup["restoreJob"]
    runs = nomad.get("jobs", prefix=f"{job}/", namespace=server.namespace) or []
    run = next((one for one in runs if one.get("ParentID") == job and one["Status"] != "dead"), None)
    if run is None:
        return ""
    at = f"{scope(server.namespace)} {run['ID']}"
    other = f", or stop it before it begins (`nomad job stop{at}`)" if run["Status"] == "pending" else ""
    return (
        f"{run['ID']} is {run['Status']}: it drops the tables of its dump and makes them again, whoever waits for it. "
        f"Wait for its end (`nomad job status{at}`){other}, and run the same command again"
    )


def text(run: FailingRun) -> str:
    """Returns a line that says which run failed, how often, and where its log is."""
    again = "Nomad retries it" if run.again else "Nomad does not retry it"
    what = _WHAT.get(run.task, "the dump")
    return (
        f"{run.job_id}: {what} has failed {run.failures} times since {run.since} ({run.reason}); {again}. "
        f"`nomad alloc logs -stderr{scope(run.namespace)} {run.allocation_id[:8]} {run.task or 'dump'}` says why"
    )
