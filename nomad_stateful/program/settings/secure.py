"""Which settings were set as secrets (`pulumi config set --secret`), and that none of them ends up where it is read.

The engine says of whole keys alone that they hold a secret; which value it is stands in the stack's file.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path as File
from typing import Any

from nomad_stateful.databases.catalogue import DATABASES
from nomad_stateful.program.settings.errors import Problem, path_of

SECURE = "secure"
Path = tuple[str | int, ...]

_RULE = "it was set as a secret, and would stand in clear in the stack's state and in Nomad's job"
_OTHERWISE = "; if it is no secret, set it without --secret"
_REMEDIES = {
    "consumers": f"keep it in the consumer's secrets, and have a file show it (docs/consumers.md){_OTHERWISE}",
    "volumes": f"keep it in the volume's secrets{_OTHERWISE}",
    "plugins": f"have the driver use the clients' role, or keep it in the plugin's config{_OTHERWISE}",
    **dict.fromkeys(
        (f"{name}.initScripts" for name in DATABASES),
        f"have the script show it from a Nomad variable (docs/consumers.md, First start){_OTHERWISE}",
    ),
}


def stored(file: File, prefix: str) -> dict[str, list[Path]]:
    """Returns the paths of the encrypted values in a stack's file, by key; none where there is no such file."""
    if not file.is_file():
        return {}
    import yaml

    config = (yaml.safe_load(file.read_text(encoding="utf-8")) or {}).get("config") or {}
    found = {key.removeprefix(prefix): list(_encrypted(config[key], ())) for key in config if key.startswith(prefix)}
    return {key: [(key, *path) for path in paths] for key, paths in found.items() if paths}


def _encrypted(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, dict) and list(value) == [SECURE]:
        yield path
        return
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        yield from _encrypted(item, (*path, key))


def problems(
    config: Mapping[str, Any], keys: Iterable[str], paths: Mapping[str, list[Path]], places: Mapping[str, list[Path]]
) -> list[Problem]:
    """Returns what was set as a secret and has no place for one.

    `keys` are those of which the engine says that they hold a secret, `paths` what the stack's file says of it, and
    `places` the paths where secrets may stand and do. A key without a path comes from elsewhere, an environment say:
    of it no more is known than that one of its values is secret, which has to be one in such a place.
    """
    wrong = []
    for key in keys:
        allowed = places.get(key, [])
        known = paths.get(key) or ([] if allowed else [(key,)])
        wrong += [path for path in known if not any(path[: len(place)] == place for place in allowed)]
    return [Problem(".".join(path_of(path, config)), "a secret", _RULE, _remedy(path)) for path in wrong]


def _remedy(path: Path) -> str:
    names = ".".join(part for part in path if isinstance(part, str))
    found = next((text for start, text in _REMEDIES.items() if f"{names}.".startswith(f"{start}.")), None)
    return found or "set it without --secret if it may be read there; otherwise remove it"
