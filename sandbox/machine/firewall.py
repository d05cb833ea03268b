"""Keeps the machine's other networks out of the sandbox's own: Linux answers for an address on every interface."""

from __future__ import annotations

from string import Template
from typing import Final

from sandbox.machine.commands import run
from sandbox.machine.errors import CloudError
from sandbox.settings import SandboxSettings

# Before routing, so that it also holds for what the machine would forward to an instance. The machine's own
# connections to its address on the bridge arrive on lo. The first two lines make it right for a table that is there.
_RULES: Final = Template("""\
add table ip $table
delete table ip $table
table ip $table {
  chain arriving {
    type filter hook prerouting priority -300; policy accept;
    ip daddr $subnet iifname != { "$bridge", "lo" } drop
  }
}
""")


def install(settings: SandboxSettings) -> str:
    """Drops what arrives for the sandbox's network by another interface; returns why that cannot be, or ""."""
    rules = _RULES.substitute(table=_table(settings), subnet=settings.subnet, bridge=settings.bridge)
    try:
        run("nft", "-f", "-", stdin=rules)
    except CloudError as error:
        return str(error)
    return ""


def is_installed(settings: SandboxSettings) -> bool:
    """Whether the rule is in force."""
    return _do("list", settings)


def remove(settings: SandboxSettings) -> bool:
    """Takes the rule away; says whether it was there."""
    return is_installed(settings) and _do("delete", settings)


def _do(verb: str, settings: SandboxSettings) -> bool:
    try:
        run("nft", verb, "table", "ip", _table(settings))
    except CloudError:
        return False
    return True


def _table(settings: SandboxSettings) -> str:
    return f"nomad-stateful-{settings.name}"
