"""GeneratedSecret: a random password that lives in the stack's encrypted state and nowhere else."""

import secrets
import string

from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.provider.declared import DeclaredResource, OnlyInState
from nomad_stateful.schema.jobs import GeneratedSecretProperties
from nomad_stateful.waiting import Context

_ALPHABET = string.ascii_letters + string.digits
_CLASSES = (string.ascii_lowercase, string.ascii_uppercase, string.digits)


def generate(length: int) -> str:
    """Returns letters and digits only, at least one of each class, so that no shell, URL or SQL has to quote it."""
    while True:
        candidate = "".join(secrets.choice(_ALPHABET) for _ in range(length))
        if all(any(char in wanted for char in candidate) for wanted in _CLASSES):
            return candidate


class GeneratedSecret(OnlyInState, DeclaredResource):
    """Generated once; a change of `length` or `keepers` makes a new one."""

    table = GeneratedSecretProperties.table
    why_no_import = "its id does not hold the secret"

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        return secrets.token_hex(8), inputs | {"result": generate(inputs["length"])}

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        return inputs | {"result": state["result"]}
