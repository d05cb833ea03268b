"""MySQL on a CSI volume, its dumps and its exporter, for programs that name them."""

from nomad_stateful.components.databases import COMPONENTS, GROUPS

MysqlServer, MysqlBackup, MysqlMetrics = COMPONENTS["mysql"]
MysqlGroup = GROUPS["mysql"]
