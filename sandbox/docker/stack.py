"""The stack of a real account as the sandbox deploys it: the example, with the lines changed that a user changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Final

from sandbox.docker.store import Store
from sandbox.settings import PROJECT, SandboxError, SandboxSettings

STACK: Final = "docker"
EXAMPLE: Final = PROJECT / "Pulumi.aws.yaml.example"
_ACCOUNT: Final = '["123456789012"]'
_ROLE: Final = "nomad-client"
_SIZE_GIB: Final = "1"
_LINE: Final = re.compile(
    r"(?P<start>\s*(?:- )?(?P<key>[\w-]+(?::[\w-]+)?): )(?P<value>[^#\s][^#]*?)(?P<end>\s*(?:#.*)?)"
)

Change = Callable[[str], str]


def write(settings: SandboxSettings, images: Store) -> None:
    """Writes the stack's file into the clone, where pulumi looks for it."""
    text = render(EXAMPLE.read_text(encoding="utf-8"), settings, images.tag)
    (PROJECT / f"Pulumi.{STACK}.yaml").write_text(text, encoding="utf-8")


def render(example: str, settings: SandboxSettings, tag: Callable[[str], str]) -> str:
    """The example with this sandbox's values in the lines marked `<`, small volumes, and the images that are here.

    Raises:
        SandboxError: a marked line has no value here.
    """
    zones = cycle(settings.zones)
    marked: dict[str, Change] = {
        "aws:region": lambda _: settings.region,
        "aws:allowedAccountIds": lambda _: _ACCOUNT,
        "nomad-stateful:clientRole": lambda _: _ROLE,
        "zone": lambda _: next(zones),
        "protect": lambda _: "false",
    }
    always: dict[str, Change] = {
        "sizeGib": lambda _: _SIZE_GIB,
        "image": lambda image: f"{image.rpartition(':')[0]}:{tag(image.rpartition(':')[0])}",
    }
    return "\n".join(_changed(example, marked, always)) + "\n"


def _changed(example: str, marked: dict[str, Change], always: dict[str, Change]) -> Iterator[str]:
    for line in example.splitlines():
        parts = _LINE.fullmatch(line)
        if parts is None:
            yield line
            continue
        is_marked = parts["end"].lstrip().startswith("# <")
        change = (always | marked if is_marked else always).get(parts["key"])
        if change is None:
            if is_marked:
                raise SandboxError(
                    f"{EXAMPLE.name} marks {parts['key']} to be adapted, and the sandbox has no value for it."
                )
            yield line
        else:
            yield f"{parts['start']}{change(parts['value'])}{parts['end']}"
