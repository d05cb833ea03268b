"""Makes build/site/ of the pages: ``python -m tools.site [--check]``; --check also looks at it in a browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.packages import PackageError
from tools.site import check, source
from tools.toolchain import cache
from tools.wheel import uv

SITE: Final = source.TOP / "build/site"
_HERE: Final = Path(__file__).parent
_LOCK: Final = _HERE / "requirements.txt"


def generator() -> Path:
    """Returns the folder with the generator, installed from its own lock file if it is not there yet."""
    folder = cache.cache_root() / "site" / cache.digest(_LOCK.read_bytes(), sys.version)

    def fill(target: Path) -> None:
        words: list[str | Path] = [uv(), "pip", "install", "--quiet", "--python", sys.executable, "--require-hashes"]
        subprocess.run([*words, "--requirement", _LOCK, "--target", target], check=True)

    with cache.locked(folder.parent):
        return cache.publish(folder, fill)


def build() -> None:
    """Makes the site. Raises CalledProcessError for whatever the generator warns of."""
    work = SITE.with_name("site-work")
    source.write(work / "source")
    shutil.rmtree(SITE, ignore_errors=True)
    words: list[str | Path] = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-c", _HERE]
    env = {**os.environ, "PYTHONPATH": str(generator())}
    subprocess.run([*words, "-d", work / "doctrees", work / "source", SITE], check=True, env=env)


def main() -> int:
    """Says where the site is, or what is wrong with it."""
    try:
        build()
        problems = check.problems(SITE) if "--check" in sys.argv else []
    except FileNotFoundError as error:
        print(f"error: {error}: run `make bootstrap`", file=sys.stderr)
        return 1
    except (PackageError, check.BrowserError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        return error.returncode
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    print(SITE / "index.html")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
