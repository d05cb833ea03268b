"""The dumps of the stack's MySQL server that fail."""

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.periodic_runs import FailingRun, failing_runs
from operate import stack


def failing(nomad: NomadApi) -> list[FailingRun]:
    """The runs that have failed and not succeeded since; none where the stack makes no dumps. Raises StackError."""
    known = stack.outputs()
    backup = known.get("mysqlBackup")
    if not backup:
        return []
    return failing_runs(nomad, backup["job"], known["mysql"]["namespace"])


def text(run: FailingRun) -> str:
    """A line for a person, with what to look at."""
    again = "Nomad tries again" if run.again else "Nomad does not try again"
    return (
        f"{run.job_id}: the dump has failed {run.failures} times since {run.since} ({run.reason}); {again}. "
        f"`nomad alloc logs -stderr {run.allocation_id[:8]}` says why"
    )
