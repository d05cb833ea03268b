"""No argument that the settings accept changes, in the server's own reading, what the program decides."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from nomad_stateful.program import settings
from nomad_stateful.program.settings.errors import SettingsError
from tests.image_roots import unpack
from tests.random_settings.bases import BASES

DECIDED = {
    "datadir": "/elsewhere",
    "port": "1",
    "init-file": "/elsewhere",
    "skip-name-resolve": "OFF",
    "ssl-ca": "/elsewhere",
    "require-secure-transport": "1",
    "tls-version": "TLSv1.2",
    "ssl-cert": "/elsewhere",
    "ssl-key": "/elsewhere",
    "innodb-data-home-dir": "/elsewhere",
    "innodb-log-group-home-dir": "/elsewhere",
    "log-bin": "/elsewhere/x",
    "innodb-undo-directory": "/elsewhere",
    "relay-log": "/elsewhere/x",
}
SERVER = [
    *("mysqld", "--no-defaults", "--user=mysql", "--datadir=/srv/mysql", "--port=3306", "--skip-name-resolve"),
    "--init-file=/secrets/x",
]
SPELLINGS = [
    f"--{modifier}{part.replace('-', separator)}={value}"
    for name, value in DECIDED.items()
    for modifier in ("", "loose-")
    for separator in ("-", "_")
    for part in (name, name[:-1], name[:-2])
]


def effective(image: Path, argument: str) -> dict[str, str] | None:
    """The server's variables with an argument more; None when it refuses it."""
    done = subprocess.run(
        ["chroot", str(image), *SERVER, *filter(None, [argument]), "--verbose", "--help"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or "unknown option" in done.stderr or "ambiguous" in done.stderr:
        return None
    table = done.stdout.rpartition("\n---")[2].splitlines()[1:]
    pairs = [line.split(None, 1) for line in table if line.strip()]
    return {pair[0]: pair[1].strip() if len(pair) > 1 else "" for pair in pairs}


def accepted(argument: str) -> bool:
    config = {**BASES[1], "mysql": {"volume": "mysql", "serverArgs": [argument]}}
    try:
        settings.parse(config)
    except SettingsError:
        return False
    return True


@pytest.mark.sandbox
def test_what_changes_a_decided_variable_is_refused(tmp_path: Path) -> None:
    image = tmp_path / "mysql"
    unpack("mysql", image)
    before = effective(image, "")
    assert before is not None
    assert before["datadir"] == "/srv/mysql/"
    with ThreadPoolExecutor(4) as pool:
        read = list(zip(SPELLINGS, pool.map(partial(effective, image), SPELLINGS), strict=True))
    changing = [
        argument
        for argument, after in read
        if after is not None and any(after.get(name) != before.get(name) for name in DECIDED)
    ]
    assert {argument.partition("=")[0] for argument in changing} >= {f"--{name}" for name in DECIDED}
    assert [argument for argument in changing if accepted(argument)] == []


@pytest.mark.parametrize(
    "argument",
    [
        *("--max-connections=7", "--skip-log-bin", "--log-bin=binlog", "--log-bin", "--sql-mode=ANSI"),
        "--skip-slave-start",
        *("--innodb-undo-directory=/srv/undo", "--innodb_data_home_dir=", "--loose-group-replication-x=1"),
        "--version-x=1",
        *("--innodb-data-file-path=ibdata1:12M:autoextend", "--tmpdir=/tmp", "--log-error=/srv/error.log"),
        "--ssl-cipher=x",
    ],
)
def test_what_the_program_leaves_open_is_accepted(argument: str) -> None:
    assert accepted(argument)
