"""Which executable of a plugin is tested: our own one, or any other that the environment names."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
OURS = {
    "aws": PROJECT / "sandbox/plugins/aws/pulumi-resource-aws",
    "nomad": PROJECT / "sandbox/plugins/nomad/pulumi-resource-nomad",
    "nomad-csi": PROJECT / "provider/pulumi-resource-nomad-csi",
}


def plugin_path(name: str) -> Path:
    """The plugin's executable; NOMAD_STATEFUL_PLUGIN_AWS, _NOMAD or _NOMAD_CSI name another one."""
    return Path(os.environ.get(f"NOMAD_STATEFUL_PLUGIN_{name.upper().replace('-', '_')}") or OURS[name]).absolute()


def beside_nomad(folder: Path, nomad_folder: Path) -> Path:
    """The nomad plugin as the engine would start it, with the nomad command first on its PATH."""
    script = folder / "pulumi-resource-nomad"
    script.write_text(
        "#!/bin/sh\n"
        f"PATH={nomad_folder}:$PATH NOMAD_STATEFUL_PYTHON={sys.executable}\nexport PATH NOMAD_STATEFUL_PYTHON\n"
        f'exec {plugin_path("nomad")} "$@"\n'
    )
    script.chmod(0o755)
    return script
