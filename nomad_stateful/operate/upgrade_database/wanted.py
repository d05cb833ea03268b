"""The image that the settings get, and what of them the new version would not take."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nomad_stateful.databases.model import Database
from nomad_stateful.databases.upgrades import UpgradeRefusedError, Version

VOLUMES = "nomad-stateful:volumes"


def section_of(kind: Database) -> str:
    """Returns the key of a database's section in the stack's configuration."""
    return f"nomad-stateful:{kind.name}"


@dataclass(frozen=True)
class Images:
    """The server's image before and after."""

    section: str
    """Key of the database's section in the stack's configuration."""
    before: str
    after: str

    @property
    def settings(self) -> dict[str, str]:
        """The change of the settings by path."""
        return {f"{self.section}.image": self.after}

    @property
    def earlier(self) -> dict[str, str]:
        """What takes it back."""
        return {f"{self.section}.image": self.before}


def images(kind: Database, now: str, version: Version, given: str) -> Images:
    """Returns the images; `now` is that of the settings, or else of the job. Raises UpgradeRefusedError."""
    numbers = rf"\d+(?:\.\d+){{{len(version) - 1}}}"
    tagged = re.compile(rf"(?P<name>[^@]+):(?P<version>{numbers})(?P<rest>-[\w.-]+)?")
    if given:
        tag = tagged.fullmatch(given.partition("@")[0])
        if tag and tag["version"] != str(version):
            raise UpgradeRefusedError(f"--image is {given}, and VERSION is {version}: give both the same version")
        return Images(section_of(kind), now, given)
    found = tagged.fullmatch(now)
    if found is None:
        raise UpgradeRefusedError(
            f"{kind.name}.image is {now}, whose tag is no whole version: name the new one by --image IMAGE"
        )
    return Images(section_of(kind), now, f"{found['name']}:{version}{found['rest'] or ''}")


def refuse_other_server(kind: Database, *images: str) -> None:
    """Raises UpgradeRefusedError where an image is another server's."""
    for image in images:
        if problem := kind.image_problem(image):
            raise UpgradeRefusedError(f"image {image}: {problem.rule}. {problem.remedy}")
