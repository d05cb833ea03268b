"""The AWS account of what the plugin has: the provider's configuration, and what a resource remembers of it."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.plugin_server.plugin import CheckFailure, Diff, Kind, Props, input_diff
from nomad_stateful.provider.declared import DeclaredResource
from nomad_stateful.waiting import Context

_INPUTS = ("region", "accountId", "awsConfig")


class InAccount:
    """What asks AWS."""

    account: Callable[[], AwsPlace] = AwsPlace
    """The provider's; an empty one where it has none."""

    def place(self, props: Props) -> AwsPlace:
        """Returns where something is by what it remembers, with the provider's credentials.

        Those that an earlier release kept in each resource count where the provider has none. Where the account was not
        remembered it is not the provider's: nothing says that it was made there.
        """
        account, remembered = self.account(), AwsPlace.of(props)
        return remembered if account == AwsPlace() else replace(remembered, config=account.config)

    def given(self, props: Props) -> AwsPlace:
        """Returns the place that inputs name, and of what they leave out the provider's."""
        account, given = self.account(), AwsPlace.of(props)
        return AwsPlace(
            given.region or account.region, given.account_id or account.account_id, given.config or account.config
        )


class ResourceInAccount(InAccount, DeclaredResource):
    """A resource that remembers the account and region that the provider had when it was made."""

    remembers: ClassVar[bool] = True

    def checked(self, news: Props) -> tuple[Props, list[CheckFailure]]:
        inputs, failures = super().checked(news)
        account = self.account()
        for key, configured in (("region", account.region), ("accountId", account.account_id)):
            if self.remembers and inputs[key] in ("", None):
                inputs[key] = configured
        return inputs, failures

    def diff(self, ctx: Context, id: str, state: Props, old_inputs: Props, news: Props) -> Diff:
        return Diff(self.changes(old_inputs, news))

    def changes(self, old_inputs: Props, news: Props) -> dict[str, Kind]:
        """Returns the differences; an account that is not given any more is the provider's, and none."""
        left = {key for key in _INPUTS if news.get(key) in ("", None)}
        found = input_diff(old_inputs, news, self.replace_on)
        return {key: kind for key, kind in found.items() if key not in left}
