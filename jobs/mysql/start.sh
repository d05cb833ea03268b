#!/bin/sh
# Starts the server by the image's entrypoint START_ENTRYPOINT, with its own arguments; a first start is atomic.
set -eu
say() { echo "mysql: $*" >&2; }
fail() { say "$@"; exit 1; }

datadir=
for argument in "$@"; do
  case "$argument" in --datadir=*) datadir=${argument#--datadir=} ;; esac
done
[ -n "$datadir" ] || fail "--datadir is missing"
making=$datadir/first-start
command -v "$START_ENTRYPOINT" >/dev/null ||
  fail "there is no $START_ENTRYPOINT here: set mysql.command to the entrypoint"
for file in aria_log_control mariadb_upgrade_info; do
  [ ! -f "$datadir/$file" ] ||
    fail "$datadir was written by MariaDB, whose files MySQL does not read: dump with MariaDB, and restore into MySQL on" \
      "a new volume (docs/consumers.md)"
done
version=$(mysqld --version || true)
case "$version" in
'' | *MariaDB*) fail "there is no mysqld of MySQL here: set mysql.image to an image of MySQL" ;;
esac

# Of two versions as 9.7.4 the first is older than a server may be for the second's files: a lower series, or a lower
# patch of a series without long-term support.
too_old() {
  [ "$1" != "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ] || return 1
  [ "${1%.*}" != "${2%.*}" ] || case "$1" in 8.4.* | 9.7.*) return 1 ;; esac
}

check_version() {
  for file in mysql_upgrade_history mysql_upgrade_info; do
    [ ! -f "$datadir/$file" ] || written=$(grep -Eo '[0-9]+[.][0-9]+[.][0-9]+' "$datadir/$file" | tail -n 1)
  done
  runs=$(printf '%s\n' "$version" | grep -Eo '[0-9]+[.][0-9]+[.][0-9]+' | head -n 1)
  [ -z "${written:-}" ] || [ -z "$runs" ] || ! too_old "$runs" "$written" ||
    fail "$datadir was written by version $written, which $runs cannot read: run $written or newer again." \
      "To go back, dump with that, and restore into a server of $runs on a new volume."
}

folder=${START_SOCKET%/*}
mkdir -p "$folder"
chmod 755 "$folder"
[ "$(id -u)" != 0 ] || chown "$START_UID" "$folder"
# Of a server that was killed; its process id may be another program's in this container.
rm -f "$START_SOCKET" "$START_SOCKET.lock"

if [ -d "$datadir/mysql" ]; then
  [ ! -d "$making" ] || rmdir "$making"
  check_version
  exec "$START_ENTRYPOINT" "$@" --socket="$START_SOCKET" --init-file="$NOMAD_SECRETS_DIR/root-password.sql"
fi

if [ -d "$making" ]; then
  say "the first start did not come to its end (its messages are above, or in the allocation before):" \
    "what it made in $datadir is removed, and it begins again"
  find "$datadir" -mindepth 1 -maxdepth 1 ! -path "$making" -exec rm -rf -- {} +
  rm -rf -- "$making"
elif [ -d "$datadir" ] && [ -n "$(find "$datadir" -mindepth 1 -maxdepth 1 ! -name lost+found)" ]; then
  fail "$datadir holds files but no database, as after a first start that was cut off in an earlier release." \
    "Set mysql.dataDir to a new folder of the volume, such as $datadir-2, or look into the files and move them away."
fi
mkdir -p "$making"
[ "$(id -u)" != 0 ] || chown "$START_UID" "$datadir" "$making"

shims=$NOMAD_TASK_DIR/first-start
mkdir -p "$shims"
cp "$NOMAD_TASK_DIR/server.sh" "$shims/mysqld"
export START_MAKING="$making" START_PATH="$PATH" PATH="$shims:$PATH"
# Nobody else may log in before its end, by a socket neither.
exec "$START_ENTRYPOINT" "$@" --socket=/tmp/first-start.sock --skip-networking --datadir="$making"
