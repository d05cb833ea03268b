"""The client of S3 of a task, by what its environment says."""

from __future__ import annotations

import os
from typing import Any

# A second and one attempt, the defaults, are short for the metadata service of a busy client.
_METADATA = {"AWS_METADATA_SERVICE_NUM_ATTEMPTS": "5", "AWS_METADATA_SERVICE_TIMEOUT": "5"}
_ENDPOINT = "AWS_ENDPOINT_URL_S3"


def client() -> Any:
    """Returns a client whose region, endpoint and credentials boto3 reads from the environment."""
    import boto3
    from botocore.config import Config

    for variable, value in _METADATA.items():
        os.environ.setdefault(variable, value)
    # A job names no endpoint by an empty one.
    if not os.environ.get(_ENDPOINT):
        os.environ.pop(_ENDPOINT, None)
    calls = Config(connect_timeout=5, read_timeout=60, retries={"mode": "standard", "max_attempts": 5})
    # Of the two variables, boto3 reads AWS_DEFAULT_REGION alone.
    return boto3.client("s3", region_name=os.environ.get("AWS_REGION") or None, config=calls)
