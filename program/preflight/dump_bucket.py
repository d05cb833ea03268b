"""The bucket that MySQL's dumps are copied to, where it is given: it exists, in the region that the clients ask."""

from concurrent.futures import Future
from typing import Any

from program.prefetch import CallError, Prefetch
from program.settings import Problem, Settings
from program.wiring.dump_bucket import wanted

_KEY = "mysql.backup.s3"
Answer = Future[dict[str, Any]]


def ask(settings: Settings, prefetch: Prefetch) -> Answer | None:
    """Asks S3 for the bucket; None where none is given."""
    copies = wanted(settings)
    if copies is None or copies.bucket is None:
        return None
    return prefetch.call("aws:s3/getBucket:getBucket", {"bucket": copies.bucket})


def problems(settings: Settings, region: str, answer: Answer | None) -> list[Problem]:
    """Returns what is wrong with the given bucket; `region` is the stack's."""
    copies = wanted(settings)
    if answer is None or copies is None or copies.bucket is None:
        return []
    try:
        found = answer.result().get("bucketRegion") or ""
    except CallError as error:
        remedy = "name a bucket that exists and that you may read (s3:ListBucket), or leave it out to have one made"
        return [Problem(f"{_KEY}.bucket", copies.bucket, f"the bucket cannot be read: {error}", remedy)]
    expected = copies.region or region
    if found and found != expected:
        rule = f"the bucket {copies.bucket} is in {found}"
        return [Problem(f"{_KEY}.region", copies.region or f"{region}, the stack's", rule, f"set it to {found}")]
    return []
