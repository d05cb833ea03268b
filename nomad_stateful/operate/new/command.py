"""`nomad-stateful new`: a project of a person's own, which takes the program from the installed package."""

import json
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from importlib import metadata
from pathlib import Path

from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Command
from nomad_stateful.operate.project import settings_name
from nomad_stateful.version import VERSION

_FILES = Path(__file__).with_name("files")
_DISTRIBUTION = "nomad-stateful"
_RULE = (
    "no release is on PyPI, where anyone may take the name. Have pip ask an index of your own alone (--index-url), or "
    f"name the release's wheel: {_DISTRIBUTION} @ URL/nomad_stateful-{VERSION}-py3-none-any.whl"
)
_OF_INDEX = "# " + _RULE.replace(". ", ".\n# ", 1)


def package() -> str:
    """Returns the requirement that installs what runs: from where it was installed, or of an index by its version.

    Raises OperateError in a clone.
    """
    try:
        installed = metadata.distribution(_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        raise OperateError(
            "this is a clone, and a project takes the program from a package: install the wheel of a release, or of "
            f"`make wheel`, with `pip install nomad_stateful-{VERSION}-py3-none-any.whl` in an environment of its own, "
            "and run `nomad-stateful new` of that one"
        ) from None
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    if not origin:
        return f"{_DISTRIBUTION}=={installed.version}"
    made = origin.get("vcs_info")
    url = f"{made['vcs']}+{origin['url']}@{made['commit_id']}" if made else origin["url"]
    return f"{_DISTRIBUTION} @ {url}"


def files(name: str, stack: str, requirement: str, *, workflow: bool) -> dict[str, str]:
    """Returns the project's files: their texts by path."""
    sources = {
        "Pulumi.yaml": "Pulumi.yaml",
        "__main__.py": "main.txt",
        settings_name(stack): "stack.yaml",
        "requirements.txt": "requirements.txt",
        ".gitignore": "gitignore",
    }
    if workflow:
        sources[".github/workflows/preview.yml"] = "preview.yml"
    values = {"@NAME@": name, "@STACK@": stack, "@PACKAGE@": requirement}
    texts = {path: (_FILES / source).read_text(encoding="utf-8") for path, source in sources.items()}
    for placeholder, value in values.items():
        texts = {path: text.replace(placeholder, value) for path, text in texts.items()}
    return texts


def write(folder: Path, texts: dict[str, str]) -> None:
    """Writes files into a folder.

    Raises OperateError: before any is written where one is there, and where it cannot be written.
    """
    try:
        existing = [path for path in texts if (folder / path).exists()]
        if existing:
            raise OperateError(
                f"{folder} has {', '.join(existing)}: nothing is overwritten, and nothing was written. Remove "
                f"{'it' if len(existing) == 1 else 'them'}, or name another folder with --folder"
            )
        for path, text in texts.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OperateError(
            f"--folder is {folder}: it cannot be written ({error.strerror}). Name a folder that you may write"
        ) from None


def _run(arguments: Namespace) -> None:
    folder = arguments.folder or Path(arguments.name)
    stack = arguments.stack
    requirement = package()
    of_index = requirement.startswith(f"{_DISTRIBUTION}==")
    lines = f"{_OF_INDEX}\n{requirement}" if of_index else requirement
    texts = files(arguments.name, stack, lines, workflow=arguments.ci)
    write(folder, texts)
    if of_index:
        print(f"warning: {folder / 'requirements.txt'} has {requirement}: {_RULE}", file=sys.stderr)
    print("\n".join(f"wrote {folder / path}" for path in texts))
    print(
        f"\nEdit {settings_name(stack)}, set NOMAD_ADDR and NOMAD_TOKEN, and:\n"
        f"  cd {folder}\n"
        "  python3 -m venv .venv && .venv/bin/pip install -r requirements.txt\n"
        f"  pulumi stack init {stack} && pulumi preview\n"
        f"Or, on this machine alone, as root and with nomad_stateful_sandbox-{VERSION}-py3-none-any.whl:\n"
        f"  cd {folder} && nomad-stateful sandbox up"
    )


def _name(given: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,99}", given):
        raise ArgumentTypeError(f"{given} must start with a letter; then letters, digits, _, . and -; 100 at most")
    return given


def _stack(given: str) -> str:
    if not re.fullmatch(r"([A-Za-z0-9_-]+/([A-Za-z0-9_][A-Za-z0-9_.-]*/)?)?[A-Za-z0-9_.-]{1,100}", given):
        rule = "letters, digits, _, . and -, 100 at most; before it ORGANIZATION/ or ORGANIZATION/PROJECT/"
        raise ArgumentTypeError(f"{given!r} is no name of a stack: {rule}")
    return given


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", type=_name, metavar="NAME", help="name of the Pulumi project")
    parser.add_argument(
        "--folder", type=Path, metavar="DIR", help="where to write it; by default a folder of that name"
    )
    parser.add_argument("--stack", type=_stack, default="dev", help="the stack to write settings for; by default dev")
    parser.add_argument("--ci", action="store_true", help="also a GitHub workflow that previews pull requests")


COMMAND = Command(
    "new",
    "write a Pulumi project of your own: MySQL on an EBS volume; overwrites nothing",
    _run,
    _arguments,
    has_stack=False,
)
