#!/bin/sh
# Dumps all databases of a server onto a volume, and keeps the newest KEEP dumps.
# DUMPS is the volume's folder, ACCOUNT who logs in by client.cnf; with S3, another task uploads what this one makes.
# Lists of names are split on purpose; a backquote in SQL and sed is one.
# shellcheck disable=SC2086,SC2016
# Without patterns: a database may have the name of one.
set -euf
umask 077
export LC_ALL=C
options=--defaults-extra-file=$NOMAD_SECRETS_DIR/client.cnf
grep -q '^host = .' "$NOMAD_SECRETS_DIR/client.cnf" || { echo "no such service is registered now" >&2; exit 1; }

# Names are utf8mb4, as mysqldump takes and writes them: by itself the client goes by the locale.
ask() { mysql "$options" "$TLS_MYSQL" --default-character-set=utf8mb4 --batch --raw --skip-column-names --execute "$1"; }

# Without some of them a dump lacks rows or triggers and is called complete.
lacks=$(ask "SELECT wanted.privilege FROM
  (SELECT 'SELECT' privilege UNION SELECT 'SHOW VIEW' UNION SELECT 'TRIGGER' UNION SELECT 'EVENT') wanted
  WHERE wanted.privilege NOT IN (SELECT privilege_type FROM information_schema.user_privileges WHERE grantee =
  CONCAT(QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', 1)), '@', QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', -1))))")
[ -z "$lacks" ] || { echo "the account $ACCOUNT lacks" $lacks "on all databases" >&2; exit 1; }

# The server's own schemas stay out: accounts are made anew by the server's job, with their passwords.
own="('mysql', 'sys', 'information_schema', 'performance_schema')"
databases=$(ask "SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT IN $own")
[ -n "$databases" ] || { echo "there is no database to dump yet"; exit 0; }

# What the server has, a line each as TRIGGER `shop`.`marks`; of a name with a line break, what is before it.
objects() {
  ask "SELECT SUBSTRING_INDEX(CONCAT_WS('.', CONCAT(kind, ' \`', REPLACE(place, '\`', '\`\`'), '\`'),
    CONCAT('\`', REPLACE(name, '\`', '\`\`'), '\`')), CHAR(10 USING utf8mb4), 1) FROM (
    SELECT 'DATABASE' kind, schema_name place, NULL name FROM information_schema.schemata
    UNION ALL SELECT REPLACE(table_type, 'BASE ', ''), table_schema, table_name FROM information_schema.tables
    UNION ALL SELECT routine_type, routine_schema, routine_name FROM information_schema.routines
    UNION ALL SELECT 'EVENT', event_schema, event_name FROM information_schema.events
    UNION ALL SELECT 'TRIGGER', trigger_schema, trigger_name FROM information_schema.triggers
  ) everything WHERE place NOT IN $own"
}
before=$(objects)

name=$(dump_name sql.gz)
# Tried again since the upload failed: this run's own dump is there, and would only be made a second time.
[ -z "$S3" ] || [ ! -e "$DUMPS/$name" ] || { echo "$name is of this run already"; exit 0; }

partial=$DUMPS/.partial
IFS='
'
# A dump is whole when its last line says so (the exit code is lost in the pipe), and it has what the server has. It is of
# rows, not of a replica's position: with GTIDs it could be restored into no server that has run transactions, and
# reading them takes the privilege to flush tables.
{
  mysqldump "$options" "$TLS_MYSQL" --single-transaction --quick --routines --events --triggers --hex-blob \
    --no-tablespaces --set-gtid-purged=OFF --databases -- $databases || printf '\n-- failed\n'
} | gzip >"$partial"
# As objects says it, by what stands before each, in the database named last; of triggers that it is one: nothing names
# them but their own statement. And the last line.
holds=$({ gzip -dc "$partial" || printf '\n-- failed\n'; } | sed -n '
  /^-- Current Database: /{ s///; h; s/^/DATABASE /p; d; }
  s/^-- Table structure for table /TABLE /; s/^-- Final view structure for view /VIEW /
  s#^/[*]!50[0-9]* DROP \([EFP][A-Z]*\) IF EXISTS #\1 #; s#^/[*]!50003 CREATE.*#TRIGGER#p
  t of; $p; d; :of; s# *[*]/;$##; G; s/ \(.*\)\n\(.*\)/ \2.\1/p')
printf '%s\n' "$holds" | tail -n 1 | grep -q '^-- Dump completed' || { echo "the dump is not whole" >&2; exit 1; }
# What was made or dropped meanwhile need not be in it: a line of both lists, and none of the dump's.
after=$(objects)
still=$(printf '%s\n' "$before" "$after" | sort | uniq -d)
lacks=$(printf '%s\n' "$still" "$holds" "$holds" | sed '/^TRIGGER/d' | sort | uniq -u | head -n 1)
[ -z "$lacks" ] || { printf 'the dump lacks %s\n' "$lacks" >&2; exit 1; }
wants=$(printf '%s\n' "$still" | grep -c '^TRIGGER') || true
has=$(printf '%s\n' "$holds" | grep -c '^TRIGGER') || true
[ "$has" -ge "$wants" ] || { echo "the dump has $has triggers, and the server $wants" >&2; exit 1; }
sync "$partial"
mv "$partial" "$DUMPS/$name"
sync "$DUMPS"
echo "$name holds" $databases

dumps_until "$name" "$DUMPS" | sort -r | tail -n +$((KEEP + 1)) | while read -r old; do
  rm -- "$DUMPS/$old"
  echo "$old is removed: $KEEP dumps are kept"
done
