#!/bin/sh
# Loads the dump that the restore was dispatched for (NOMAD_META_dump, NOMAD_META_from) from the volume's folder DUMPS.
#
# Each database is loaded into a new one beside it, under a name of the restore's own, and all take their places in one
# transaction at the end: until then clients have what they had, and what ends before changes nothing.
set -euf
umask 077
# template1, since the others are replaced.
export LC_ALL=C PGDATABASE=template1 PGOPTIONS="-c search_path=pg_catalog -c default_transaction_read_only=off"
fail() { echo "$*" >&2; exit 1; }
grep -q '^host=.' "$PGSERVICEFILE" || fail "no such service is registered now"

name=
find_dump postgres
# All of it is read once before anything is done.
read_dump() { gzip -dc "$name" || printf '\n-- failed\n'; }
refuse() { fail "$name $1: nothing is changed. Restore another dump"; }
head=$(read_dump 2>/dev/null | sed -n '1s/^-- nomad-stateful dump of PostgreSQL \([0-9]*\), token \([0-9a-f]\{32\}\)$/\1 \2/p')
[ -n "$head" ] || refuse "is no dump that this stack's jobs made of PostgreSQL (docs/postgres.md, Dumps of other making)"
token=${head#* }
marks=$(read_dump | sed -n "\$s/^/last: /p; s/^-- $token //p")
[ "$(printf '%s\n' "$marks" | tail -n 1)" = "last: -- $token complete" ] || refuse "is not whole"
count=$(printf '%s\n' "$marks" | grep -c '^[0-9]* database ')
ask() { psql --no-psqlrc --quiet --no-password --tuples-only --no-align --set=ON_ERROR_STOP=1 --set=SHOW_CONTEXT=never "$@"; }
from=$((${head% *} / 10000))
into=$(($(ask --command="SHOW server_version_num") / 10000))
[ "$from" -le "$into" ] ||
  fail "$name is from PostgreSQL $from, and the server is of $into: nothing is changed. Restore it into PostgreSQL $from or newer"
names=$(printf '%s\n' "$marks" | sed -n 's/^[0-9]* database //p')
held=$(printf '%s\n' "$names" | while IFS= read -r one; do
  ask --set=name="$one" --file=- <<'END'
SELECT datname FROM pg_database d WHERE datname = :'name' AND (datistemplate
  OR EXISTS (SELECT FROM pg_subscription WHERE subdbid = d.oid)
  OR EXISTS (SELECT FROM pg_replication_slots WHERE database = datname));
END
done)
[ -z "$held" ] || fail "$held is a template, or has a subscription or a replication slot: nothing is changed. Drop those first"

# Of a restore that was cut off, and of this one where it fails. What cannot be removed is said, and left to the next.
clear_up() {
  ask --dbname=template1 --set=ON_ERROR_STOP=0 --file=- <<'END'
SELECT format('DROP DATABASE %I WITH (FORCE)', datname) FROM pg_database
WHERE datname ~ '^nomad-stateful-(replaced-)?[0-9a-f]{16}-[0-9]+$' \gexec
SELECT format('DROP ROLE %I', rolname) FROM pg_roles WHERE rolname ~ '^nomad-stateful-[0-9a-f]{16}$' \gexec
END
}
clear_up || true
run=$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')
loader=nomad-stateful-$run
work=$(mktemp -d)
waiting() { ask --dbname=template1 --command="SELECT count(*) FROM pg_database WHERE datname = '$loader-1'"; }
ended() {
  status=$?
  rm -rf "$work"
  [ "$status" != 0 ] && [ -z "${swapped:-}" ] || return 0
  # An answer may be lost: the transaction that ends the restore has then been made.
  if [ -n "${placing:-}" ] && [ "$(waiting)" != 1 ]; then
    echo "$name may be restored or not (why is above): look what the databases hold" >&2
  else
    clear_up || true
    echo "$name cannot be restored (why is above): nothing is changed" >&2
  fi
}
trap ended EXIT

# Rows are loaded by a role of the restore's own: a check or a domain calls what an account has written. It has the rights
# of the owners, but cannot become one.
password=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
ask --command="CREATE ROLE \"$loader\" LOGIN IN ROLE pg_write_all_data"
said=$(printf '%s\n%s\n' "$password" "$password" | ask --command="\\password \"$loader\"" 2>&1) || fail "$said"
echo "s/^user=.*/user=$loader/; s/^password=.*/password=$password/" >"$work/edit"
sed -f "$work/edit" "$PGSERVICEFILE" >"$work/loader.conf"

# The part $2 of the database with the number $1, up to the next one, $3, as it is kept.
part() {
  rm -f "$work/reached"
  read_dump | sed -n "/^-- $token $1 $2\$/,/^-- $token $1 $3\$/p; /^-- $token $1 $3\$/w $work/reached"
}
load() {
  part "$@" | ask --file=- >/dev/null
  # A file that cannot be read to its end is a part that ends too early.
  [ -s "$work/reached" ] || fail "$name cannot be read to its end"
}

# Its rights are the loader's too, but the loader cannot become it: attributes, such as CREATEROLE, stay away. A
# role that is one with the superuser, or with the server's programs and files, gives the loader nothing.
make_role() {
  ask --set=role="$1" --set=loader="$loader" --file=- <<'END'
SELECT format('the role %s is made, without a login', :'role')
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'role');
SELECT format('CREATE ROLE %I', :'role') WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'role') \gexec
SELECT format('GRANT %I TO %I WITH INHERIT TRUE, SET FALSE', rolname, :'loader') FROM pg_roles
WHERE rolname = :'role' AND rolname !~ '^pg_' AND NOT EXISTS (SELECT FROM pg_roles able WHERE pg_has_role(pg_roles.oid, able.oid, 'MEMBER')
  AND (able.rolsuper OR able.rolname IN ('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files'))) \gexec
END
}

# What a load gives its database in the transaction that ends the restore. Its clients are cut off in it: one that comes
# back before the name is free has it tried again.
take_place() {
  ask --set=name="$2" --set=new="$1" --set=old="nomad-stateful-replaced-$run-$number" --file=- <<'END'
SELECT format('SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname IN (%L, %L);
ALTER DATABASE %I RENAME TO %I;', datname, :'new', datname, :'old') FROM pg_database WHERE datname = :'name';
SELECT format('ALTER DATABASE %I RENAME TO %I;', :'new', :'name');
END
  part "$number" properties end
}

number=0
: >"$work/places"
while [ "$number" -lt "$count" ]; do
  number=$((number + 1))
  new=$loader-$number
  part "$number" create roles | ask --set=new="$new" --file=-
  ask --set=new="$new" --set=loader="$loader" --file=- <<'END'
REVOKE ALL ON DATABASE :"new" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"new" TO :"loader";
END
  part "$number" roles pre-data | sed '1d;$d' | while IFS= read -r role; do make_role "$role"; done
  export PGDATABASE="$new"
  load "$number" pre-data large-objects
  load "$number" large-objects data
  PGSERVICEFILE=$work/loader.conf load "$number" data post-data
  ask --command="DROP OWNED BY \"$loader\" CASCADE"
  load "$number" post-data properties
  ask --command="SELECT format('the user mapping of %s for %s has no options: ALTER USER MAPPING sets them', usename, srvname)
    FROM pg_user_mappings WHERE umoptions IS NULL"
  export PGDATABASE=template1
  take_place "$new" "$(printf '%s\n' "$names" | sed -n "${number}p")" >>"$work/places"
done

tries=0
placing=yes
until said=$(ask --single-transaction --file="$work/places" 2>&1 >/dev/null) || [ "$(waiting)" = 0 ]; do
  tries=$((tries + 1))
  [ "$tries" -lt 10 ] || fail "$said"
done
swapped=yes
echo "$name is restored"
clear_up || true
rm -rf "$DUMPS/.fetched"
