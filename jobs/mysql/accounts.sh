#!/bin/sh
# Makes databases and accounts (accounts.sql), once the server lets root in.
set -eu
ask() { mysql "--defaults-extra-file=$NOMAD_SECRETS_DIR/client.cnf" "$TLS_MYSQL" "$@"; }
tries=0
until said=$(ask --execute 'SELECT 1' 2>&1); do
  tries=$((tries + 1))
  [ "$tries" -lt 180 ] || { echo "the server does not let root in: $said" >&2; exit 1; }
  sleep 1
done
ask <"$NOMAD_SECRETS_DIR/accounts.sql"
echo "databases and accounts are as configured"
