#!/bin/sh
# Dumps every database of a server onto a volume, and keeps the newest KEEP dumps.
# DUMPS is the volume's folder, PGSERVICEFILE says who logs in where; with S3, another task uploads what this one makes.
#
# A dump is a text in which marks, lines with a token that no row can know, say what each part is: of a database its
# name, how it is made, the roles it needs, what pg_dump says of it by sections, and what is set for the whole. All of a
# database is of one snapshot.
set -euf
umask 077
export LC_ALL=C PGOPTIONS="-c search_path=pg_catalog -c statement_timeout=0 -c idle_in_transaction_session_timeout=0"

# By the session that holds the snapshot.
if [ "${1:-}" = sections ]; then
  for section in pre-data large-objects data post-data; do
    echo "-- $TOKEN $NUMBER $section"
    case $section in
    large-objects) set -- --section=data --large-objects --exclude-table-data='*.*' ;;
    *) set -- --section=$section --no-large-objects ;;
    esac
    pg_dump --no-password --snapshot="$SNAPSHOT" --quote-all-identifiers --no-tablespaces --no-subscriptions \
      --lock-wait-timeout=600000 "$@" </dev/null
  done
  exit
fi

fail() { echo "$*" >&2; exit 1; }
grep -q '^host=.' "$PGSERVICEFILE" || fail "no such service is registered now"
ask() { psql --no-psqlrc --quiet --no-password --tuples-only --no-align --set=ON_ERROR_STOP=1 "$@"; }

# The server's own database counts once somebody keeps tables in it.
export PGDATABASE=postgres
tables=$(ask --command="SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
  WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'nomad_stateful')")
those="FROM pg_database WHERE datname NOT IN ('template0', 'template1') AND datname !~ '^nomad-stateful-(replaced-)?[0-9a-f]{16}-[0-9]+\$'
  AND ($tables > 0 OR datname <> 'postgres')"
closed=$(ask --command="SELECT datname $those AND (NOT datallowconn OR datname ~ E'[\n\r]') LIMIT 1")
[ -z "$closed" ] || fail "the database $closed cannot be dumped: it takes no connections, or its name has a line break"
databases=$(ask --command="SELECT datname $those ORDER BY datname")
[ -n "$databases" ] || { echo "there is no database to dump yet"; exit 0; }
version=$(ask --command="SHOW server_version_num")

name=$(dump_name)
# Tried again since the upload failed: this run's own dump is there, and would only be made a second time.
[ -z "$S3" ] || [ ! -e "$DUMPS/$name" ] || { echo "$name is of this run already"; exit 0; }

WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
TOKEN=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export WORK TOKEN SELF="$0"

dump_database() {
  ask --file=- <<'END'
SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout' \g /dev/null
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT pg_export_snapshot() AS snapshot \gset
\setenv SNAPSHOT :snapshot
\getenv token TOKEN
\getenv number NUMBER
\getenv work WORK
\set mark '-- ' :token ' ' :number
\set objects :work /objects. :number
\set calls :work /calls. :number
\set mappings :work /mappings. :number
-- What the server has, as pg_dump names it.
\o :objects
SELECT format('%s; Type: %s; Schema: %s', translate(name, E'\n\r', '  '), kind, translate(nspname, E'\n\r', '  '))
FROM (
  SELECT relnamespace, 'pg_class'::regclass AS classid, oid, relname::text AS name,
    unnest(CASE relkind WHEN 'r' THEN ARRAY['TABLE', 'TABLE DATA'] WHEN 'p' THEN ARRAY['TABLE'] WHEN 'v' THEN ARRAY['VIEW']
      WHEN 'm' THEN ARRAY['MATERIALIZED VIEW'] WHEN 'S' THEN ARRAY['SEQUENCE'] WHEN 'f' THEN ARRAY['FOREIGN TABLE'] END) AS kind
  FROM pg_class
  UNION ALL SELECT relnamespace, 'pg_trigger'::regclass, t.oid, relname || ' ' || tgname, 'TRIGGER'
  FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid WHERE NOT tgisinternal AND tgparentid = 0
) AS object JOIN pg_namespace n ON n.oid = relnamespace
WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = object.classid AND objid = object.oid AND deptype = 'e');
-- What would call an account's function as the superuser when a restore makes it: as a constant's input or check, or in
-- an expression that is simplified. A check is made after the rows where its function depends on what it checks.
\o :calls
WITH RECURSIVE account AS (
  SELECT p.oid FROM pg_proc p JOIN pg_roles r ON r.oid = proowner WHERE NOT rolsuper
    AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e')
), uses AS MATERIALIZED (
  SELECT classid, objid, refclassid, refobjid FROM pg_depend
  UNION SELECT 'pg_type'::regclass, contypid, 'pg_constraint'::regclass, oid FROM pg_constraint WHERE contypid <> 0
  UNION SELECT 'pg_class'::regclass, conrelid, 'pg_constraint'::regclass, oid FROM pg_constraint WHERE conrelid <> 0
  UNION SELECT 'pg_type'::regclass, oid, 'pg_class'::regclass, typrelid FROM pg_type WHERE typrelid <> 0
  UNION SELECT 'pg_class'::regclass, ev_class, 'pg_rewrite'::regclass, oid FROM pg_rewrite
  UNION SELECT 'pg_class'::regclass, adrelid, 'pg_attrdef'::regclass, oid FROM pg_attrdef
), made (what, classid, objid) AS (
  SELECT format('the generated column %I of %s', attname, attrelid::regclass), 'pg_attrdef'::regclass, d.oid
  FROM pg_attrdef d JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum WHERE attgenerated <> ''
  UNION SELECT format('the partition key of %s', partrelid::regclass), refclassid, refobjid FROM pg_partitioned_table
  JOIN pg_depend ON classid = 'pg_class'::regclass AND objid = partrelid AND objsubid = 0 AND refclassid <> classid
  UNION SELECT format('the partition key of %s', partrelid::regclass), 'pg_type'::regclass, atttypid
  FROM pg_partitioned_table JOIN pg_attribute ON attrelid = partrelid AND attnum = ANY (partattrs::int2[])
  UNION SELECT format('the check %I of the partition %s', conname, conrelid::regclass), 'pg_constraint'::regclass, c.oid
  FROM pg_constraint c JOIN pg_class r ON r.oid = conrelid WHERE relispartition AND contype = 'c'
  UNION SELECT format('the aggregate %s', aggfnoid::regprocedure), 'pg_type'::regclass, unnest(ARRAY[aggtranstype, aggmtranstype])
  FROM pg_aggregate WHERE agginitval IS NOT NULL OR aggminitval IS NOT NULL
  UNION SELECT format('the foreign key %I of %s', conname, conrelid::regclass), 'pg_proc'::regclass, castfunc
  FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = ANY (conkey) JOIN pg_cast ON castsource = atttypid
  WHERE contype = 'f'
), reached AS (
  SELECT * FROM made
  UNION SELECT what, refclassid, refobjid FROM reached JOIN uses USING (classid, objid) WHERE classid <> 'pg_proc'::regclass
), checked AS (
  SELECT c.oid, refclassid AS classid, refobjid AS objid FROM pg_constraint c
  JOIN pg_depend d ON classid = 'pg_constraint'::regclass AND objid = c.oid WHERE contype = 'c'
    AND (refclassid, refobjid) NOT IN (('pg_class'::regclass, conrelid), ('pg_type'::regclass, contypid))
  UNION SELECT oid, refclassid, refobjid FROM checked JOIN uses USING (classid, objid)
)
SELECT what || ' calls ' || objid::regprocedure FROM reached
WHERE classid = 'pg_proc'::regclass AND objid IN (SELECT oid FROM account)
UNION SELECT format('the check %I calls %s', conname, objid::regprocedure) FROM pg_constraint c JOIN checked USING (oid)
WHERE classid = 'pg_proc'::regclass AND objid IN (SELECT oid FROM account) AND EXISTS (SELECT FROM checked again
  WHERE again.oid = c.oid AND ((again.classid, again.objid) IN (('pg_class'::regclass, conrelid), ('pg_type'::regclass, contypid))));
\o :mappings
SELECT format('the options of the user mapping of %s for %s in %s', usename, srvname, current_database())
FROM pg_user_mappings WHERE umoptions IS NULL;
\o
\echo :mark database :DBNAME
\echo :mark create
SELECT format('CREATE DATABASE :"new" TEMPLATE template0 ENCODING %L LC_COLLATE %L LC_CTYPE %L LOCALE_PROVIDER %s%s;',
  pg_encoding_to_char(encoding), datcollate, datctype,
  CASE datlocprovider WHEN 'i' THEN format('icu ICU_LOCALE %L', locale)
    WHEN 'b' THEN format('builtin BUILTIN_LOCALE %L', locale) ELSE 'libc' END,
  CASE WHEN daticurules IS NOT NULL THEN format(' ICU_RULES %L', daticurules) END)
FROM pg_database d, LATERAL (SELECT coalesce(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale') AS locale)
WHERE datname = current_database();
\echo :mark roles
SELECT DISTINCT rolname FROM pg_shdepend JOIN pg_roles r ON r.oid = refobjid, pg_database d
WHERE datname = current_database() AND refclassid = 'pg_authid'::regclass
  AND (dbid = d.oid OR classid = 'pg_database'::regclass AND objid = d.oid)
UNION SELECT pg_get_userbyid(setrole) FROM pg_db_role_setting JOIN pg_database d ON d.oid = setdatabase
WHERE datname = current_database() AND setrole <> 0;
\! sh "$SELF" sections
\if :SHELL_ERROR
\quit
\endif
\echo :mark properties
WITH d AS (SELECT * FROM pg_database WHERE datname = current_database()),
  setting AS (SELECT setrole, split_part(one, '=', 1) AS name, substr(one, strpos(one, '=') + 1) AS value
    FROM pg_db_role_setting JOIN d ON setdatabase = d.oid, unnest(setconfig) AS one)
SELECT format('ALTER DATABASE %I OWNER TO %I;', datname, pg_get_userbyid(datdba)) FROM d
UNION ALL SELECT format('ALTER DATABASE %I CONNECTION LIMIT %s;', datname, datconnlimit) FROM d
UNION ALL SELECT format('COMMENT ON DATABASE %I IS %L;', datname, shobj_description(oid, 'pg_database')) FROM d
UNION ALL SELECT format('GRANT %s ON DATABASE %I TO %s%s;', privilege_type, datname,
    CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,
    CASE WHEN is_grantable THEN ' WITH GRANT OPTION' END) FROM d, aclexplode(coalesce(datacl, acldefault('d', datdba)))
-- A list of names is kept with each in its quotes.
UNION ALL SELECT format('ALTER %s SET %I TO %s;', CASE setrole WHEN 0 THEN format('DATABASE %I', datname)
    ELSE format('ROLE %I IN DATABASE %I', pg_get_userbyid(setrole), datname) END, name,
    CASE WHEN name IN ('search_path', 'temp_tablespaces', 'local_preload_libraries', 'session_preload_libraries')
      THEN replace(value, '""', '''''') ELSE quote_literal(value) END) FROM d, setting;
\echo :mark end
END
}

partial=$DUMPS/.partial
{
  echo "-- nomad-stateful dump of PostgreSQL $version, token $TOKEN"
  NUMBER=0
  printf '%s\n' "$databases" | {
    while IFS= read -r PGDATABASE; do
      NUMBER=$((NUMBER + 1))
      export PGDATABASE NUMBER
      dump_database || exit
    done
    echo "-- $TOKEN complete"
  }
} | gzip >"$partial"

# What was written, read back. It is whole by its last mark; each database by its own, and by what it has of the server's.
read_back() { gzip -dc "$partial" || printf '\n-- failed\n'; }
[ "$(read_back | tail -n 1)" = "-- $TOKEN complete" ] || fail "the dump is not whole"
NUMBER=0
printf '%s\n' "$databases" | while IFS= read -r database; do
  NUMBER=$((NUMBER + 1))
  read_back | sed -n "/^-- $TOKEN $NUMBER database /,/^-- $TOKEN $NUMBER end\$/{
    s/^-- $TOKEN $NUMBER //p; s/^-- \(Data for \)*Name: \(.*\); Owner: .*/\2/p; }" | sort -u >"$WORK/holds"
  lacks=$({
    printf '%s\n' "database $database" create roles pre-data large-objects data post-data properties end
    cat "$WORK/objects.$NUMBER"
  } | sort -u | comm -23 - "$WORK/holds" | head -n 1)
  [ -z "$lacks" ] || fail "the dump of $database lacks $lacks"
  calls=$(head -n 1 "$WORK/calls.$NUMBER")
  [ -z "$calls" ] || fail "$database cannot be dumped: $calls, which a restore would run as the superuser." \
    "If the function may be trusted, have the superuser own it: ALTER ROUTINE ... OWNER TO postgres"
done
sync "$partial"
mv "$partial" "$DUMPS/$name"
sync "$DUMPS"
echo "$name holds $(printf '%s' "$databases" | tr '\n' ' ')"
# Passwords among them: the server shows them to their owner and the superuser alone.
set +f
cat "$WORK"/mappings.* | sed 's/$/ are not in it (ALTER USER MAPPING sets them after a restore)/'
set -f

dumps_until "$name" "$DUMPS" | sort -r | tail -n +$((KEEP + 1)) | while read -r old; do
  rm -- "$DUMPS/$old"
  echo "$old is removed: $KEEP dumps are kept"
done
