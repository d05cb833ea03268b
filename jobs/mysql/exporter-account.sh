#!/bin/sh
# Makes the exporter's account, before jobs/exporter-account.sh.
# shellcheck disable=SC2034,SC2329
maker=root
make_account() {
  mysql "--defaults-extra-file=$NOMAD_SECRETS_DIR/client.cnf" "$TLS_MYSQL" <"$NOMAD_SECRETS_DIR/account.sql"
}
