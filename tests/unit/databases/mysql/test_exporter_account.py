"""The exporter's account in a replication group: no statement about accounts while a member may join."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.programs import make_program
from tools.trial.running import PROJECT, eventually

# The account cannot log in yet; root can; the question of the members has the answer of a file.
_MYSQL = """#!/bin/sh
case "$*" in
  *account.cnf*) exit 1 ;;
  *group_replication_group_seeds*) cat "$NOMAD_SECRETS_DIR/away" ;;
  *) cat >>"$NOMAD_SECRETS_DIR/made" ;;
esac
"""


def test_it_is_made_once_all_members_are_online(tmp_path: Path) -> None:
    make_program(tmp_path / "mysql", _MYSQL)
    # So that a try comes at once.
    make_program(tmp_path / "sleep", "exec /bin/sleep 0.01")
    (tmp_path / "account.sql").write_text("CREATE USER exporter;\n")
    (tmp_path / "away").write_text("2 of 3 members of its group are ONLINE\n")
    texts = [(PROJECT / "jobs" / name).read_text() for name in ("mysql/exporter-account.sh", "exporter-account.sh")]
    script = tmp_path / "account.sh"
    script.write_text("".join(texts))
    env = {**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin", "NOMAD_SECRETS_DIR": str(tmp_path)}
    env |= {"TLS_MYSQL": "--ssl-mode=REQUIRED", "ACCOUNT": "exporter"}
    log = tmp_path / "log"
    with log.open("w") as file, subprocess.Popen(["sh", str(script)], env=env, stdout=file, stderr=file) as running:
        try:
            said = "the server does not let root make the account: 2 of 3 members of its group are ONLINE\n"
            eventually(lambda: log.read_text() == said or None, 20, "it waits", log.read_text)
            assert not (tmp_path / "made").exists()
            (tmp_path / "away").write_text("")
            eventually(lambda: "is as configured" in log.read_text() or None, 20, "it is made", log.read_text)
        finally:
            running.terminate()
    assert (tmp_path / "made").read_text() == "CREATE USER exporter;\n"
