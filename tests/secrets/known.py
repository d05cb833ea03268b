"""The secrets of a stack: whatever its state holds as a secret, and the credentials that lead to it."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.secrets.scan import SHORTEST, Secret

SECRET_SIGNATURE = "4dabf18193072939515e22adb298388d"
"""What marks a secret in an exported state."""
CREDENTIALS = ("NOMAD_TOKEN", "NOMAD_OPERATOR_TOKEN", "AWS_SECRET_ACCESS_KEY", "PULUMI_CONFIG_PASSPHRASE")
PASSPHRASE_FILE = "PULUMI_CONFIG_PASSPHRASE_FILE"


def of_state(exported: str) -> list[Secret]:
    """The secrets of a state that was exported with --show-secrets, each value once."""
    found: dict[str, str] = {}
    resources = json.loads(exported)["deployment"].get("resources", [])
    # Outputs of components and of the stack only repeat what a resource has.
    for resource in sorted(resources, key=lambda one: not one.get("custom", False)):
        name = resource["urn"].rpartition("::")[2]
        for value in _texts([resource.get("inputs"), resource.get("outputs")], inside=False):
            for part in _parts(value):
                found.setdefault(part, f"secret of {name}")
    return [Secret(name, value) for value, name in found.items()]


def of_environment(env: Mapping[str, str]) -> list[Secret]:
    """The credentials that a shell has for a stack."""
    found = [Secret(name, env[name]) for name in CREDENTIALS if env.get(name)]
    if env.get(PASSPHRASE_FILE):
        found.append(Secret("passphrase", Path(env[PASSPHRASE_FILE]).read_text(encoding="utf-8").strip()))
    return found


def of_folder(home: Path) -> list[Secret]:
    """The credentials in files of a sandbox that no shell is given: Nomad's management token and private keys."""
    found = [
        Secret(f"{path.stem} token", path.read_text().strip()) for path in sorted((home / "nomad").glob("*.token"))
    ]
    for path in sorted([*home.glob("nas/*_ed25519"), *home.glob("nas/*_key"), *home.rglob("*-key.pem")]):
        lines = [line for line in path.read_text().splitlines() if "-----" not in line]
        # The first lines of an OpenSSH key say of what kind it is, and are alike in all.
        found += [Secret(f"private key {path.name}", line) for line in lines[-2:] if len(line) >= SHORTEST]
    return found


def _texts(value: Any, *, inside: bool) -> Iterator[str]:
    """The strings in what is marked as secret."""
    if isinstance(value, dict):
        if SECRET_SIGNATURE in value and "plaintext" in value:
            yield from _texts(json.loads(value["plaintext"]), inside=True)
        else:
            for item in value.values():
                yield from _texts(item, inside=inside)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, inside=inside)
    elif isinstance(value, str) and inside:
        yield value


def _parts(text: str) -> list[str]:
    """A secret text, or the long lines of one that has several: a part of a key is a find too."""
    lines = [line.strip() for line in text.splitlines()]
    if len(lines) <= 1:
        return [text] if len(text) >= SHORTEST else []
    return [line for line in lines if len(line) >= 20 and "-----" not in line]
