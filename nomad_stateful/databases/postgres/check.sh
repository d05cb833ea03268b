#!/bin/sh
# Waits for the restored server, loads the dump that it is to have, and checks each table of each database.
# Its lines are those of nomad_stateful/databases/operations.py.
set -u
export PGDATABASE=postgres PGOPTIONS="-c search_path=pg_catalog -c timezone=UTC -c statement_timeout=0"
err=$NOMAD_TASK_DIR/drill.err
ask() {
  psql --no-psqlrc --quiet --no-password --tuples-only --no-align --field-separator="$tab" --set=ON_ERROR_STOP=1 "$@" 2>"$err" ||
    { cat "$err"; return 1; }
}
tab=$(printf '\t')
say() { printf 'drill'; printf '\t%s' "$@"; echo; }
line() { printf '%s' "$1" | tr '\n\t' '; '; }

started=$(date +%s)
until version=$(ask --command="SHOW server_version"); do
  [ $(($(date +%s) - started)) -lt "$DRILL_PATIENCE" ] || { say silent "$(line "$version")"; exit 1; }
  sleep 0.5
done
say answers "$version"

if [ -n "${DRILL_DUMP:-}" ]; then
  say loading
  said=$(sh "$NOMAD_TASK_DIR/restore.sh" 2>&1 >/dev/null) || { say unloaded "$(line "$(printf '%s' "$said" | tail -n 3)")"; exit 1; }
  say loaded
fi

# What the server's own contrib module finds in tables' pages and indexes: nothing where they are whole.
pages() {
  ask --file=- <<END
CREATE EXTENSION IF NOT EXISTS amcheck WITH SCHEMA pg_catalog;
SELECT format('%s, block %s: %s', c.oid::regclass, blkno, msg) FROM pg_class c, verify_heapam(c.oid::regclass)
WHERE relkind IN ('r', 'm') AND relpersistence <> 't' AND $1 LIMIT 3;
SELECT bt_index_check(i.oid::regclass, true) FROM pg_class c JOIN pg_index ON indrelid = c.oid
JOIN pg_class i ON i.oid = indexrelid JOIN pg_am a ON a.oid = i.relam
WHERE amname = 'btree' AND indisvalid AND c.relpersistence <> 't' AND $1 \g /dev/null
END
}

check_tables() {
  say checking "pg_catalog of $1"
  say table "pg_catalog.$(line "$1")" 0 "$(line "$(pages "c.relnamespace = 'pg_catalog'::regnamespace")")"
  tables=$(ask --command="SELECT c.oid, translate(format('%I.%I.%I', current_database(), nspname, relname), E'\n\t', '  ')
    FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind IN ('r', 'm') AND relpersistence <> 't'
    AND relispopulated AND nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY 2") ||
    { say failed "the list of tables of $1 cannot be read: $(line "$tables")"; exit 1; }
  printf '%s\n' "$tables" | while IFS="$tab" read -r oid name; do
    [ -n "$oid" ] || continue
    say checking "$name"
    status=$(line "$(pages "c.oid = $oid")")
    # Each row is a line, read to its last byte.
    rows=$({ ask --file=- || echo no >"$state"; } <<END | wc -l
SELECT format('COPY %s TO STDOUT', $oid::regclass) \gexec
END
    )
    [ ! -e "$state" ] || { rows=- status="$(line "$(cat "$err")") $status"; rm "$state"; }
    say table "$name" "$rows" "${status:-OK}"
  done
}

state=$NOMAD_TASK_DIR/drill.state
databases=$(ask --command="SELECT datname FROM pg_database WHERE datname NOT IN ('template0', 'template1') ORDER BY 1") ||
  { say failed "the list of databases cannot be read: $(line "$databases")"; exit 1; }
printf '%s\n' "$databases" | while IFS= read -r PGDATABASE; do check_tables "$PGDATABASE" || exit 1; done || exit 1

if [ -f "$NOMAD_TASK_DIR/newest.sql" ]; then
  # With its tables' schemas: what accounts put into public is nobody else's. Of several databases it connects to its
  # own: \connect NAME.
  PGDATABASE=$(printf '%s\n' "$databases" | grep -vx postgres | head -n 1)
  newest=$(ask --file="$NOMAD_TASK_DIR/newest.sql") || { say failed "--newest: $(line "$newest")"; exit 1; }
  say newest "$(printf '%s\n' "$newest" | tail -n 1)"
fi
say "done"
