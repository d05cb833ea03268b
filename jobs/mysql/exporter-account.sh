#!/bin/sh
# Makes the exporter's account, before jobs/exporter-account.sh.
# shellcheck disable=SC2034,SC2329
maker=root
is_made() {
  mysql "--defaults-extra-file=$NOMAD_SECRETS_DIR/account.cnf" "$TLS_MYSQL" --execute "DO 0"
}
of_root() {
  mysql "--defaults-extra-file=$NOMAD_SECRETS_DIR/client.cnf" "$TLS_MYSQL" "$@"
}
# In a replication group a statement about accounts and a member that joins wait for each other.
away="SELECT CONCAT(online, ' of ', wanted, ' members of its group are ONLINE') FROM (
  SELECT LENGTH(variable_value) - LENGTH(REPLACE(variable_value, ',', '')) + 1 wanted,
    (SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE member_state = 'ONLINE') online
  FROM performance_schema.global_variables WHERE variable_name = 'group_replication_group_seeds'
) members WHERE online < wanted"
make_account() {
  ! is_made >/dev/null 2>&1 || return 0
  waits=$(of_root --batch --skip-column-names --execute "$away") || return
  [ -z "$waits" ] || { echo "$waits"; return 1; }
  of_root <"$NOMAD_SECRETS_DIR/account.sql"
}
