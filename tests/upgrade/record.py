"""`pulumi stack export --show-secrets | python -m tests.upgrade.record >tests/upgrade/VERSION/state.json`.

Keeps of an exported state what the engine needs to plan an upgrade: secrets are replaced, and what tells of the machine
is left out.
"""

import json
import sys
from typing import Any

SECRET_SIGNATURE = "4dabf18193072939515e22adb298388d"  # what marks a secret in an exported state
STAND_IN = "not-the-password-of-any-server-0"
OF_THE_MACHINE = frozenset({"stackTrace", "sourcePosition", "created", "modified"})


def portable(state: Any) -> Any:
    """The state, or a part of it, with stand-ins for secrets and nothing of the machine that made it."""
    if isinstance(state, list):
        return [portable(item) for item in state]
    if not isinstance(state, dict):
        return state
    if SECRET_SIGNATURE in state:
        plain = json.dumps(_replaced(json.loads(state["plaintext"])))
        return {SECRET_SIGNATURE: state[SECRET_SIGNATURE], "plaintext": plain}
    return {key: portable(value) for key, value in state.items() if key not in OF_THE_MACHINE}


def _replaced(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item) for item in value]
    return STAND_IN if isinstance(value, str) else value


def main() -> None:
    """Reads an exported state from standard input, writes the portable one to standard output."""
    state = portable(json.load(sys.stdin))
    # Each stack that imports it encrypts by its own provider.
    state["deployment"].pop("secrets_providers", None)
    json.dump(state, sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
