"""Settings of the copies of a server's logs in S3, from which it is restored to a point in time."""

from pydantic import Field

from nomad_stateful.databases.model import Logs
from nomad_stateful.program.settings.dump_bucket import DumpBucket
from nomad_stateful.program.settings.errors import Refusal
from nomad_stateful.program.settings.types import Section


class PointInTime(Section):
    """The server's logs in S3, at most a minute behind."""

    s3: DumpBucket = Field(description="The bucket of the logs, which are below `binlogs/` of the prefix.")
    interval_s: int = Field(
        30,
        ge=5,
        le=45,
        description="How often a log with transactions is closed and copied, in seconds. A lost volume costs at most "
        "that time and one upload.",
    )


def check_options(logs: Logs, options: dict[str, str], arguments: list[str]) -> None:
    """Raises Refusal for a server option with which the logs would lack transactions."""
    given = {f"config.{name}": (name, value) for name, value in options.items()}
    for index, argument in enumerate(arguments):
        name, _, value = argument.removeprefix("--").partition("=")
        given[f"serverArgs.{index}"] = (name, value)
    for key, (name, value) in given.items():
        if problem := logs.option_problem(name, value):
            raise Refusal(key, value or name, problem.rule, problem.remedy)
