"""Who may import whom: every import of the project against the one table of docs/architecture.md."""

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from nomad_stateful.databases.catalogue import DATABASES

TOP = Path(__file__).parents[3]
PAGE = TOP / "docs/architecture.md"
HEAD = "| room | may import | what is in it |"


def read_table(text: str) -> dict[str, list[str]]:
    """Returns what each room may import, by the paths as the table has them: folders end in a slash."""
    rows = text.partition(HEAD)[2].partition("\n\n")[0].splitlines()[2:]
    cells = [row.split("|")[1:3] for row in rows]
    return {re.findall(r"`(.+?)`", room)[0]: re.findall(r"`(.+?)`", allowed) for room, allowed in cells}


def sources(top: Path = TOP) -> Iterator[Path]:
    """Yields the project's modules, without the tests and what is not ours."""
    for path in sorted(top.rglob("*.py")):
        parts = path.relative_to(top).parts
        if parts[0] not in {"tests", "build", "dist"} and not any(part.startswith(".") for part in parts):
            yield path


def imports(path: Path, top: Path = TOP) -> Iterator[str]:
    """Yields the paths of the project's modules that a module imports anywhere in it, relative to the top folder."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = path.relative_to(top).parts[: -node.level] if node.level else ()
            base = ".".join([*package, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from filter(None, (module_path(name, top) for name in names))


def module_path(name: str, top: Path) -> str:
    """Returns the path of the module that a dotted name is or is in, empty where it is not the project's."""
    whole = Path(*name.split("."))
    places = [place for module in (whole, whole.parent) for place in (f"{module}.py", f"{module}/__init__.py")]
    found = (top / place for place in places if not place.startswith("."))
    # The folders at the top are in the package by a link.
    return next((path.resolve().relative_to(top).as_posix() for path in found if path.is_file()), "")


def room_of(path: str, rooms: dict[str, list[str]]) -> str:
    """Returns the innermost room of a module, empty where it is in none."""
    return max((room for room in rooms if is_in(path, room)), key=len, default="")


def is_in(path: str, place: str) -> bool:
    """Returns whether a path is that module, or in that folder."""
    return path == place or (place.endswith("/") and path.startswith(place))


_CLIENTS = frozenset({"boto3", "http.client", "httpx", "httpx2", "requests", "urllib.request", "urllib3"})


def outside(path: Path) -> set[str]:
    """Returns the modules that a module imports anywhere in it, by their whole names."""
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    both = [node for node in tree if isinstance(node, ast.Import | ast.ImportFrom)]
    named = {alias.name for node in both if isinstance(node, ast.Import) for alias in node.names}
    return named | {node.module or "" for node in both if isinstance(node, ast.ImportFrom)}


@cache
def is_bare(path: Path) -> bool:
    """Returns whether a package's own module holds a docstring at most: that imports nothing and gives nothing."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return path.name == "__init__.py" and all(isinstance(node, ast.Expr) for node in body)


ROOMS = read_table(PAGE.read_text(encoding="utf-8"))


@cache
def edges() -> list[tuple[str, str]]:
    """Returns each import between modules: who imports, and what."""
    names = [path.relative_to(TOP).as_posix() for path in sources()]
    return [(name, target) for name in names for target in imports(TOP / name) if not is_bare(TOP / target)]


def test_every_module_is_in_a_room_of_the_table() -> None:
    modules = [path.relative_to(TOP).as_posix() for path in sources() if not is_bare(path)]
    assert [name for name in modules if not room_of(name, ROOMS)] == [], "its room needs a line in the table"


def test_every_room_of_the_table_exists() -> None:
    named = {*ROOMS, *(place for allowed in ROOMS.values() for place in allowed)}
    assert [place for place in sorted(named) if not (TOP / place).exists()] == []


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_imports_only_what_the_table_allows(room: str) -> None:
    wrong = {
        f"{name} imports {target}"
        for name, target in edges()
        if room_of(name, ROOMS) == room and not any(is_in(target, place) for place in (room, *ROOMS[room]))
    }
    assert sorted(wrong) == []


def test_no_room_stands_on_itself_by_way_of_others() -> None:
    below = {
        room: [other for other in ROOMS if other != room and any(is_in(other, place) for place in allowed)]
        for room, allowed in ROOMS.items()
    }
    assert list(TopologicalSorter(below).static_order())


def test_only_the_rooms_of_the_apis_import_a_client_of_http_or_aws() -> None:
    installed = [path.relative_to(TOP).as_posix() for path in sources() if path.is_relative_to(TOP / "nomad_stateful")]
    wrong = {
        f"{name} imports {module}"
        for name in [*installed, *(path.relative_to(TOP).as_posix() for path in (TOP / "components").glob("*.py"))]
        if not name.startswith(("nomad_stateful/nomad/", "nomad_stateful/ebs/"))
        for module in outside(TOP / name) & _CLIENTS
    }
    assert wrong == set()


_LOGS = (
    "nomad_stateful/agent/",
    "nomad_stateful/operate/point_in_time/",
    "nomad_stateful/operate/group_recovery.py",
    "nomad_stateful/provider/resources/replication_group.py",
)
"""What copies and replays a server's logs, or compares members' transactions, and has to read their form."""


def test_only_the_catalogue_and_what_reads_logs_imports_a_databases_own_modules() -> None:
    wrong = {
        f"{name} imports {target}"
        for name, target in edges()
        for own in (f"nomad_stateful/databases/{database}/" for database in DATABASES)
        if name.startswith(("nomad_stateful/", "components/", "policy/"))
        and is_in(target, own)
        and not is_in(name, own)
        and name != "nomad_stateful/databases/catalogue.py"
        and not (DATABASES[own.split("/")[2]].has_logs and name.startswith(_LOGS))
    }
    assert wrong == set()


def test_imports_are_found_in_functions_relative_and_of_modules_by_name(tmp_path: Path) -> None:
    for name in ("a/__init__.py", "a/b.py", "c/d.py", "c/e/__init__.py", "c/e/f.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    module = tmp_path / "c/e/g.py"
    module.write_text(
        "import os\nfrom a import b\nfrom a import thing\n\ndef run():\n    from . import f\n    from ..d import x\n"
    )
    assert sorted(imports(module, tmp_path)) == ["a/__init__.py", "a/b.py", "c/d.py", "c/e/f.py"]


def test_the_tree_of_the_page_has_every_folder_of_the_rooms_and_no_other() -> None:
    tree = PAGE.read_text(encoding="utf-8").split("```")[1]
    drawn, room = set(), ""
    for line in tree.splitlines():
        if not line.startswith(" "):
            room = line.partition("/")[0]
        elif room in ROOMS_WITH_FOLDERS:
            # The words about a name are two spaces or a parenthesis away.
            drawn |= {f"{room}/{name}" for name in re.findall(r"(\S+)/", re.split(r"\s{2,}|\(", line.strip())[0])}
    listed = subprocess.run(["git", "ls-files"], cwd=TOP, capture_output=True, text=True, check=True).stdout.split()
    folders = {"/".join(name.split("/")[:2]) for name in listed if name.count("/") > 1}
    assert drawn == {folder for folder in folders if folder.split("/")[0] in ROOMS_WITH_FOLDERS}


ROOMS_WITH_FOLDERS = {"nomad_stateful", "sandbox", "tools"}
