"""Secrets as Nomad keeps them: the items of one variable."""

from collections.abc import Mapping

from nomad_stateful.program.settings.errors import Refusal

LARGEST_BYTES = 64 * 1024
"""https://developer.hashicorp.com/nomad/docs/concepts/variables"""


def check(key: str, items: Mapping[str, str], remedy: str = "keep less in it, or put files on a volume") -> None:
    """Raises Refusal for items that do not fit into one variable together, without a value of them."""
    if "" in items:
        raise Refusal(key, "an empty name", "an item has a name", "name it")
    size = sum(len(name.encode()) + len(text.encode()) for name, text in items.items())
    if size > LARGEST_BYTES:
        rule = f"Nomad keeps names and values in one variable, of {LARGEST_BYTES // 1024} KiB at most"
        raise Refusal(key, f"{size} bytes", rule, remedy)
