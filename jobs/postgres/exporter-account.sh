#!/bin/sh
# Makes the exporter's account, each time the job starts, and then waits until it is ended.
set -eu
trap 'exit 0' TERM INT
export PGDATABASE=postgres
export PGOPTIONS="-c search_path=pg_catalog -c password_encryption=scram-sha-256 -c default_transaction_read_only=off"
ask() { psql --no-psqlrc --quiet --no-password --set=ON_ERROR_STOP=1 "$@"; }
make() {
  ask --set=account="$ACCOUNT" --file=- <<'END' || return 1
SELECT format('CREATE ROLE %I', :'account') WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'account') \gexec
ALTER ROLE :"account" LOGIN CONNECTION LIMIT 5;
GRANT pg_monitor TO :"account";
END
  ask --command="\\password \"$ACCOUNT\"" <"$NOMAD_SECRETS_DIR/account.sql"
}
while ! said=$(make 2>&1); do
  [ "$said" = "${told:-}" ] || echo "the server does not let the superuser in: $said" >&2
  told=$said
  sleep 2 &
  wait $!
done
echo "the account $ACCOUNT is as configured"
# Nomad starts this again when the server's service is another one.
while :; do
  sleep 3600 &
  wait $!
done
