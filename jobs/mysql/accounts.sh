#!/bin/sh
# Makes databases and accounts (accounts.sql), once the server lets root in.
set -eu
client=$(command -v mysql || command -v mariadb)
case $("$client" --version) in *MariaDB*) tls=--skip-ssl ;; *) tls=--ssl-mode=DISABLED ;; esac
options=--defaults-extra-file=$NOMAD_SECRETS_DIR/client.cnf
tries=0
until said=$("$client" "$options" "$tls" --execute 'SELECT 1' 2>&1); do
  tries=$((tries + 1))
  [ "$tries" -lt 180 ] || { echo "the server does not let root in: $said" >&2; exit 1; }
  sleep 1
done
"$client" "$options" "$tls" <"$NOMAD_SECRETS_DIR/accounts.sql"
echo "databases and accounts are as configured"
