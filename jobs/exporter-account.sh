#!/bin/sh
# After jobs/DATABASE/exporter-account.sh, which says how the exporter's account is made (make_account) and by whom (maker):
# makes it once the server answers, each time the job starts, and then waits until it is ended.
# shellcheck disable=SC2154
set -eu
trap 'exit 0' TERM INT
while ! said=$(make_account 2>&1); do
  [ "$said" = "${told:-}" ] || echo "the server does not let $maker make the account: $said" >&2
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
