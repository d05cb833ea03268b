"""Secrets that live in the stack's state."""

from collections.abc import Mapping
from typing import TypedDict, Unpack

import pulumi

from nomad_stateful.schema.generated_secret import GENERATED_SECRET
from nomad_stateful.sdk.base import NomadCsiResource


class GeneratedSecretInputs(TypedDict, total=False):
    """What GeneratedSecret takes."""

    length: pulumi.Input[int] | None
    keepers: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None


class GeneratedSecret(NomadCsiResource):
    """A random password of letters and digits, kept in the stack's encrypted state only.

    It is generated anew when `length` or `keepers` change.
    """

    table = GENERATED_SECRET

    length: pulumi.Output[int]
    keepers: pulumi.Output[Mapping[str, str]]
    result: pulumi.Output[str]

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **inputs: Unpack[GeneratedSecretInputs],
    ) -> None:
        self._register(resource_name, inputs, opts)
