"""How MySQL is checked by restore drills."""

from __future__ import annotations

from pathlib import Path

from nomad_stateful.databases.drills import Drill

DRILL = Drill(
    script=Path(__file__).with_name("check.sh").read_text(encoding="utf-8"),
    # Neither replicates, nor runs events, nor takes the port of another server on its client.
    quiet=(
        "--event-scheduler=OFF",
        "--loose-skip-replica-start",
        "--loose-skip-slave-start",
        "--loose-group-replication-start-on-boot=OFF",
        "--loose-mysqlx=OFF",
    ),
    own_tables=("`mysql`.", "`nomad_stateful`."),
)
