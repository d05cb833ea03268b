"""The site's sources: the pages as they are, with their links led to what the site has, and the tree of its menu."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from tools.site import commands

TOP: Final = Path(__file__).resolve().parents[2]
_LEFT_OUT: Final = (".github/", "tests/")
_HOME: Final = "README.md"
_INDEX: Final = "docs/README.md"
_DECISIONS: Final = "docs/decisions"
_OF_DECISIONS: Final = f"{_DECISIONS}/index.md"
_COMMANDS: Final = f"{Path(_INDEX).parent}/commands.md"
_LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
_CODE: Final = r"^\s*```.*?^\s*```\s*$|`[^`\n]+`"
_CODE_OR_LINK: Final = re.compile(f"{_CODE}|{_LINK.pattern}", re.MULTILINE | re.DOTALL)
_ROW: Final = re.compile(r"^\| (?:\*\*(.+?)\*\*|.+?) \|(.*)\|$", re.MULTILINE)


def pages() -> list[str]:
    """The pages that the site has, by their paths in the project."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(words, cwd=TOP, capture_output=True, text=True, check=True).stdout.split()
    return sorted(name for name in listed if not name.startswith(_LEFT_OUT))


def write(folder: Path) -> None:
    """Writes the sources of the site into a folder, which is emptied before."""
    shutil.rmtree(folder, ignore_errors=True)
    staged = frozenset(pages())
    for name in staged:
        text = (TOP / name).read_text(encoding="utf-8")
        _put(folder, name, _with_links(text, name, staged, folder))
    _put(folder, _COMMANDS, commands.render())
    decisions = sorted((name for name in staged if name.startswith(_DECISIONS)), reverse=True)
    _put(folder, _OF_DECISIONS, "# Decisions\n\n" + _menu("", [f"/{name}" for name in decisions]))
    index = (TOP / _INDEX).read_text(encoding="utf-8")
    home = folder / _HOME
    home.write_text(home.read_text(encoding="utf-8") + _menus(index), encoding="utf-8")


def _put(folder: Path, name: str, text: str) -> None:
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def _with_links(text: str, page: str, staged: frozenset[str], folder: Path) -> str:
    """Returns a page with its links as the site has them; a link to a folder without a page is its text."""

    def lead(link: re.Match[str]) -> str:
        picture, words, target = (group or "" for group in link.groups())
        path, hash_sign, fragment = target.partition("#")
        # Code is no link, and a link's own text may be code.
        if not path or re.match(r"[a-z][a-z0-9+.-]*:", target):
            return link[0]
        there = os.path.relpath((TOP / page).parent / path, TOP)
        if (TOP / there).is_dir():
            names = [name for name in (f"{there}/README.md", f"{there}/index.md") if name in staged]
            names += [_OF_DECISIONS] if there == _DECISIONS else []
            if not names:
                return words
            there = names[0]
        elif there not in staged:
            (folder / there).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TOP / there, folder / there)
        relative = os.path.relpath(there, Path(page).parent)
        return f"{picture}[{words}]({relative}{hash_sign}{fragment})"

    return _CODE_OR_LINK.sub(lead, text)


def _menus(index: str) -> str:
    """Returns the menu, of the groups and the order that the list of pages has."""
    groups: dict[str, list[str]] = {}
    title = ""
    for heading, cell in _ROW.findall(index):
        title = heading or title
        linked = [os.path.normpath(f"docs/{target.partition('#')[0]}") for _, _, target in _LINK.findall(cell)]
        groups.setdefault(title, []).extend(_of_menu(name) for name in linked)
    groups["run"].insert(0, f"/{_COMMANDS}")
    groups["understand and extend"].append("/CHANGELOG.md")
    seen: set[str] = {f"/{_HOME}"}
    text = ""
    for name, entries in groups.items():
        fresh = [entry for entry in dict.fromkeys(entries) if entry not in seen]
        seen.update(fresh)
        text += _menu(name, fresh) if fresh else ""
    return text + _menu("", [f"/{_INDEX}", "/sandbox/cloud/README.md"])


def _of_menu(name: str) -> str:
    return f"/{name}/index.md" if name == _DECISIONS else f"/{name}"


def _menu(title: str, entries: list[str]) -> str:
    caption = [f":caption: {title.capitalize()}"] if title else []
    return "\n".join(["\n```{toctree}", ":hidden:" if title else ":titlesonly:", *caption, "", *entries, "```", ""])
