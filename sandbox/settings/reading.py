"""The only reader of sandbox.toml."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, Final

from sandbox.settings.errors import SandboxError, SettingsError
from sandbox.settings.model import (
    CONFIG_VARIABLE,
    FIRST_INSTANCE_ADDRESS,
    HOME_VARIABLE,
    PROJECT,
    InstanceSpec,
    PulledImage,
    SandboxSettings,
)


def load_settings(environ: Mapping[str, str] = os.environ) -> SandboxSettings:
    """Reads sandbox.toml (or the file that NOMAD_STATEFUL_SANDBOX_CONFIG names).

    Raises:
        SettingsError: a key that does not exist or a value that breaks a rule.
    """
    named = environ.get(CONFIG_VARIABLE)
    path = Path(named or PROJECT / "sandbox.toml")
    home = Path(environ.get(HOME_VARIABLE) or PROJECT / ".sandbox").absolute()
    try:
        # Every key has a default, so a project needs no such file.
        table = tomllib.loads(path.read_text(encoding="utf-8")) if named or path.exists() else {}
    except OSError as error:
        raise SettingsError(
            CONFIG_VARIABLE,
            str(path),
            f"the file cannot be read ({error.strerror})",
            "Name an existing file or unset it.",
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise SandboxError(f"{path} is not TOML: {error}. Fix that line.") from error
    settings = parse_settings(table, home)
    # A sandbox that was started with TLS has it until it goes down.
    return replace(settings, tls=settings.tls or settings.nomad_cli_certificate.is_file())


_DEFAULT_PORTS: Final = {"ec2": 5000, "nomad_http": 4646, "nomad_rpc": 4647, "nomad_serf": 4648}
_DEFAULT_INSTANCES: Final = (("client-1", 0), ("client-2", 0), ("client-3", 1))
_REFERENCE: Final = re.compile(r"(localhost|[a-z0-9-]+(\.[a-z0-9-]+)+)(:\d+)?/[a-z0-9._/-]+@sha256:[0-9a-f]{64}")
_SERVERS: Final = (1, 3, 5)
_MOST_DELAY_MS: Final = 1000
_KEYS: Final = ("name", "subnet", "region", "zones", "servers", "zone_delay_ms", "tls", "ports", "images", "instances")


def parse_settings(table: Mapping[str, Any], home: Path) -> SandboxSettings:
    """Validates the table of a sandbox.toml.

    Raises:
        SettingsError: as for load_settings.
    """
    _refuse_unknown(table, _KEYS, "")
    region = _matching("region", table.get("region", "us-west-2"), r"[a-z]{2}(-[a-z]+)+-\d", "Use one like us-west-2.")
    zones = _zones(table.get("zones", [f"{region}a", f"{region}b"]), region)
    ports = _ports(table.get("ports", {}))
    instances = _instances(table.get("instances"), zones)
    settings = SandboxSettings(
        home=home,
        name=_matching(
            "name", table.get("name", "nsb"), r"[a-z][a-z0-9]{0,7}", "Use one to eight lower-case letters and digits."
        ),
        subnet=_subnet(table.get("subnet", "10.173.86.0/24")),
        region=region,
        zones=zones,
        instances=instances,
        ec2_port=ports["ec2"],
        nomad_http_port=ports["nomad_http"],
        nomad_rpc_port=ports["nomad_rpc"],
        nomad_serf_port=ports["nomad_serf"],
        tls=_switch("tls", table.get("tls", False)),
        images=_images(table.get("images", {})),
        servers=_servers(table.get("servers", 1), zones),
        zone_delay_ms=_zone_delay(table.get("zone_delay_ms", 0)),
    )
    _check_room(settings)
    return settings


def _refuse_unknown(table: Mapping[str, Any], known: tuple[str, ...], prefix: str) -> None:
    for key, value in table.items():
        if key not in known:
            raise SettingsError(
                prefix + key,
                value,
                "there is no such key",
                f"The keys here are {', '.join(known)}; remove or rename it.",
            )


def _matching(key: str, value: object, pattern: str, remedy: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise SettingsError(key, value, "it does not have the form needed", remedy)
    return value


def _subnet(value: object) -> IPv4Network:
    remedy = "Use a private one like 10.173.86.0/24."
    if not isinstance(value, str):
        raise SettingsError("subnet", value, "it is not a string", remedy)
    try:
        subnet = IPv4Network(value)
    except ValueError as error:
        raise SettingsError("subnet", value, f"it is not an IPv4 network ({error})", remedy) from error
    if not subnet.is_private or subnet.is_loopback or subnet.is_link_local:
        raise SettingsError("subnet", value, "it is not a private network", remedy)
    if not 16 <= subnet.prefixlen <= 26:
        raise SettingsError("subnet", value, "its prefix is not from /16 to /26", remedy)
    return subnet


def _zones(value: object, region: str) -> tuple[str, ...]:
    remedy = f"Use zones of the region, like {region}a."
    if not isinstance(value, list) or not value or not all(isinstance(zone, str) for zone in value):
        raise SettingsError("zones", value, "it is not a list of at least one zone name", remedy)
    for zone in value:
        if not re.fullmatch(re.escape(region) + "[a-z]", zone):
            raise SettingsError("zones", zone, f"the region {region} has no such zone", remedy)
    if len(set(value)) != len(value):
        raise SettingsError("zones", value, "a zone is named twice", "Name each zone once.")
    return tuple(value)


def _servers(value: object, zones: tuple[str, ...]) -> int:
    if type(value) is not int or value not in _SERVERS:
        raise SettingsError("servers", value, "a quorum needs an odd number of servers", "Use 1, 3 or 5.")
    if value > len(zones):
        rule = f"there is one server a zone, and zones has {len(zones)}"
        raise SettingsError("servers", value, rule, "Name as many zones, or use servers = 1.")
    return value


def _zone_delay(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= _MOST_DELAY_MS:
        rule = f"it is not a number of milliseconds from 0 to {_MOST_DELAY_MS}"
        raise SettingsError("zone_delay_ms", value, rule, "Write it like zone_delay_ms = 0.5.")
    return float(value)


def _switch(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise SettingsError(key, value, "it is neither true nor false", f"Write {key} = true, without quotes.")
    return value


def _ports(value: object) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise SettingsError("ports", value, "it is not a table", "Write it as [ports] with one line per port.")
    _refuse_unknown(value, tuple(_DEFAULT_PORTS), "ports.")
    ports: dict[str, int] = dict(_DEFAULT_PORTS)
    ports.update(value)
    for key, port in ports.items():
        if type(port) is not int or not 1024 <= port <= 65535:
            raise SettingsError(f"ports.{key}", port, "it is not a whole number from 1024 to 65535", "Use a free port.")
        holder = next(other for other in ports if ports[other] == port)
        if holder != key:
            raise SettingsError(f"ports.{key}", port, f"ports.{holder} is the same port", "Use a different one.")
    return ports


def _instances(value: object, zones: tuple[str, ...]) -> tuple[InstanceSpec, ...]:
    if value is None:
        return tuple(InstanceSpec(name, zones[min(zone, len(zones) - 1)]) for name, zone in _DEFAULT_INSTANCES)
    if not isinstance(value, list) or not value:
        raise SettingsError("instances", value, "there is none", "Write at least one [[instances]] with name and zone.")
    specs: list[InstanceSpec] = []
    for index, entry in enumerate(value):
        prefix = f"instances[{index}]."
        if not isinstance(entry, Mapping):
            raise SettingsError(f"instances[{index}]", entry, "it is not a table", "Write it as [[instances]].")
        _refuse_unknown(entry, ("name", "zone"), prefix)
        name = _matching(
            f"{prefix}name", entry.get("name"), r"[a-z]([a-z0-9-]{0,30}[a-z0-9])?", "Use a host name like client-1."
        )
        zone = entry.get("zone")
        if zone not in zones:
            raise SettingsError(f"{prefix}zone", zone, "it is not one of zones", f"Use one of {', '.join(zones)}.")
        if any(spec.name == name for spec in specs):
            raise SettingsError(f"{prefix}name", name, "another instance has this name", "Use a different one.")
        specs.append(InstanceSpec(name, zone))
    return tuple(specs)


def _images(value: object) -> tuple[PulledImage, ...]:
    form = '"NAME:TAG" = "REGISTRY/REPOSITORY@sha256:DIGEST"'
    if not isinstance(value, Mapping):
        raise SettingsError("images", value, "it is not a table", f"Write it as [images] with lines {form}.")
    images = []
    for name, reference in value.items():
        _matching("images", name, r"[a-z0-9][a-z0-9._/:-]*:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", f"Write {form}.")
        if not isinstance(reference, str) or not _REFERENCE.fullmatch(reference):
            rule = "it is not an image of a registry by its digest, which alone is the same image each time"
            raise SettingsError(f'images."{name}"', reference, rule, f"Write {form}.")
        images.append(PulledImage(name, reference))
    return tuple(images)


def _check_room(settings: SandboxSettings) -> None:
    parts = 1 << (len(settings.zones) - 1).bit_length()
    per_zone = settings.subnet.num_addresses // parts
    # The last address is the broadcast's, the one before it a server's.
    room = per_zone - FIRST_INSTANCE_ADDRESS - (1 if settings.servers == 1 else 2)
    most = max(sum(spec.zone == zone for spec in settings.instances) for zone in settings.zones)
    # A subnet of EC2 has at least 16 addresses.
    if per_zone < 16 or most > room:
        raise SettingsError(
            "subnet",
            str(settings.subnet),
            "it is too small for the zones and instances",
            "Use a /24, or fewer of them.",
        )
