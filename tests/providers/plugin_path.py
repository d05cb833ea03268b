"""Which executable of a plugin is tested: our own one, or any other that the environment names."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from pathlib import Path

from tests import official_parts
from tools.toolchain import official

PROJECT = Path(__file__).resolve().parents[2]
OURS = {
    "aws": PROJECT / "sandbox/standins/plugins/aws/pulumi-resource-aws",
    "nomad": PROJECT / "sandbox/standins/plugins/nomad/pulumi-resource-nomad",
    "nomad-csi": PROJECT / "nomad_stateful/provider/pulumi-resource-nomad-csi",
}


def named_plugin(name: str) -> str:
    """What NOMAD_STATEFUL_PLUGIN_AWS, _NOMAD or _NOMAD_CSI says: nothing, embedded, official, or a path."""
    return os.environ.get(f"NOMAD_STATEFUL_PLUGIN_{name.upper().replace('-', '_')}") or ""


def is_ours(name: str) -> bool:
    """Whether our own plugin is tested."""
    return named_plugin(name) in {"", "embedded", str(OURS[name])}


def plugin_path(name: str) -> Path:
    """The plugin's executable: our own, or what `named_plugin` says."""
    if is_ours(name):
        return OURS[name]
    if (name, named_plugin(name)) == ("nomad", "official"):
        found = official_nomad()
        if found is None:
            raise LookupError("the official nomad plugin is missing: name a folder with its archive by OFFICIAL")
        return found
    return Path(named_plugin(name)).absolute()


def official_nomad() -> Path | None:
    """The official nomad plugin out of the folder of official parts, None where there is none."""
    folder = official_parts.folder()
    return folder and official.take(folder, official_parts.NOMAD, importlib.metadata.version("pulumi-nomad"))


def beside_nomad(folder: Path, nomad_folder: Path, plugin: Path | None = None) -> Path:
    """The nomad plugin as the engine would start it, with the nomad command first on its PATH."""
    script = folder / "pulumi-resource-nomad"
    script.write_text(
        "#!/bin/sh\n"
        f"PATH={nomad_folder}:$PATH NOMAD_STATEFUL_PYTHON={sys.executable}\nexport PATH NOMAD_STATEFUL_PYTHON\n"
        f'exec {plugin or plugin_path("nomad")} "$@"\n'
    )
    script.chmod(0o755)
    return script
