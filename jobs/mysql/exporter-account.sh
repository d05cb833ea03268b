#!/bin/sh
# Makes the exporter's account, each time the job starts, and then waits until it is ended.
set -eu
trap 'exit 0' TERM INT
options=--defaults-extra-file=$NOMAD_SECRETS_DIR/client.cnf
while ! said=$(mysql "$options" "$TLS_MYSQL" 2>&1 <"$NOMAD_SECRETS_DIR/account.sql"); do
  [ "$said" = "${told:-}" ] || echo "the server does not let root in: $said" >&2
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
