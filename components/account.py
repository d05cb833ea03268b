"""The AWS account of components whose program gives the provider nomad-csi none: that of their own arguments."""

from collections.abc import Iterable, Mapping
from typing import Any

import pulumi
from pulumi.resource import DependencyResource

from nomad_stateful.schema.fields import PACKAGE
from nomad_stateful.sdk import Provider

_TYPE = f"{PACKAGE}:index:VolumeGuard"
"""Any of the provider's types, by which the SDK finds it."""
_SETTINGS = {"region": "aws_region", "account_id": "aws_account_id", "aws_config": "aws_config"}


def in_account(
    component: str, name: str, args: Mapping[str, Any], opts: pulumi.ResourceOptions | None
) -> pulumi.ResourceOptions | None:
    """Returns the options of a component of that type, with a provider for its arguments' account if it has none."""
    settings = {ours: args[key] for key, ours in _SETTINGS.items() if args.get(key)}
    if not settings:
        return opts
    if _is_given(opts):
        pulumi.log.warn(
            f"{component} {name}: {', '.join(settings)} of its arguments do not count, since the program gives it a "
            f"provider {PACKAGE}: set them there"
        )
        return opts
    parent = opts.parent if opts else None
    # The parent in a program in another language is known by its name alone, and protects nothing.
    protect = False if isinstance(parent, DependencyResource) else None
    placed = pulumi.ResourceOptions(parent=parent, protect=protect)
    made = Provider(f"{name}-{component}-{PACKAGE}", **settings, opts=placed)
    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(providers=[made]))


def account_of(volumes: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Returns the volume whose account is that of all; {} where none has one."""
    return next((one for one in volumes if one.get("backend", "ebs") == "ebs" and _SETTINGS.keys() & one.keys()), {})


def _is_given(opts: pulumi.ResourceOptions | None) -> bool:
    if opts is None:
        return False
    given = opts.providers or []
    providers = [
        *(given.values() if isinstance(given, Mapping) else given),
        *([opts.provider] if opts.provider else []),
    ]
    return any(one.package == PACKAGE for one in providers) or bool(opts.parent and opts.parent.get_provider(_TYPE))
