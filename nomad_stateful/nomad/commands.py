"""Nomad's own commands, as messages name them."""


def scope(namespace: str) -> str:
    """Returns the option by which such a command finds a namespace, with a space before; none for the default one."""
    return "" if namespace == "default" else f" -namespace {namespace}"
