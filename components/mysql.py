"""MySQL on a CSI volume, its dumps and its exporter, for programs that name them."""

from nomad_stateful.components.databases import COMPONENTS

MysqlServer, MysqlBackup, MysqlMetrics = COMPONENTS["mysql"]
