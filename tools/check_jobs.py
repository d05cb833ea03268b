"""`python -m tools.check_jobs [FOLDER]`: every job file as Nomad itself reads it, without a cluster."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
        if _run(nomad, "fmt", "-check", str(path))
    ]
    for path in files:
        name = path.name.removesuffix(_SUFFIX)
        # More examples are named after what they are an example of: mysql.exec.vars.hcl.
        examples = sorted([*folder.glob(f"{name}.vars.hcl"), *folder.glob(f"{name}.*.vars.hcl")])
        if not examples:
            complaints.append(f"{path}: there is no {name}.vars.hcl with example values beside it")
        for variables in examples:
            said = _run(nomad, "job", "run", "-output", f"-var-file={variables}", str(path))
            if said:
                complaints.append(f"{path} with {variables.name}: {said}")
    return complaints


def _run(nomad: Path, *words: str) -> str:
    """What the command complained about, empty when it succeeded."""
    done = subprocess.run([str(nomad), *words], capture_output=True, text=True, check=False)
    return (done.stderr or done.stdout).strip() or "failed" if done.returncode else ""


def main(arguments: list[str]) -> int:
    """Prints the complaints; 1 when there are any."""
    complaints = check(toolchain.ensure().nomad, Path(arguments[0] if arguments else "jobs"))
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
