"""`python -m tools.check_jobs [FOLDER]`: every job file as Nomad itself reads it, without a cluster."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from nomad_stateful.nomad.job_rendering import RenderError, render
from tools import toolchain

_SUFFIX = ".nomad.hcl"


def check(nomad: Path, folder: Path) -> list[str]:
    """Complaints about the job files of a folder: formatting, parsing, a missing file of example variables."""
    complaints: list[str] = []
    files = sorted(folder.glob(f"*{_SUFFIX}"))
    if not files:
        return [f"{folder} holds no {_SUFFIX} file"]
    complaints += [
        f"{path}: not formatted; run `make fix`"
        for path in sorted([*files, *folder.glob("*.vars.hcl")])
        if subprocess.run([str(nomad), "fmt", "-check", str(path)], capture_output=True, check=False).returncode
    ]
    for path in files:
        name = path.name.removesuffix(_SUFFIX)
        base = folder / f"{name}.vars.hcl"
        if not base.exists():
            complaints.append(f"{path}: there is no {base.name} with example values beside it")
            continue
        # More examples have what differs, and are named after it: database.binlogs.vars.hcl.
        for variables in [base, *sorted(folder.glob(f"{name}.*.vars.hcl"))]:
            try:
                render(nomad, path.read_text(encoding="utf-8"), {}, f"-var-file={base}", f"-var-file={variables}")
            except RenderError as error:
                complaints.append(f"{path} with {variables.name}: {error}")
    return complaints


def main(arguments: list[str]) -> int:
    """Prints the complaints; 1 when there are any."""
    complaints = check(toolchain.ensure().nomad, Path(arguments[0] if arguments else "jobs"))
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
