#!/bin/sh
# Waits for the restored server, replays or loads what it is to have, checks its tables and counts their rows.
# Its lines begin with "drill", then have fields between tabs: answers VERSION, replaying, replayed, unreplayed WHY,
# event NAME, engine TABLE ENGINE, loading, loaded, unloaded WHY, tables N, checking NAME, table NAME ROWS STATUS,
# newest TIME and done. MySQL's batch mode writes names without tabs and line breaks.
# Names that are split or in quotes are meant so.
# "a && b || fail" fails where either does.
# shellcheck disable=SC2016,SC2015
set -u
options=--defaults-extra-file=$NOMAD_SECRETS_DIR/client.cnf
err=$NOMAD_TASK_DIR/drill.err
ask() { mysql "$options" "$TLS_MYSQL" --batch --skip-column-names "$@" 2>"$err" || { cat "$err"; return 1; }; }
sql() { ask --execute "$1"; }
tab=$(printf '\t')
say() { printf 'drill'; printf '\t%s' "$@"; echo; }

started=$(date +%s)
until version=$(sql 'SELECT VERSION()'); do
  [ $(($(date +%s) - started)) -lt "$DRILL_PATIENCE" ] || { say silent "$version"; exit 1; }
  sleep 0.5
done
say answers "$version"

if [ -n "${REPLAY_TO:-}" ]; then
  fail() { say unreplayed "$*"; exit 1; }
  # An empty set is always there.
  has() { [ -z "$1" ] || [ "$(sql "SELECT GTID_SUBSET('$1', @@GLOBAL.gtid_executed)")" = 1 ]; }
  say replaying
  has "$REPLAY_BEGINS" ||
    fail "the snapshot lacks transactions of before the first log: restore from a later one, with --snapshot. Of a" \
      "group its member may have been down when it was taken: restore from an earlier one, or from one of another" \
      "member's volume"
  # What the snapshot's own logs have, as the one says that this start has begun. What an earlier restore applied to
  # its volume is in none of them.
  logs=$(sql "SHOW BINARY LOGS") || fail "$logs"
  logged=$(sql "SHOW BINLOG EVENTS IN '$(printf '%s\n' "$logs" | tail -n 1 | cut -f 1)' LIMIT 2") || fail "$logged"
  logged=$(printf '%s\n' "$logged" | grep "${tab}Previous_gtids${tab}") || fail "the server says not what it has logged"
  logged=$(printf '%s\n' "$logged" | cut -f 6 | sed 's/\\n//g')
  [ "$(sql "SELECT GTID_SUBSET('$logged', '$REPLAY_ENDS')")" = 1 ] ||
    fail "the snapshot has transactions that these logs do not have: its volume was itself restored, or it was taken" \
      "after that time. Restore from another one, with --snapshot"
  filters=$(sql "SELECT CONCAT(filter_name, '=', filter_rule) FROM performance_schema.replication_applier_global_filters
    UNION SELECT CONCAT(filter_name, '=', filter_rule) FROM performance_schema.replication_applier_filters") ||
    fail "$filters"
  [ -z "$filters" ] || fail "an option of the server leaves transactions out ($filters): remove it, and run pulumi up"
  if ! has "$REPLAY_LAST_GTID"; then
    # The logs give root the live server's password: each of its starts did.
    root=$options
    own=$NOMAD_SECRETS_DIR/replay.cnf
    password=$(sed -n 's/^password = //p' "$NOMAD_SECRETS_DIR/client.cnf")
    said=$(printf '%s;\n' 'SET sql_log_bin = 0' "CREATE USER 'nomad-stateful-replay' IDENTIFIED BY '$password'" \
      "GRANT ALL ON *.* TO 'nomad-stateful-replay' WITH GRANT OPTION" | ask) || fail "root may not make accounts: $said"
    (umask 077 && sed 's/^user = .*/user = nomad-stateful-replay/' "$NOMAD_SECRETS_DIR/client.cnf" >"$own")
    options=--defaults-extra-file=$own
    # A group's member has channels of its own.
    said=$(sql "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'none', RELAY_LOG_FILE = 'relay.000001',
        RELAY_LOG_POS = 4 FOR CHANNEL ''") &&
      said=$(sql "START REPLICA SQL_THREAD UNTIL SQL_AFTER_GTIDS = '$REPLAY_LAST_GTID' FOR CHANNEL ''") ||
      fail "they are not taken for relay logs: $said"
    until has "$REPLAY_LAST_GTID"; do
      state=$(sql "SELECT service_state FROM performance_schema.replication_applier_status WHERE channel_name = ''") ||
        fail "$state"
      [ "$state" = ON ] || {
        # It may have ended between the two questions.
        has "$REPLAY_LAST_GTID" && break
        fail "$(sql "SELECT last_error_message FROM performance_schema.replication_applier_status_by_worker
          WHERE channel_name = ''" | tr '\n\t' '; ')"
      }
      sleep 0.5
    done
    said=$(sql "STOP REPLICA FOR CHANNEL ''") && said=$(sql "RESET REPLICA ALL FOR CHANNEL ''") || fail "$said"
    said=$(printf '%s;\n' 'SET sql_log_bin = 0' "ALTER USER IF EXISTS 'root'@'%' IDENTIFIED BY '$password'" \
      "ALTER USER IF EXISTS 'root'@'localhost' IDENTIFIED BY '$password'" \
      "DROP USER 'nomad-stateful-replay'" | ask) || fail "root's password cannot be set: $said"
    options=$root
  fi
  has "$REPLAY_WANTED" ||
    fail "transactions are missing between the logs: one was removed from S3, or is another server's. Restore from a" \
      "later snapshot, or to an earlier time"
  later="GTID_SUBTRACT('$REPLAY_ENDS', '$REPLAY_WANTED')"
  [ "$(sql "SELECT GTID_SUBTRACT($later, @@GLOBAL.gtid_executed) = $later")" = 1 ] ||
    fail "the snapshot has transactions of after that time: restore from one that was taken earlier, with --snapshot"
  say replayed
  sql "SELECT CONCAT(event_schema, '.', event_name) FROM information_schema.events
    WHERE status IN ('SLAVESIDE_DISABLED', 'REPLICA_SIDE_DISABLED')" |
    while IFS= read -r name; do say event "$name"; done
  sql "SELECT CONCAT(table_schema, '.', table_name, ' (', engine, ')') FROM information_schema.tables
    WHERE table_type = 'BASE TABLE' AND engine <> 'InnoDB'
    AND table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')" |
    while IFS= read -r name; do say engine "$name"; done
fi

if [ -n "${DRILL_DUMP:-}" ]; then
  say loading
  said=$(sh "$NOMAD_TASK_DIR/restore.sh" 2>&1 >/dev/null) ||
    { say unloaded "$(printf '%s' "$said" | tail -n 3 | tr '\n\t' '; ')"; exit 1; }
  say loaded
fi

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
say "done"
