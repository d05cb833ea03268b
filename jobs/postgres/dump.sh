#!/bin/sh
# Dumps every database of a server onto a volume, and keeps the newest KEEP dumps.
# DUMPS is the volume's folder, PGSERVICEFILE says who logs in where; with S3, another task uploads what this one makes.
#
# A dump is a tar: sums, the server's version, how values show, the names of the databases, and of the database on line N
# of those N.dump, which pg_dump made, N.roles, which it names, and N.owners, the statements that say who owns what.
set -euf
umask 077
# Whatever a database sets: a restore compares the text, where these settings are not made yet.
showing="-c TimeZone=UTC -c bytea_output=hex -c standard_conforming_strings=on"
export LC_ALL=C PGOPTIONS="-c search_path=pg_catalog -c statement_timeout=0 -c idle_in_transaction_session_timeout=0 $showing"
fail() { echo "$*" >&2; exit 1; }
grep -q '^host=.' "$PGSERVICEFILE" || fail "no such service is registered now"
ask() { psql --no-psqlrc --quiet --no-password --tuples-only --no-align --set=ON_ERROR_STOP=1 "$@"; }

# The server's own database counts once somebody keeps tables in it.
export PGDATABASE=postgres
tables=$(ask --command="SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
  WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'nomad_stateful')")
those="FROM pg_database WHERE datname NOT IN ('template0', 'template1') AND ($tables > 0 OR datname <> 'postgres')
  AND datname !~ '^nomad-stateful-(replaced-)?[0-9a-f]{16}-[0-9]+\$'"
closed=$(ask --command="SELECT datname $those AND (NOT datallowconn OR datname ~ E'[\n\r]') LIMIT 1")
[ -z "$closed" ] || fail "the database $closed cannot be dumped: it takes no connections, or its name has a line break"
databases=$(ask --command="SELECT datname $those ORDER BY datname")
[ -n "$databases" ] || { echo "there is no database to dump yet"; exit 0; }

name=$(dump_name tar)
# Tried again since the upload failed: this run's own dump is there, and would only be made a second time.
[ -z "$S3" ] || [ ! -e "$DUMPS/$name" ] || { echo "$name is of this run already"; exit 0; }

partial=$DUMPS/.partial
rm -rf "$partial"
mkdir "$partial"
cd "$partial"
trap 'rm -rf "$partial"' EXIT

# What makes the objects of the archive $1, as lines; the comments name owners.
lines() { pg_restore --schema-only --file=- "$@" | grep -v -e ^-- -e '^\\\(un\)*restrict ' | sort; }

dump_database() {
  PGCLIENTENCODING=$(PGCLIENTENCODING="" ask --command="SHOW server_encoding")
  export PGCLIENTENCODING
  pg_dump --no-password --format=custom --quote-all-identifiers --no-tablespaces --no-subscriptions \
    --lock-wait-timeout=600000 --file="$1.dump"
  # Read back to its end.
  pg_restore --file=/dev/null "$1.dump"
  # A restore makes objects as a role of its own, and the superuser hands them over by these: each must be one statement,
  # whatever names an account gives. A table takes its sequences along.
  lines "$1.dump" >"$1.with"
  lines --no-owner "$1.dump" | comm -23 "$1.with" - | grep -v -e '^CREATE SCHEMA [^ ]*;$' -e '^ALTER EVENT TRIGGER ' | sort -k 2,2r >"$1.owners" || true
  odd=$(grep -v -x -E "ALTER [A-Z ]+ ([^\"';:\\\\]|\"([^\"]|\"\")*\")+ OWNER TO ([a-z0-9_\$]+|\"([^\"]|\"\")*\");" "$1.owners" | head -n 1)
  [ -z "$odd" ] || fail "$PGDATABASE cannot be dumped: rename what has a line break or another odd sign in its name ($odd)"
  rm "$1.with"
  ask --command="SELECT rolname FROM pg_shdepend JOIN pg_roles r ON r.oid = refobjid, pg_database d
    WHERE datname = current_database() AND refclassid = 'pg_authid'::regclass
      AND (dbid = d.oid OR classid = 'pg_database'::regclass AND objid = d.oid)
    UNION SELECT pg_get_userbyid(setrole) FROM pg_db_role_setting JOIN pg_database d ON d.oid = setdatabase
    WHERE datname = current_database() AND setrole <> 0" >"$1.roles"
  # Passwords among them: the server shows them to their owner and the superuser alone.
  ask --command="SELECT format('the options of the user mapping of %s for %s in %s are not in it (ALTER USER MAPPING sets '
    'them after a restore)', usename, srvname, current_database()) FROM pg_user_mappings WHERE umoptions IS NULL"
}

ask --command="SHOW server_version_num" >version
printf '%s\n' "$showing" >showing
printf '%s\n' "$databases" >databases
number=0
while IFS= read -r PGDATABASE; do
  number=$((number + 1))
  export PGDATABASE
  dump_database "$number" </dev/null
done <databases
files=$(ls)
IFS='
'
# shellcheck disable=SC2086 # each a word
sha256sum $files >sums
# shellcheck disable=SC2086
tar -cf "$name" sums $files
sync "$name"
mv "$name" "$DUMPS/$name"
sync "$DUMPS"
echo "$name holds $(tr '\n' ' ' <databases | sed 's/ $//')"

dumps_until "$name" "$DUMPS" | sort -r | tail -n +$((KEEP + 1)) | while read -r old; do
  rm -- "$DUMPS/$old"
  echo "$old is removed: $KEEP dumps are kept"
done
