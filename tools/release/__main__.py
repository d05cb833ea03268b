"""Makes build/release/, the files of a release: ``python -m tools.release [--twice]``."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from sandbox.docker.errors import DockerError
from tools.image import __main__ as image
from tools.packages import PackageError
from tools.release import files
from tools.wheel import TOP

TARGET = TOP / "build/release"


def main() -> None:
    """Makes the files; with --twice also in a second folder, and ends with 1 where the two differ."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    parser.add_argument("--twice", action="store_true", help="make it twice, and compare the sums")
    parser.add_argument("--tag", default="", help="the tag that is released: the version and its notes must be there")
    arguments = parser.parse_args()
    try:
        sums = files.make(TARGET, arguments.tag, image.on_debian)
        if arguments.twice:
            with tempfile.TemporaryDirectory() as folder:
                again = files.make(Path(folder), image=image.on_debian)
            different = sorted(name for name, digest in sums.items() if again[name] != digest)
            if different:
                sys.exit(f"error: two builds differ in {', '.join(different)}")
    except (files.ReleaseRefusedError, DockerError, PackageError) as error:
        sys.exit(f"error: {error}")
    except FileNotFoundError:
        sys.exit("error: the package installer is not in the cache: run `make bootstrap`")
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
    print((TARGET / files.SUMS).read_text(encoding="utf-8"), end="")


if __name__ == "__main__":
    main()
