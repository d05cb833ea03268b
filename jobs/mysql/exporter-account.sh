#!/bin/sh
# Makes the exporter's account, before jobs/exporter-account.sh.
# shellcheck disable=SC2034,SC2329
maker=root
# In a replication group a statement about accounts keeps a member from joining until it is committed.
is_made() {
  mysql "--defaults-extra-file=$NOMAD_SECRETS_DIR/account.cnf" "$TLS_MYSQL" --execute "DO 0"
}
make_account() {
  ! is_made >/dev/null 2>&1 || return 0
  mysql "--defaults-extra-file=$NOMAD_SECRETS_DIR/client.cnf" "$TLS_MYSQL" <"$NOMAD_SECRETS_DIR/account.sql"
}
