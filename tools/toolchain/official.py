"""Official parts out of a folder of release archives (`OFFICIAL=DIR`): verified, unpacked into the shared cache."""

from __future__ import annotations

import argparse
import platform
import re
import sys
import tarfile
from functools import partial
from pathlib import Path
from typing import Final

from tools.toolchain.cache import cache_root, file_digest, locked, publish
from tools.toolchain.download import listed_sums
from tools.toolchain.errors import ToolchainError
from tools.toolchain.pins import RELEASE_SUMS

KEY: Final = "OFFICIAL"
PROGRAMS: Final = ("pulumi-resource-nomad", "pulumi-resource-aws", "aws-ebs-csi-driver")
"""Programs that the sandbox takes out of such a folder."""

_LISTS: Final = ("*checksums*.txt", "*SHA256SUMS*", "*.sha256")
_BLOCK: Final = 1 << 20


def require(folder: Path) -> Path:
    """Returns the folder's absolute path.

    Raises:
        ToolchainError: there is no such folder, or it holds no archive that is known here.
    """
    if not folder.is_dir():
        raise ToolchainError(KEY, str(folder), "there is no such folder", "Name the folder that holds the archives.")
    if not any(_archives(folder, program) for program in PROGRAMS):
        raise ToolchainError(
            KEY,
            str(folder),
            f"it holds no release archive of {', '.join(PROGRAMS)}",
            f"Put archives there, named as published, such as {archive_name('pulumi-resource-nomad', '2.6.1')}.",
        )
    return folder.absolute()


def archive_name(program: str, version: str) -> str:
    """Returns what the publishers call the archive for this kind of machine."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"{program}-v{version}-linux-{machine}.tar.gz"


def take(folder: Path, program: str, version: str) -> Path | None:
    """Returns the program out of the folder's archive, None where the folder has no archive of it.

    Raises:
        ToolchainError: the archive is of another version or kind of machine, is not the published one, or is broken.
    """
    require(folder)
    there = _archives(folder, program)
    archive = folder / archive_name(program, version)
    if archive.name not in there:
        if there:
            remedy = f"Put {archive.name} there, or take {', '.join(there)} away."
            raise ToolchainError(KEY, str(folder), f"of {program} it holds {', '.join(there)} only", remedy)
        return None
    total = file_digest(archive)
    _verify(archive, total)
    root = cache_root() / "official"
    with locked(root):
        return publish(root / total, partial(_unpack, archive, program)) / program


def _archives(folder: Path, program: str) -> list[str]:
    return sorted(path.name for path in folder.glob(f"{program}-v*-*.tar.gz"))


def _verify(archive: Path, total: str) -> None:
    """Holds an archive to its pinned sum; where there is none, to a list in the folder, for which its owner answers."""
    if archive.name in RELEASE_SUMS:
        listed = {"tools/toolchain/pins.py": RELEASE_SUMS[archive.name]}
    else:
        listed = {
            path.name: sums[archive.name]
            for pattern in _LISTS
            for path in sorted(archive.parent.glob(pattern))
            if archive.name in (sums := listed_sums(path.read_text(encoding="ascii", errors="replace")))
        }
    if total in listed.values():
        return
    wrong = "; ".join(f"{name} says {value}" for name, value in listed.items())
    rule = wrong or "no list of SHA-256 sums beside it names it"
    remedy = "Fetch it again, and put a list (SHA256SUMS) from a source that you trust beside it."
    raise ToolchainError(f"SHA-256 of {archive}", total, rule, remedy)


def _unpack(archive: Path, program: str, target: Path) -> None:
    try:
        with tarfile.open(archive) as packed:
            member = next((one for one in packed if one.isreg() and Path(one.name).name == program), None)
            content = packed.extractfile(member) if member is not None else None
            if content is None:
                rule = f"it does not hold the program {program}"
                raise ToolchainError(KEY, str(archive), rule, "Fetch the release's archive again.")
            with (target / program).open("wb") as file:
                while block := content.read(_BLOCK):
                    file.write(block)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ToolchainError(KEY, str(archive), f"it cannot be unpacked: {error}", "Fetch it again.") from error
    (target / program).chmod(0o755)


def main() -> int:
    """`python -m tools.toolchain.official DIR PROGRAM VERSION`: prints where the verified program is."""
    parser = argparse.ArgumentParser(prog="python -m tools.toolchain.official", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("version", type=_version)
    arguments = parser.parse_args()
    try:
        program = take(arguments.folder, arguments.program, arguments.version)
    except ToolchainError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if program is None:
        print(f"error: {KEY} is {str(arguments.folder)!r}: it holds no {arguments.program}", file=sys.stderr)
        return 1
    print(program)
    return 0


def _version(text: str) -> str:
    if not re.fullmatch(r"\d+\.\d+\.\d+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a version such as 2.6.1")
    return text


if __name__ == "__main__":
    sys.exit(main())
