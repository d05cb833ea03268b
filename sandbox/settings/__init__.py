"""The sandbox's settings."""

from sandbox.settings.errors import SandboxError, SettingsError
from sandbox.settings.model import (
    CODE,
    CONFIG_VARIABLE,
    HOME_VARIABLE,
    IN_CLONE,
    PROJECT,
    STACK,
    InstanceSpec,
    PulledImage,
    SandboxSettings,
    ServerSpec,
)
from sandbox.settings.reading import load_settings, parse_settings

__all__ = [
    "CODE",
    "CONFIG_VARIABLE",
    "HOME_VARIABLE",
    "IN_CLONE",
    "PROJECT",
    "STACK",
    "InstanceSpec",
    "PulledImage",
    "SandboxError",
    "SandboxSettings",
    "ServerSpec",
    "SettingsError",
    "load_settings",
    "parse_settings",
]
