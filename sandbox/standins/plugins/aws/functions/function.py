"""What all functions of the plugin share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import Function, InvokeFailure, Props
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws.clients import Cloud
from sandbox.standins.plugins.aws.errors import aws_errors
from sandbox.standins.plugins.aws.scope import not_implemented


class AwsFunction(Function):
    """A lookup with declared arguments; any other argument is refused by name."""

    arguments: ClassVar[tuple[str, ...]]
    required: ClassVar[tuple[str, ...]] = ()

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    @abstractmethod
    def run(self, ctx: Context, args: Props) -> Props:
        """Returns the result for arguments whose names are right and whose nulls are gone."""

    def invoke(self, ctx: Context, args: Props) -> Props:
        given = {name: value for name, value in args.items() if value is not None}
        for name in sorted(given.keys() - set(self.arguments)):
            raise InvokeFailure("", not_implemented(f"the argument '{name}' of {self.token}"))
        for name in self.required:
            if name not in given:
                raise InvokeFailure("", f"Missing required argument: {name} of {self.token}")
        return ctx.call(lambda: self.run(ctx, given))

    def the_one(self, kind: str, args: Props) -> Any:
        """Returns what matches the argument `filters` as EC2 describes it; `kind` is "Volumes" or "Snapshots"."""
        filters = [{"Name": item["name"], "Values": list(item["values"])} for item in args.get("filters") or []]
        ec2: Any = self.cloud.ec2(self.cloud.config.region)
        with aws_errors(f"reading EBS {kind}"):
            pages = ec2.get_paginator(f"describe_{kind.lower()}").paginate(Filters=filters)
            found = [one for page in pages for one in page[kind]]
        if not found:
            raise ProviderError("Your query returned no results. Please change your search criteria and try again.")
        if len(found) > 1:
            raise ProviderError(
                "Your query returned more than one result. Please try a more specific search criteria, "
                "or set `most_recent` attribute to true."
            )
        return found[0]
