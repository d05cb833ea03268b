"""How MySQL is upgraded on its files."""

from __future__ import annotations

import re
from pathlib import Path

from nomad_stateful.databases.mysql import releases, upgrade_problems
from nomad_stateful.databases.upgrades import Probe, Upgrades

UPGRADES = Upgrades(
    version="SELECT VERSION()",
    of_server=releases.of_server,
    wanted=releases.wanted,
    refuse_path=releases.refuse_path,
    option_problems=upgrade_problems.of_options,
    content_problems=upgrade_problems.of_contents,
    tables="SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables WHERE table_schema NOT IN "
    "('mysql', 'sys', 'information_schema', 'performance_schema')",
    # The server's own words on its data dictionary and system tables, since 8.0.22.
    upgraded="SELECT data FROM performance_schema.error_log WHERE error_code = 'MY-013381' AND data LIKE '%completed%' "
    "ORDER BY logged DESC LIMIT 1",
    probe=Probe(
        script=Path(__file__).with_name("probe.sh").read_text(encoding="utf-8"),
        version=re.compile(r"Ver (\d+\.\d+\.\d+)"),
        options_file="my.cnf",
        left_out=("--init-file=", "--ssl-", "--datadir=", "--port="),
        errors=("ERROR", "no mysqld"),
    ),
)
