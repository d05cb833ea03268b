"""The small root of Nomad's exec tasks in the sandbox: a shell, tools, the agent, MySQL's server and clients."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from sandbox.settings import SandboxError
from sandbox.standins.mysql import agent

_ENTRYPOINT: Final = Path(__file__).with_name("mysql-entrypoint")
_SERVERS: Final = ("mariadbd", "mysqld")
_CLIENTS: Final = (("mariadb", "mysql"), ("mariadb-dump", "mysqldump"))
_TOOLS: Final = (
    *("sh", "env", "find", "grep", "sed", "mountpoint"),
    *(
        "cat",
        "chmod",
        "chown",
        "cp",
        "date",
        "dd",
        "df",
        "head",
        "id",
        "install",
        "ls",
        "mkdir",
        "mv",
        "printf",
        "rm",
        "rmdir",
        "sha256sum",
    ),
    *("cut", "sleep", "sort", "stat", "sync", "tail", "timeout", "touch", "tr", "uname", "wc", "gzip", "openssl"),
)
_SEARCH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_DATA: Final = ("/usr/share/mysql", "/usr/share/mysql-8.0", "/usr/share/mysql-8.4", "/usr/lib/mysql/plugin")

# `dbadmin` is uid 0 without the name root: Nomad gives the *name* root every capability there is, also ones that a
# machine may lack, and fails; any other name gets the task's ordinary set.
_PASSWD: Final = """\
root:x:0:0::/:/bin/sh
dbadmin:x:0:0::/:/bin/sh
mysql:x:999:999::/nonexistent:/bin/false
nobody:x:65534:65534::/nonexistent:/bin/false
"""
_GROUP: Final = "root:x:0:\nmysql:x:999:\nnogroup:x:65534:\n"


def server_program() -> Path | None:
    """The machine's mariadbd or mysqld, None when it has neither."""
    found = (shutil.which(name, path=_SEARCH) for name in _SERVERS)
    return next((Path(path).resolve() for path in found if path), None)


def build(target: Path) -> None:
    """Makes the root file system at `target`, at once or not at all; one that is there already stays.

    Files are copied, not linked: a task that is root in its own root must not be able to change the machine's files.

    Raises:
        SandboxError: a program that is needed is not installed.
    """
    if target.is_dir():
        return
    fresh = target.with_name(target.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    programs = {_located(name): Path("bin") / name for name in _TOOLS}
    server = server_program()
    if server is None:
        raise SandboxError("There is no mariadbd and no mysqld on this machine. Install mariadb-server-core.")
    programs[server] = Path("usr/sbin") / server.name
    programs |= {client: Path("usr/bin") / client.name for client in map(_client_program, _CLIENTS)}
    for folder in ("bin", "etc", "tmp", "usr/local/bin", "usr/sbin", "usr/bin", "docker-entrypoint-initdb.d"):
        (fresh / folder).mkdir(parents=True, exist_ok=True)
    for source, inside in programs.items():
        shutil.copy2(source, fresh / inside)
    tools = agent.folder()
    shutil.copytree(tools, fresh, symlinks=True, dirs_exist_ok=True)
    for library in _libraries([*programs, *agent.binaries(tools)]):
        copy = fresh / library.relative_to("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(library, copy)
    for data in map(Path, _DATA):
        if data.is_dir():
            shutil.copytree(data, fresh / data.relative_to("/"), symlinks=True)
    _add_own_files(fresh)
    fresh.replace(target)


def _client_program(names: tuple[str, ...]) -> Path:
    found = next((path for name in names if (path := shutil.which(name, path=_SEARCH))), None)
    if found is None:
        raise SandboxError(f"There is no {' and no '.join(names)} on this machine. Install mariadb-client.")
    return Path(found).resolve()


def _located(name: str) -> Path:
    found = shutil.which(name, path=_SEARCH)
    if found is None:
        raise SandboxError(
            f"The program {name} is not on this machine. "
            "Install coreutils, findutils, gzip, openssl, sed and util-linux."
        )
    return Path(found).resolve()


def _libraries(programs: list[Path]) -> list[Path]:
    """Shared libraries and loader of the programs, under the names the loader looks for."""
    listing = subprocess.run(["ldd", *map(str, programs)], check=True, capture_output=True, text=True).stdout
    names = re.findall(r"^\s+(?:\S+ => )?(/\S+) \(0x", listing, re.MULTILINE)
    return sorted({Path(name) for name in names})


def _add_own_files(root: Path) -> None:
    entrypoint = root / "usr/local/bin" / _ENTRYPOINT.name
    shutil.copyfile(_ENTRYPOINT, entrypoint)
    entrypoint.chmod(0o755)
    (root / "etc/passwd").write_text(_PASSWD, encoding="ascii")
    (root / "etc/group").write_text(_GROUP, encoding="ascii")
    (root / "tmp").chmod(0o1777)
