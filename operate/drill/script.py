"""What runs beside the restored server: it waits for it, checks its tables and counts their rows.

Its lines begin with ``drill``, then have fields between tabs: ``answers VERSION``, ``replaying``,
``replayed``, ``unreplayed WHY``, ``tables N``, ``checking NAME``,
``table NAME ROWS STATUS``, ``newest TIME`` and ``done``. MySQL's batch mode writes names without tabs and line breaks.
"""

OPTIONS = "client.cnf"
NEWEST = "newest.sql"

_WAIT = r"""set -u
client=$(command -v mysql || command -v mariadb)
case $("$client" --version) in *MariaDB*) tls=$DRILL_TLS_MARIADB ;; *) tls=$DRILL_TLS_MYSQL ;; esac
options=--defaults-extra-file=$NOMAD_SECRETS_DIR/client.cnf
err=$NOMAD_TASK_DIR/drill.err
sql() {
  "$client" "$options" "$tls" --batch --skip-column-names --execute "$1" 2>"$err" || { cat "$err"; return 1; }
}
tab=$(printf '\t')
say() { printf 'drill'; printf '\t%s' "$@"; echo; }

started=$(date +%s)
until version=$(sql 'SELECT VERSION()'); do
  [ $(($(date +%s) - started)) -lt "$DRILL_PATIENCE" ] || { say silent "$version"; exit 1; }
  sleep 0.5
done
say answers "$version"
"""
_APPLY = r"""
if [ -n "${REPLAY_TO:-}" ]; then
  applied() { sql "SELECT GTID_SUBSET('$1', @@GLOBAL.gtid_executed)"; }
  fail() { say unreplayed "$*"; exit 1; }
  say replaying
  if [ -n "$REPLAY_LAST_GTID" ] && [ "$(applied "$REPLAY_LAST_GTID")" != 1 ]; then
    said=$(sql "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'none', RELAY_LOG_FILE = 'relay.000001',
        RELAY_LOG_POS = 4") &&
      said=$(sql "START REPLICA SQL_THREAD UNTIL SQL_AFTER_GTIDS = '$REPLAY_LAST_GTID'") ||
      fail "they are not taken for relay logs: $said"
    while [ "$(applied "$REPLAY_LAST_GTID")" != 1 ]; do
      state=$(sql "SELECT service_state FROM performance_schema.replication_applier_status") || fail "$state"
      [ "$state" = ON ] || {
        # It may have ended between the two questions.
        [ "$(applied "$REPLAY_LAST_GTID")" = 1 ] && break
        fail "$(sql "SELECT last_error_message FROM performance_schema.replication_applier_status_by_worker" |
          tr '\n\t' '; ')"
      }
      sleep 0.5
    done
    said=$(sql "STOP REPLICA") && said=$(sql "RESET REPLICA ALL") || fail "$said"
  fi
  [ -z "$REPLAY_AFTER_GTID" ] || [ "$(applied "$REPLAY_AFTER_GTID")" = 0 ] ||
    fail "the snapshot has transactions of after that time: restore from one that was taken earlier, with --snapshot"
  say replayed
fi
"""
_CHECK = r"""
names=$(sql "SELECT CONCAT('\`', REPLACE(table_schema, '\`', '\`\`'), '\`.\`', REPLACE(table_name, '\`', '\`\`'), '\`')
  FROM information_schema.tables WHERE table_type = 'BASE TABLE'
  AND table_schema NOT IN ('information_schema', 'performance_schema', 'sys') ORDER BY 1") ||
  { say failed "the list of tables cannot be read: $names"; exit 1; }
say tables "$(printf '%s\n' "$names" | grep -c .)"

printf '%s\n' "$names" | while IFS= read -r name; do
  [ -n "$name" ] || continue
  say checking "$name"
  if checked=$(sql "CHECK TABLE $name EXTENDED"); then
    status=$(printf '%s\n' "$checked" | grep -v -e "${tab}status${tab}OK$" -e "${tab}note${tab}" |
      sed "s/^.*${tab}//" | head -n 3)
  else
    status=${checked:-the server ended}
  fi
  status=$(printf '%s' "${status:-OK}" | tr '\n\t' '; ')
  rows=$(sql "SELECT COUNT(*) FROM $name") || { status="$status; $(printf '%s' "$rows" | tr '\n\t' '; ')"; rows=-; }
  say table "$name" "$rows" "${status#OK; }"
done

if [ -f "$NOMAD_TASK_DIR/newest.sql" ]; then
  newest=$(sql "SET time_zone = '+00:00'; $(cat "$NOMAD_TASK_DIR/newest.sql")") ||
    { say failed "--newest: $newest"; exit 1; }
  say newest "$newest"
fi
say done
"""

MYSQL = _WAIT + _APPLY + _CHECK
