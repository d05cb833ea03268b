"""The image that the settings get, what of them the new version would not take, and the way back on a snapshot."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nomad_stateful.databases.model import Database
from nomad_stateful.databases.upgrades import UpgradeRefusedError, Version

VOLUMES = "nomad-stateful:volumes"
# What is of the volume itself, and not of one like it; and its secrets, which no command shows.
_OWN = frozenset({"name", "snapshotId", "moveTo", "registered", "adopt", "renamedFrom", "retain", "id", "secrets"})


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


def way_back(config: Mapping[str, Any], images: Images, snapshot_id: str, version: str, stack: str) -> list[str]:
    """Returns what an operator runs: a new volume from the snapshot, and the server of before on it.

    The volume that the new server has begun to upgrade stays as it is. Without a single volume that Pulumi makes, the
    settings have to be written by hand.
    """
    section, image = images.section, images.before
    known = [one for one in config.get(VOLUMES) or [] if isinstance(one, Mapping)]
    name = str((config.get(section) or {}).get("volume") or "")
    entry = next((one for one in known if one.get("name") == name), None)
    wait = f"aws ec2 wait snapshot-completed --snapshot-ids {snapshot_id}"
    if entry is None or entry.get("provision", "pulumi") != "pulumi" or "zones" in entry:
        own = section.partition(":")[2]
        what = f"a volume with snapshotId {snapshot_id}, {own}.volume its name, {own}.image {image}"
        by_hand = f"# docs/volumes.md, Restore: {what}"
        return [wait, by_hand, f"pulumi up --stack {stack}"]
    new = _free(f"{name}-{version.replace('.', '-')}", {str(one.get("name")) for one in known})
    place = f"{VOLUMES}[{len(known)}]"
    values = {f"{place}.name": new}
    values |= {
        path: text for key, value in entry.items() if key not in _OWN for path, text in _flat(f"{place}.{key}", value)
    }
    values |= {f"{place}.snapshotId": snapshot_id, f"{section}.volume": new, f"{section}.image": image}
    words = " ".join(f"--plaintext {shlex.quote(f'{path}={value}')}" for path, value in values.items())
    # Without a value the command asks for it.
    secrets = [path for path, _ in _flat(f"{place}.secrets", entry.get("secrets") or {})]
    return [
        wait,
        f"pulumi config set-all --stack {stack} --path {words}",
        *(f"pulumi config set --stack {stack} --secret --path {shlex.quote(path)}" for path in secrets),
        f"pulumi up --stack {stack}",
    ]


def _free(name: str, taken: set[str]) -> str:
    numbers = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(one for one in numbers if one not in taken)


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{path}.{key}" if str(key).isidentifier() else f'{path}["{key}"]', inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _flat(f"{path}[{index}]", inner)
    else:
        yield path, str(value).lower() if isinstance(value, bool) else str(value)
