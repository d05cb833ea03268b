#!/bin/sh
# Makes the exporter's account, before jobs/exporter-account.sh.
# shellcheck disable=SC2034,SC2329
maker="the superuser"
export PGDATABASE=postgres
export PGOPTIONS="-c search_path=pg_catalog -c password_encryption=scram-sha-256 -c default_transaction_read_only=off"
ask() { psql --no-psqlrc --quiet --no-password --set=ON_ERROR_STOP=1 "$@"; }
make_account() {
  ask --set=account="$ACCOUNT" --file=- <<'END' || return 1
SELECT format('CREATE ROLE %I', :'account') WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'account') \gexec
ALTER ROLE :"account" LOGIN CONNECTION LIMIT 5;
GRANT pg_monitor TO :"account";
END
  ask --command="\\password \"$ACCOUNT\"" <"$NOMAD_SECRETS_DIR/account.sql"
}
