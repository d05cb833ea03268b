"""The files of a release: wheels, sdist, plugin archive, schema, notes, sums; the same from the same commit."""

import gzip
import io
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from nomad_stateful.provider.plugin import NomadCsiPlugin
from nomad_stateful.schema.fields import PACKAGE
from nomad_stateful.version import VERSION
from tools.release.changelog import PAGE, UNRELEASED, sections
from tools.wheel import LOCK, SANDBOX, TOP, requirements, uv

SUMS = "SHA256SUMS"
_LAUNCHER = Path(__file__).with_name("launcher.sh")
_AS_PLUGIN = TOP / "package"
"""The repository as a plugin; the archive is the same with a wheel, and with a launcher."""


class ReleaseRefusedError(Exception):
    """The tag and the project do not say the same."""


def make(target: Path, tag: str = "", image: Callable[[Path], object] = lambda _: None) -> dict[str, str]:
    """Makes all files in a folder, which is emptied before, and returns the sum of each; `image` writes the agent's.

    Raises ReleaseRefusedError where there is a tag, and it is not the version's or the changelog has no section of it.
    """
    said = notes(PAGE.read_text(encoding="utf-8"), VERSION, tag)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    moment = commit_time()
    _build(target, moment)
    (target / ".gitignore").unlink(missing_ok=True)
    (target / "schema.json").write_text(_indented(NomadCsiPlugin().schema()), encoding="utf-8")
    (target / "notes.md").write_text(said, encoding="utf-8")
    _plugin_archive(target, moment)
    image(target)
    sums = {path.name: sha256(path.read_bytes()).hexdigest() for path in sorted(target.iterdir())}
    (target / SUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()), encoding="utf-8")
    return sums


def commit_time() -> int:
    """Returns SOURCE_DATE_EPOCH, or else the commit's time, which every file of the release has."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    shown = (
        given
        or subprocess.run(
            ["git", "log", "-1", "--format=%ct"], cwd=TOP, capture_output=True, text=True, check=True
        ).stdout
    )
    return int(shown)


def notes(changelog: str, version: str, tag: str) -> str:
    """Returns the changelog's section of a version; without a tag that of Unreleased will do. Raises as `make`."""
    if tag and tag != f"v{version}":
        raise ReleaseRefusedError(f"the tag is {tag}, and nomad_stateful/version.py has {version}: they must agree")
    texts = sections(changelog)
    if version not in texts and tag:
        raise ReleaseRefusedError(f"CHANGELOG.md has no section {version}: move Unreleased under it, with its date")
    return texts.get(version, texts.get(UNRELEASED, "")) + "\n"


def archive(contents: dict[str, bytes], moment: int) -> bytes:
    """Returns a tar.gz of files by name; nothing in it depends on when and by whom it is made."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in sorted(contents.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(content), moment
            entry.mode = 0o755 if content.startswith(b"#!") else 0o644
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)


def _build(target: Path, moment: int) -> None:
    locked = ("--build-constraints", LOCK, "--require-hashes", "--out-dir", target)
    env = os.environ | {"SOURCE_DATE_EPOCH": str(moment)}
    # The wheels from the tree: an sdist has copies in place of the links that the package consists of.
    for kind, source in (("--wheel", TOP), ("--sdist", TOP), ("--wheel", SANDBOX)):
        subprocess.run([uv(), "build", "--quiet", kind, *locked, source], check=True, env=env)


def _plugin_archive(target: Path, moment: int) -> None:
    """The plugin as the engine installs it: Pulumi makes its environment from requirements.txt."""
    (wheel,) = target.glob("nomad_stateful-*.whl")
    requirements(target)
    locked = (target / "requirements.txt").read_text(encoding="utf-8")
    own = f"./{wheel.name} --hash=sha256:{sha256(wheel.read_bytes()).hexdigest()}\n"
    plugin = yaml.safe_load((_AS_PLUGIN / "PulumiPlugin.yaml").read_text(encoding="utf-8")) | {"version": VERSION}
    contents = {
        "PulumiPlugin.yaml": _indented(plugin).encode(),
        "__main__.py": (_AS_PLUGIN / "__main__.py").read_bytes(),
        f"pulumi-resource-{PACKAGE}": _LAUNCHER.read_bytes(),
        "requirements.txt": (own + locked).encode(),
        wheel.name: wheel.read_bytes(),
    }
    packed = archive(contents, moment)
    for platform in ("linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"):
        # Python is the same on each; the engine asks for one by its platform.
        (target / f"pulumi-resource-{PACKAGE}-v{VERSION}-{platform}.tar.gz").write_bytes(packed)


def _indented(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"
