#!/bin/sh
# Makes databases and accounts (accounts.sql), once the server lets the superuser in. The passwords are read by \password,
# which sends what the server stores of them, so that no statement has one.
set -eu
export PGOPTIONS="-c search_path=pg_catalog -c password_encryption=scram-sha-256 -c default_transaction_read_only=off"
ask() { psql --no-psqlrc --quiet --no-password --set=ON_ERROR_STOP=1 --dbname=postgres "$@" 2>&1; }
tries=0
until said=$(ask --command='SELECT 1'); do
  tries=$((tries + 1))
  [ "$tries" -lt 180 ] || { echo "the server does not let the superuser in: $said" >&2; exit 1; }
  sleep 1
done
said=$(ask --file="$NOMAD_SECRETS_DIR/accounts.sql" <"$NOMAD_SECRETS_DIR/passwords") || { echo "$said" >&2; exit 1; }
echo "databases and accounts are as configured"
