#!/bin/sh
# Loads the dump that the restore was dispatched for (NOMAD_META_dump, NOMAD_META_from) from the volume's folder DUMPS.
set -eu
options=--defaults-extra-file=$NOMAD_SECRETS_DIR/client.cnf
grep -Eq '^(host|socket) = .' "$NOMAD_SECRETS_DIR/client.cnf" || { echo "no such service is registered now" >&2; exit 1; }

name=
find_dump mysql sql.gz
# All of it is read once before the first table is touched. The server of the dump is named above its first rows.
said=$({ gzip -dc "$name" || printf '\n-- failed\n'; } |
  LC_ALL=C sed -n '1,20{/^-- Server version/p;}; /^-- Current Database: /p; /^CREATE DATABASE /p; $p')
refuse() { echo "$name $1: nothing is changed. Restore another dump" >&2; exit 1; }
case "$(printf '%s\n' "$said" | tail -n 1)" in
'-- Dump completed'*) ;;
*) refuse "is not whole" ;;
esac
printf '%s\n' "$said" | grep -q -e '^-- Current' -e '^CREATE' || refuse "holds no database"
# A server may not take a dump of a newer series or of MariaDB to its end, and tables are dropped by then.
from=$(printf '%s\n' "$said" | sed -n '1s/^-- Server version[[:space:]]*//p')
ask() { mysql "$options" "$TLS_MYSQL" --batch --skip-column-names --execute "$1"; }
runs=$(ask 'SELECT VERSION()')
tables=$(ask "SELECT COUNT(*) FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema NOT IN
  ('mysql', 'sys', 'information_schema', 'performance_schema')")
series() { printf '%s\n' "$1" | sed -n 's/^\([0-9]*[.][0-9]*\).*/\1/p'; }
empty="a server that has no tables"
case "$from" in
*MariaDB*) into=$empty ;;
*)
  into="MySQL $(series "$from") or newer, or into $empty"
  newer=$(printf '%s\n' "$(series "$runs")" "$(series "$from")" | sort -V | tail -n 1)
  [ "$newer" != "$(series "$runs")" ] || into=
  ;;
esac
[ -z "$into" ] || [ "$tables" = 0 ] || {
  echo "$name is from version $from, and the server is of version $runs: nothing is changed. Restore it into $into" >&2
  exit 1
}
# What mysqldump says about GTIDs by itself, in a dump of other making, is true of the server it was taken from alone.
{ gzip -dc "$name" || echo "$name cannot be read;"; } |
  sed '1,/^-- Current Database/{/^SET @@GLOBAL[.]GTID_PURGED=/,/;$/d;/^SET @@SESSION[.]SQL_LOG_BIN= *0;$/d}' |
  # A dump is statements: a line with a command of the client's, such as one for the shell, is an error.
  mysql "$options" "$TLS_MYSQL" --binary-mode
echo "$name is restored"
rm -rf "$DUMPS/.fetched"
