"""Connections to AWS, and who we are there."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from nomad_stateful.errors import ProviderError
from sandbox.standins.plugins.aws.config import ProviderConfig
from sandbox.standins.plugins.aws.errors import aws_errors

if TYPE_CHECKING:
    import boto3
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_iam import IAMClient
    from mypy_boto3_sts import STSClient


class Cloud:
    """AWS as one provider configuration sees it; clients are made when first used and shared by all threads."""

    def __init__(self) -> None:
        self._config: ProviderConfig | None = None
        self._identity: dict[str, str] | None = None
        self._session: boto3.Session | None = None
        self._clients: dict[tuple[str, str], Any] = {}
        self._zones: dict[str, tuple[str, ...]] = {}
        self._lock = threading.RLock()

    @property
    def config(self) -> ProviderConfig:
        """The configuration in force."""
        if self._config is None:
            raise ProviderError("the aws provider is used before it was configured")
        return self._config

    def configure(self, config: ProviderConfig) -> None:
        """Takes a configuration and checks credentials and account against AWS, once for the same configuration."""
        with self._lock:
            if config == self._config:
                return
            self._config, self._identity, self._session = config, None, None
            self._clients, self._zones = {}, {}
            try:
                self._check_account()
            except BaseException:
                self._config = None
                raise

    def _check_account(self) -> None:
        allowed = self.config.allowed_accounts
        if allowed and self.config.skip_account_id:
            raise ProviderError(
                "aws:allowedAccountIds cannot be checked with aws:skipRequestingAccountId: unset one of them"
            )
        if self.config.skip_credentials_validation and not allowed:
            return
        account = self.identity()["Account"]
        if allowed and account not in allowed:
            raise ProviderError(
                f"AWS account ID not allowed: {account}. aws:allowedAccountIds lists {', '.join(allowed)}; "
                "use credentials of another account or change the list"
            )

    def identity(self) -> dict[str, str]:
        """Returns Account, Arn and UserId of the credentials, asked of STS once."""
        with self._lock:
            if self._identity is None:
                with aws_errors("unable to validate AWS credentials"):
                    answer = self._sts().get_caller_identity()
                self._identity = {key: answer[key] for key in ("Account", "Arn", "UserId")}
            return self._identity

    def account_id(self) -> str:
        """Returns the account id for ARNs; "" where the configuration says not to ask."""
        return "" if self.config.skip_account_id else self.identity()["Account"]

    def partition(self, region: str) -> str:
        """Returns the partition of a region, "aws" for one that botocore does not know."""
        return self._made_session().get_partition_for_region(region) if region.count("-") >= 2 else "aws"

    def arn(self, service: str, region: str, account: str, resource: str) -> str:
        """Returns an ARN in the partition of `region`, or of the provider's region for global services."""
        return f"arn:{self.partition(region or self.config.region)}:{service}:{region}:{account}:{resource}"

    def zones(self, region: str) -> tuple[str, ...]:
        """Returns the sorted zones of a region, asked once; () where AWS does not tell or is not to be asked."""
        with self._lock:
            if region not in self._zones and not self.config.skip_credentials_validation:
                try:
                    with aws_errors("fetching Availability Zones"):
                        answer = self.ec2(region).describe_availability_zones(AllAvailabilityZones=True)
                    self._zones[region] = tuple(sorted(zone["ZoneName"] for zone in answer["AvailabilityZones"]))
                except ProviderError:
                    self._zones[region] = ()
            return self._zones.get(region, ())

    def ec2(self, region: str) -> EC2Client:
        """Returns the EC2 client of a region."""
        client: EC2Client = self._client("ec2", region)
        return client

    def iam(self) -> IAMClient:
        """Returns the IAM client."""
        client: IAMClient = self._client("iam", self.config.region)
        return client

    def dlm(self, region: str) -> Any:
        """Returns the client of Data Lifecycle Manager in a region."""
        return self._client("dlm", region)

    def s3(self, region: str) -> Any:
        """Returns the S3 client of a region."""
        return self._client("s3", region)

    def _sts(self) -> STSClient:
        client: STSClient = self._client("sts", self.config.region)
        return client

    def _client(self, service: str, region: str) -> Any:
        from sandbox.standins.plugins.aws import sessions

        with self._lock:
            key = (service, region)
            if key not in self._clients:
                with aws_errors(f"connecting to AWS {service.upper()}"):
                    self._clients[key] = sessions.new_client(self._made_session(), self.config, service, region)
            return self._clients[key]

    def _made_session(self) -> boto3.Session:
        from sandbox.standins.plugins.aws import sessions

        with self._lock:
            if self._session is None:
                with aws_errors("reading AWS credentials"):
                    self._session = sessions.new_session(self.config)
            return self._session
