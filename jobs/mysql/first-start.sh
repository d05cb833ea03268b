#!/bin/sh
set -eu
PATH=$START_PATH
for last in "$@"; do :; done
[ "${last:-}" = "--datadir=$START_MAKING" ] || exec mysqld "$@"

datadir=${START_MAKING%/*}
sync
find "$START_MAKING" -mindepth 1 -maxdepth 1 ! -name mysql -exec mv -t "$datadir" -- {} +
sync
mv -T "$START_MAKING/mysql" "$datadir/mysql"
rmdir "$START_MAKING"
sync
echo "mysql: the first start is complete" >&2

kept=$(($# - 3))
while [ "$kept" -gt 0 ]; do
  set -- "$@" "$1"
  shift
  kept=$((kept - 1))
done
shift 3
exec mysqld "$@" --socket="$START_SOCKET"
