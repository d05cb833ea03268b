"""Settings of the copies of a server's logs in S3, from which it is restored to a point in time."""

from pydantic import Field

from nomad_stateful.program.settings.dump_bucket import DumpBucket
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
