"""The stand-in aws plugin: its types, its functions, and what happens to its configuration."""

from __future__ import annotations

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import Checked, CheckFailure, Plugin, Props
from nomad_stateful.plugin_server.values import contains_unknown
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws import config as provider_config
from sandbox.standins.plugins.aws.bucket import BucketResource
from sandbox.standins.plugins.aws.bucket_settings import SETTINGS
from sandbox.standins.plugins.aws.clients import Cloud
from sandbox.standins.plugins.aws.ec2_tag import TagResource
from sandbox.standins.plugins.aws.functions import FUNCTIONS
from sandbox.standins.plugins.aws.lifecycle_policy import LifecyclePolicyResource
from sandbox.standins.plugins.aws.policy import PolicyResource
from sandbox.standins.plugins.aws.role import RoleResource
from sandbox.standins.plugins.aws.role_policy import RolePolicyResource
from sandbox.standins.plugins.aws.role_policy_attachment import RolePolicyAttachmentResource
from sandbox.standins.plugins.aws.scope import OFFICIAL, VERSION
from sandbox.standins.plugins.aws.volume import VolumeResource

_RESOURCES = (
    VolumeResource, TagResource, LifecyclePolicyResource, PolicyResource, RoleResource, RolePolicyResource,
    RolePolicyAttachmentResource, BucketResource, *SETTINGS,
)  # fmt: skip


class AwsPlugin(Plugin):
    """Carries the official plugin's name and version, so that either can go on with the other's state."""

    name = "aws"
    version = VERSION
    secret_config = frozenset({"accessKey", "secretKey", "token"})

    def __init__(self) -> None:
        self._cloud = Cloud()
        self.resources = [resource(self._cloud) for resource in _RESOURCES]
        self.functions = [function(self._cloud) for function in FUNCTIONS]
        names = [item.token.rsplit(":", 1)[-1] for item in (*_RESOURCES, *FUNCTIONS)]
        self.unrecognized_note = f"The embedded aws plugin implements {', '.join(names)} only; for others, {OFFICIAL}."

    def prepare(self) -> None:
        """boto3, which takes as long as the rest of the plugin's start."""
        from sandbox.standins.plugins.aws import sessions  # noqa: F401

    def check_config(self, ctx: Context, olds: Props, news: Props) -> Checked:
        """What can be told without AWS: the engine starts one plugin after the other, and waits for this."""
        config = provider_config.with_defaults(news)
        if contains_unknown(config):
            return Checked(config)
        reasons = provider_config.problems(config)
        if not reasons:
            try:
                provider_config.parse(config)
            except ProviderError as error:
                reasons = [str(error)]
        return Checked(config, [CheckFailure("", reason) for reason in reasons])

    def configure(self, config: Props) -> None:
        """Checks credentials and account too; everything that uses the provider waits for it."""
        filled = provider_config.with_defaults(config)
        if reasons := provider_config.problems(filled):
            raise ProviderError("; ".join(reasons))
        self._cloud.configure(provider_config.parse(filled))
