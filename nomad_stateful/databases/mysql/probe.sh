#!/bin/sh
# Tries this image's server: its version, and the options in the arguments, without a data directory.
# https://dev.mysql.com/doc/refman/8.4/en/server-configuration-validation.html
set -u
server=$(command -v mysqld) || { echo "no mysqld in this image"; exit 1; }
"$server" --version
[ "$OPTIONS" = skip ] || "$server" "$@" --validate-config 2>&1 || exit 1
echo "probe: done"
