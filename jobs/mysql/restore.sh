#!/bin/sh
# Loads the dump that the restore was dispatched for (NOMAD_META_dump, NOMAD_META_from) from the volume's folder DUMPS.
set -eu
options=--defaults-extra-file=$NOMAD_SECRETS_DIR/client.cnf
grep -Eq '^(host|socket) = .' "$NOMAD_SECRETS_DIR/client.cnf" || { echo "no such service is registered now" >&2; exit 1; }

name=
find_dump mysql sql.gz
# All of it is read once before the first table is touched. The server of the dump is named above its first rows.
said=$({ gzip -dc "$name" || printf '\n-- failed\n'; } |
  LC_ALL=C sed -n '1,20{/^-- Server version/p;}; /^CREATE DATABASE /p
    # Held: the database, its last table, and a K where that has a key which may be its primary one.
    /^-- Current Database: /{p; s///; h;}; /^-- Dumping routines /{s/.*//; h;}
    /^CREATE TABLE .* ($/{x; s/\n.*//; x; s/^CREATE TABLE //; s/ ($//; H;}
    /^  \(PRIMARY\|UNIQUE\) KEY /{s/.*/K/; H;}
    /^) ENGINE=/{/^) ENGINE=InnoDB/!{G; s/^) \(ENGINE=[A-Za-z]*\)[^\n]*\n\(`[^\n]*\)\n\([^\n]*\).*/ROWS \2.\3 (\1)/p;};}
    /^INSERT INTO /{s/^INSERT INTO \(`\([^`]\|``\)*`\) .*/\1/; G; s/^\([^\n]*\)\n\(`[^\n]*\)\n\1$/ROWS \2.\1 (no primary key)/p; x; s/\n.*//; x;}
    $p')
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
# A replication group refuses rows of such tables, and by then those before them are in.
rules=$(ask "SELECT variable_name FROM performance_schema.global_variables WHERE variable_name =
  'group_replication_group_name' AND variable_value <> '' OR variable_name = 'sql_generate_invisible_primary_key' AND
  variable_value = 'ON'")
lacking=$(printf '%s\n' "$said" | sed -n 's/^ROWS //p')
case "$rules" in *invisible*) lacking=$(printf '%s\n' "$lacking" | sed '/ (no primary key)$/d') ;; esac
case "$rules" in
*group_name*)
  [ -z "$lacking" ] || {
    echo "$name has rows that a replication group refuses, of these tables: nothing is changed. Give them a primary key" \
      "and InnoDB where the dump is from (for a key also: sql_generate_invisible_primary_key ON in mysql.config)" >&2
    printf '%s\n' "$lacking" >&2
    exit 1
  }
  ;;
esac
# What mysqldump says about GTIDs by itself, in a dump of other making, is true of the server it was taken from alone.
statements() {
  { gzip -dc "$name" || echo "$name cannot be read;"; } |
    sed '1,/^-- Current Database/{/^SET @@GLOBAL[.]GTID_PURGED=/,/;$/d;/^SET @@SESSION[.]SQL_LOG_BIN= *0;$/d}'
}
# A dump is statements: a line with a command of the client's, such as one for the shell, is an error.
if ! failed=$(statements | mysql "$options" "$TLS_MYSQL" --binary-mode 2>&1); then
  line=$(printf '%s\n' "$failed" | sed -n 's/^ERROR .* at line \([0-9]*\): .*/\1/p' | head -n 1)
  at=$(statements | LC_ALL=C sed -n "/^-- Current Database: /{s///; h;}
    /^-- Table structure for table /{s///; x; s/\n.*//; x; H;}; ${line:-1}{x; s/\n/./p; q;}")
  echo "$failed" >&2
  echo "$name is restored in part: ${at:+up to the table $at, of which rows may be missing; }what comes after is as it was." \
    "Fix the cause, and restore it again: that begins anew" >&2
  exit 1
fi
echo "$name is restored"
rm -rf "$DUMPS/.fetched"
