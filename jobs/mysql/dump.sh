#!/bin/sh
# Dumps all databases of a server onto a volume, and keeps the newest KEEP dumps.
# DUMPS is the volume's folder, ACCOUNT who logs in by client.cnf; with S3, another task uploads what this one makes.
# Lists of names are split on purpose; a backquote in SQL and sed is one.
# shellcheck disable=SC2086,SC2016
# Without patterns: a database may have the name of one.
set -euf
umask 077
options=--defaults-extra-file=$NOMAD_SECRETS_DIR/client.cnf
grep -q '^host = .' "$NOMAD_SECRETS_DIR/client.cnf" || { echo "no such service is registered now" >&2; exit 1; }

ask() { mysql "$options" "$TLS_MYSQL" --batch --skip-column-names --execute "$1"; }

# Without some of them a dump lacks rows or triggers and is called complete.
lacks=$(ask "SELECT wanted.privilege FROM
  (SELECT 'SELECT' privilege UNION SELECT 'SHOW VIEW' UNION SELECT 'TRIGGER' UNION SELECT 'EVENT') wanted
  WHERE wanted.privilege NOT IN (SELECT privilege_type FROM information_schema.user_privileges WHERE grantee =
  CONCAT(QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', 1)), '@', QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', -1))))")
[ -z "$lacks" ] || { echo "the account $ACCOUNT lacks" $lacks "on all databases" >&2; exit 1; }

# The server's own schemas stay out: accounts are made anew by the server's job, with their passwords.
own="('mysql', 'sys', 'information_schema', 'performance_schema')"
databases=$(ask "SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT IN $own")
tables=$(ask "SELECT COUNT(*) FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema NOT IN $own")
[ -n "$databases" ] || { echo "there is no database to dump yet"; exit 0; }

name=$(dump_name)
# Tried again since the upload failed: this run's own dump is there, and would only be made a second time.
[ -z "$S3" ] || [ ! -e "$DUMPS/$name" ] || { echo "$name is of this run already"; exit 0; }

partial=$DUMPS/.partial
newline='
'
IFS=$newline
# A dump is whole when its last line says so (the exit code is lost in the pipe), and it has what the server has. It is of
# rows, not of a replica's position: with GTIDs it could be restored into no server that has run transactions, and
# reading them takes the privilege to flush tables.
{
  mysqldump "$options" "$TLS_MYSQL" --single-transaction --quick --routines --events --triggers --hex-blob \
    --no-tablespaces --set-gtid-purged=OFF --databases -- $databases || echo "-- failed"
} | gzip >"$partial"
holds=$(gzip -dc "$partial" | LC_ALL=C sed -n '/^-- Current Database: /p; /^-- Table structure for table /p; $p')
case "$(printf '%s\n' "$holds" | tail -n 1)" in
'-- Dump completed'*) ;;
*) echo "the dump is not whole" >&2; exit 1 ;;
esac
for database in $databases; do
  printf '%s\n' "$holds" | grep -qxF -e "-- Current Database: \`$(printf %s "$database" | sed 's/`/``/g')\`" ||
    { echo "the dump lacks the database $database" >&2; exit 1; }
done
count=$(printf '%s\n' "$holds" | grep -c '^-- Table') || true
[ "$count" -ge "$tables" ] || { echo "the dump has $count tables, and the server $tables" >&2; exit 1; }
sync "$partial"
mv "$partial" "$DUMPS/$name"
sync "$DUMPS"
echo "$name holds" $databases

dumps_until "$name" "$DUMPS" | sort -r | tail -n +$((KEEP + 1)) | while read -r old; do
  rm -- "$DUMPS/$old"
  echo "$old is removed: $KEEP dumps are kept"
done
