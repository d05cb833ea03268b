#!/bin/sh
# Loads the dump that the restore was dispatched for (NOMAD_META_dump, NOMAD_META_from) from the volume's folder DUMPS.
#
# Each database is loaded into a new one beside it, under a name of the restore's own, and all take their places in one
# transaction at the end: until then clients have what they had, and what ends before changes nothing.
set -euf
umask 077
# template1, since the others are replaced.
export LC_ALL=C PGDATABASE=template1 PGOPTIONS="-c search_path=pg_catalog -c default_transaction_read_only=off -c statement_timeout=0"
fail() { echo "$*" >&2; exit 1; }
grep -q '^host=.' "$PGSERVICEFILE" || fail "no such service is registered now"
ask() { psql --no-psqlrc --quiet --no-password --tuples-only --no-align --set=ON_ERROR_STOP=1 --set=SHOW_CONTEXT=never "$@"; }
random() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }

name=
find_dump postgres tar
[ "$(tar -tf "$name" 2>/dev/null | head -n 1)" = sums ] ||
  fail "$name is no dump that this stack's jobs made of PostgreSQL (docs/postgres.md, Dumps of other making)"
work=$DUMPS/.restoring
rm -rf "$work"
mkdir "$work"
trap 'rm -rf "$work"' EXIT
# All of it is read before anything is done.
{ tar -xf "$name" -C "$work" && cd "$work" && sha256sum -c sums; } >/dev/null 2>&1 ||
  fail "$name is not whole: nothing is changed. Restore another dump"
from=$(($(cat version) / 10000))
into=$(($(ask --command="SHOW server_version_num") / 10000))
[ "$from" -le "$into" ] ||
  fail "$name is from PostgreSQL $from, and the server is of $into: nothing is changed. Restore it into PostgreSQL $from or newer"
held=$(while IFS= read -r one; do
  ask --set=name="$one" --file=- <<'END'
SELECT datname FROM pg_database d WHERE datname = :'name' AND (datistemplate
  OR EXISTS (SELECT FROM pg_subscription WHERE subdbid = d.oid)
  OR EXISTS (SELECT FROM pg_replication_slots WHERE database = datname));
END
done <databases)
[ -z "$held" ] || fail "$held is a template, or has a subscription or a replication slot: nothing is changed. Drop those first"

# Of a restore that was cut off, and of this one where it fails. What cannot be removed is said, and left to the next.
clear_up() {
  ask --dbname=template1 --set=ON_ERROR_STOP=0 --file=- <<'END'
SELECT format('DROP DATABASE %I WITH (FORCE)', datname) FROM pg_database
WHERE datname ~ '^nomad-stateful-(replaced-)?[0-9a-f]{16}-[0-9]+$' \gexec
SELECT format('DROP ROLE %I', rolname) FROM pg_roles WHERE rolname ~ '^nomad-stateful-[0-9a-f]{16}(-[0-9]+)?$' \gexec
END
}
clear_up || true
run=$(random 8)
waiting() { ask --dbname=template1 --command="SELECT count(*) FROM pg_database WHERE datname = 'nomad-stateful-$run-1'"; }
ended() {
  status=$?
  rm -rf "$work" "${conf:-}"
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

# What accounts have written is called by a restore, in checks, generated columns or indexes for instance. So a role for
# each database makes and loads everything, of the name of the new one: it may make objects there, owns them alone, and has
# no right outside. What that code does with it, such as a login, reaches no other database, and ends with the load.
conf=$(mktemp)
let_in() {
  password=$(random 24)
  ask --command="CREATE ROLE \"$new\" LOGIN"
  said=$(printf '%s\n%s\n' "$password" "$password" | ask --command="\\password \"$new\"" 2>&1) || fail "$said"
  echo "s/^user=.*/user=$new/; s/^password=.*/password=$password/" | sed -f /dev/stdin "$PGSERVICEFILE" >"$conf"
  ask --set=new="$new" --file=- <<'END'
GRANT ALL ON DATABASE :"new" TO :"new";
GRANT ALL ON SCHEMA public TO :"new";
END
}
let_out() {
  ask --set=new="$new" --file=- <<'END'
ALTER ROLE :"new" NOLOGIN;
REVOKE ALL ON DATABASE :"new" FROM :"new";
REVOKE ALL ON SCHEMA public FROM :"new";
END
  # Asked elsewhere, so all there. One that is not let in yet, as with post_auth_delay, is in no list but that of locks.
  tries=0
  while
    left=$(ask --dbname=template1 --set=new="$new" --file=- <<'END'
SELECT pid, pg_terminate_backend(pid, 60000) FROM (
  SELECT pid FROM pg_stat_activity WHERE :'new' IN (datname, usename)
  UNION SELECT pid FROM pg_locks JOIN pg_database d ON objid = d.oid
  WHERE locktype = 'object' AND classid = 'pg_database'::regclass AND datname = :'new'
) AS those;
END
    ) || fail "whether the sessions in $new have ended is not known"
    [ -n "$left" ]
  do
    tries=$((tries + 1))
    [ "$tries" -lt 10 ] || fail "the session ${left%%|*} in $new does not end"
  done
}

# What takes the superuser, and calls nothing that an account has written; and what waits for owners.
superuser='EXTENSION|CAST|OPERATOR (CLASS|FAMILY)|PROCEDURAL LANGUAGE|TRANSFORM|ACCESS METHOD|TEXT SEARCH (PARSER|TEMPLATE)'
superuser="$superuser|FOREIGN DATA WRAPPER|SERVER|USER MAPPING|PUBLICATION|(FUNCTION|PROCEDURE|TYPE|SHELL TYPE) .* postgres\$"
last='COMMENT|ACL|DEFAULT ACL|SECURITY LABEL|EVENT TRIGGER|BLOBS?'
entries() { pg_restore --list "$@" | grep -v '^;'; }
of() { grep -E "^[0-9]+; [0-9]+ [0-9]+ ($1)( |\$)" "$2" || true; }

# Loads the objects and rows of the database with the number $1: runs of entries, as their order is, each by its role.
load() {
  entries "$1.dump" >list
  of "$superuser" list >superusers
  of "$last" list >lasts
  grep -v -x -F -f lasts list | awk 'FILENAME == "superusers" { is[$0]; next } { by = $0 in is ? "superuser" : "loader" }
    by != before { close(file); file = sprintf("run.%04d.%s", ++runs, by); before = by } { print >file }' superusers -
  for run_of in $(find . -name 'run.*' | sort); do
    case "$run_of" in
    *.loader) set -- "$1" "$conf" --no-owner ;;
    *) set -- "$1" "$PGSERVICEFILE" ;;
    esac
    # An archive has tablespaces, whatever pg_dump was told.
    PGSERVICEFILE=$2 pg_restore --no-password --exit-on-error --no-tablespaces ${3:+"$3"} --use-list="$run_of" \
      --dbname="$PGDATABASE" "$1.dump"
    rm "$run_of"
  done
  let_out
  # No owner's rights to what is not as it was: the server itself calls the index of a table with those.
  as_dumped "$1" --no-owner "|SCHEMA - public|$last"
  ask --file="$1.owners"
  left=$(ask --command="SELECT pg_describe_object(classid, objid, objsubid) FROM pg_shdepend JOIN pg_database d ON dbid = d.oid
    WHERE datname = current_database() AND refobjid = '\"$new\"'::regrole AND deptype = 'o' LIMIT 1")
  [ -z "$left" ] || fail "nothing says who owns $left"
  [ ! -s lasts ] || pg_restore --no-password --exit-on-error --use-list=lasts --dbname="$PGDATABASE" "$1.dump"
  as_dumped "$1"
}

# Code that ran as the owner of an object may have put something else in its place. Another major version says the same in
# other words. The kinds of entries $3 are not compared.
as_dumped() {
  [ "$from" = "$into" ] || return 0
  # 0.3.0 had the database say how values show. From 17 on a login may have a trigger, whose function is not compared yet.
  alike=$(cat showing 2>/dev/null) || true
  [ "$into" -lt 17 ] || alike="$alike -c event_triggers=off"
  PGOPTIONS="$PGOPTIONS $alike" pg_dump --no-password --format=custom --schema-only --quote-all-identifiers \
    --no-tablespaces --no-subscriptions --file=made
  schema "$1.dump" "${2:-}" "${3:-}" >wanted
  differs=$(schema made "${2:-}" "${3:-}" | diff wanted - | sed -n 2p)
  [ -z "$differs" ] || fail "what was made is not sure to be what was dumped ($differs). Load it by hand (docs/postgres.md)"
}
# In its order, but for what fills views, which a dump of the schema lacks. A body has lines of any kind: of pg_restore's own,
# what differs is before its first SET and in the last two.
schema() {
  entries "$1" | grep -v -E "^[0-9]+; [0-9]+ [0-9]+ (MATERIALIZED VIEW DATA$3)( |\$)" >schema || true
  pg_restore --schema-only --no-tablespaces ${2:+"$2"} --use-list=schema --file=- "$1" | sed '1,/^SET /d' | sed '$d' | sed '$d'
}

# What is not compared goes to no superuser, nor is called by one.
comparable() {
  [ "$from" != "$into" ] || return 0
  ask --file=- >superusers <<'END'
SELECT format(E' OWNER TO %I;\n OWNER TO "%s";', rolname, replace(rolname, '"', '""')) FROM pg_roles WHERE rolsuper;
END
  pg_restore --list "$1.dump" >list
  owned=$(grep -F -f superusers "$1.owners" || of 'EVENT TRIGGER' list)
  owned=$(echo "$owned" | head -n 1)
  [ -z "$owned" ] || fail "$database has something of a superuser ($owned), and what is made of PostgreSQL $from in $into" \
    "cannot be compared: nothing is changed. Load it by hand (docs/postgres.md)"
}

# What makes the database with the number $1, and its owner, settings, comment and privileges. Whatever a list says,
# pg_restore makes the database, connects to it, sets its settings and connects again. Accounts write settings and
# comments, whose lines may look like any others: the statement ends at the first ; without quotes, and the settings at the
# last \connect where no comment follows.
read_database() {
  entries --create "$1.dump" >list
  owner=$(of 'DATABASE -' list)
  owner=${owner#*" DATABASE - $database "}
  written() { pg_restore --create --no-owner --schema-only --use-list="$2" --file=text "$1.dump"; }
  whole() { sed -E -e ':more' -e '$!{' -e N -e 'b more' -e '}' -e "$1"; }
  written "$1" /dev/null
  end=$(grep -n '^\\connect ' text | tail -n 1 | cut -d : -f 1)
  whole "s/(\nCREATE DATABASE )(\"[^\"]*\"|[^\" ])+( WITH TEMPLATE = ([^';]|'[^']*')*);.*/\1:\"new\"\3 ALLOW_CONNECTIONS = false;/" \
    <text >create
  sed "1,$(wc -l <create)d" text | sed '1,/^\\connect /d' | whole 's/(.*)\n\\connect .*/\1/; s/\n\\encoding SQL_ASCII$//' >properties
  of '(COMMENT|ACL) - DATABASE' list >further
  written "$1" further
  sed "1,${end}d" text >>properties
}

make_roles() {
  while IFS= read -r role; do
    ask --set=role="$role" --file=- <<'END'
SELECT format('the role %s is made, without a login', :'role')
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'role');
SELECT format('CREATE ROLE %I', :'role') WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'role') \gexec
END
  done <"$1.roles"
}

# What a load gives its database in the transaction that ends the restore. Its clients are cut off in it: one that comes
# back before the name is free has it tried again.
take_place() {
  ask --set=name="$1" --set=new="$new" --set=old="nomad-stateful-replaced-$run-$number" \
    --set=owner="$owner" --file=- <<'END'
SELECT format('SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname IN (%L, %L);
ALTER DATABASE %I RENAME TO %I;', datname, :'new', datname, :'old') FROM pg_database WHERE datname = :'name';
SELECT format('GRANT CONNECT, TEMPORARY ON DATABASE %1$I TO PUBLIC;
ALTER DATABASE %1$I RENAME TO %2$I; ALTER DATABASE %2$I OWNER TO %3$I;', :'new', :'name', :'owner');
END
  cat properties
}

number=0
while IFS= read -r database; do
  number=$((number + 1))
  new=nomad-stateful-$run-$number
  comparable "$number"
  make_roles "$number"
  read_database "$number"
  # PUBLIC may connect to a new database.
  echo 'REVOKE ALL ON DATABASE :"new" FROM PUBLIC; ALTER DATABASE :"new" ALLOW_CONNECTIONS true;' >>create
  ask --set=new="$new" --file=create >/dev/null
  PGDATABASE=$new
  let_in
  load "$number"
  ask --command="SELECT format('the user mapping of %s for %s has no options: ALTER USER MAPPING sets them', usename, srvname)
    FROM pg_user_mappings WHERE umoptions IS NULL"
  PGDATABASE=template1
  take_place "$database" >>places
done <databases

tries=0
placing=yes
until said=$(ask --single-transaction --file=places 2>&1 >/dev/null) || [ "$(waiting)" = 0 ]; do
  tries=$((tries + 1))
  [ "$tries" -lt 10 ] || fail "$said"
done
swapped=yes
echo "$name is restored"
clear_up || true
rm -rf "$DUMPS/.fetched"
