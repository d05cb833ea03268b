#!/bin/sh
# Loads the dump that the restore was dispatched for (NOMAD_META_dump, NOMAD_META_from) from the volume's folder DUMPS.
#
# Each database is loaded into a new one beside it, under a name of the restore's own, and all take their places in one
# transaction at the end: until then clients have what they had, and what ends before changes nothing.
NOMAD_META_dump=${NOMAD_META_dump:-}
set -euf
umask 077
# template1, since the others are replaced.
export LC_ALL=C PGDATABASE=template1 PGOPTIONS="-c search_path=pg_catalog -c default_transaction_read_only=off"
fail() { echo "$*" >&2; exit 1; }
grep -q '^host=.' "$PGSERVICEFILE" || fail "no such service is registered now"

cd "$DUMPS"
case "${NOMAD_META_from:-volume}" in
volume) ;;
s3)
  # The task before has put the dump there, and nothing else.
  [ -d .fetched ] || fail "nothing was fetched from S3: postgres.backup.s3 is not set"
  cd .fetched
  ;;
*) fail "from is $NOMAD_META_from, and must be volume or s3" ;;
esac
name=$NOMAD_META_dump
[ "$name" != latest ] || name=$(dumps_until "$(dump_name)" . | tail -n 1)
case "$name" in
'' | .* | -* | */*) known=no ;;
*) [ -f "$name" ] && known=yes || known=no ;;
esac
[ "$known" = yes ] || fail "there is no dump $NOMAD_META_dump; these are there: $(ls)"

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

# Of a restore that was cut off, and of this one where it fails.
clear_up() {
  export PGDATABASE=template1
  ask --file=- <<'END'
SELECT format('DROP DATABASE %I WITH (FORCE)', datname) FROM pg_database WHERE datname LIKE 'nomad-stateful-%' \gexec
SELECT format('DROP ROLE %I', rolname) FROM pg_roles WHERE rolname LIKE 'nomad-stateful-%' \gexec
END
}
clear_up
run=$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')
loader=nomad-stateful-$run
work=$(mktemp -d)
ended() {
  status=$?
  rm -rf "$work"
  [ "$status" = 0 ] || [ -n "${swapped:-}" ] || {
    clear_up || true
    echo "$name cannot be restored (why is above): nothing is changed" >&2
  }
}
trap ended EXIT

# Rows are loaded by a role of the restore's own: a check or a domain calls what an account has written. It has the rights
# of the owners, but cannot become one.
password=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
ask --command="CREATE ROLE \"$loader\" LOGIN IN ROLE pg_write_all_data"
said=$(printf '%s\n%s\n' "$password" "$password" | ask --command="\\password \"$loader\"" 2>&1) || fail "$said"
sed "s/^user=.*/user=$loader/; s/^password=.*/password=$password/" "$PGSERVICEFILE" >"$work/loader.conf"

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

# Its rights are the loader's too, but the loader cannot become it: attributes, such as CREATEROLE, stay away.
make_role() {
  ask --set=role="$1" --set=loader="$loader" --file=- <<'END'
SELECT format('the role %s is made, without a login', :'role')
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'role');
SELECT format('CREATE ROLE %I', :'role') WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'role') \gexec
SELECT format('GRANT %I TO %I WITH INHERIT TRUE, SET FALSE', rolname, :'loader') FROM pg_roles
WHERE rolname = :'role' AND NOT rolsuper AND rolname !~ '^pg_' \gexec
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
  export PGDATABASE=template1
  take_place "$new" "$(printf '%s\n' "$marks" | sed -n "s/^$number database //p")" >>"$work/places"
done

tries=0
until said=$(ask --single-transaction --file="$work/places" 2>&1 >/dev/null); do
  tries=$((tries + 1))
  [ "$tries" -lt 10 ] || fail "$said"
done
swapped=yes
echo "$name is restored"
clear_up
rm -rf "$DUMPS/.fetched"
