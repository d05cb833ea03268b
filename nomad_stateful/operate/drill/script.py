"""What runs beside the restored server: it waits for it, checks its tables and counts their rows.

Its lines begin with ``drill``, then have fields between tabs: ``answers VERSION``, ``replaying``,
``replayed``, ``unreplayed WHY``, ``event NAME``, ``engine TABLE ENGINE``, ``loading``, ``loaded``,
``unloaded WHY``, ``tables N``, ``checking NAME``,
``table NAME ROWS STATUS``, ``newest TIME`` and ``done``. MySQL's batch mode writes names without tabs and line breaks.
"""

from pathlib import Path

OPTIONS = "client.cnf"
NEWEST = "newest.sql"
MYSQL = Path(__file__).with_name("check.sh").read_text(encoding="utf-8")
