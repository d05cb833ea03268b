"""The EC2 client of the resources that look at volumes."""

from __future__ import annotations

from typing import Any

from provider.rpc.values import ProviderError


def ec2_client(region: str = "") -> Any:
    """A client for one region ("" is the default of the AWS configuration). Raises ProviderError without a region."""
    # boto3 takes a quarter of a second to import; only a refusal and a deletion need it.
    import boto3  # noqa: PLC0415
    from botocore.config import Config  # noqa: PLC0415
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415

    config = Config(connect_timeout=5, read_timeout=20, retries={"mode": "standard", "max_attempts": 3})
    try:
        return boto3.session.Session().client("ec2", region_name=region or None, config=config)
    except BotoCoreError as error:
        raise ProviderError(f"EC2 cannot be asked about volumes: {error}. Set region, or AWS_REGION") from error
