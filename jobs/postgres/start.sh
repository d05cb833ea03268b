#!/bin/sh
# Starts the server by the image's entrypoint START_ENTRYPOINT, with its own arguments; a first start is atomic.
set -eu
say() { echo "postgres: $*" >&2; }
fail() { say "$@"; exit 1; }

datadir=
for argument in "$@"; do
  case "$argument" in --data_directory=*) datadir=${argument#--data_directory=} ;; esac
done
[ -n "$datadir" ] || fail "--data_directory is missing"
making=$datadir.first-start
command -v "$START_ENTRYPOINT" >/dev/null ||
  fail "there is no $START_ENTRYPOINT here: set postgres.command to the entrypoint"
server=$(command -v postgres) || fail "there is no postgres here: set postgres.image to an image of PostgreSQL"
runs=$("$server" --version | sed -n 's/^postgres (PostgreSQL) \([0-9]*\).*/\1/p')
[ "${runs:-0}" -ge 16 ] || fail "$("$server" --version) is too old: set postgres.image to PostgreSQL 16 or newer"

# A server's own lock names a process, which in another container is another one or none. This one ends with the last
# process of the server that has it, on whichever client.
mkdir -p "${datadir%/*}"
exec 9>>"$datadir.lock"
flock -n 9 || fail "another server runs on $datadir: one data directory has one server. Nomad tries again"

folder=${START_SOCKET%/*}
mkdir -p "$folder"
chmod 755 "$folder"
owned() { [ "$(id -u)" != 0 ] || chown "$START_UID" "$@"; }
owned "$folder"
# Of a server that was killed.
rm -f "$START_SOCKET" "$START_SOCKET.lock"

# What it says is initdb's and the image's scripts'. Nobody else may log in before its end, by a socket neither.
first_start() {
  shims=$NOMAD_TASK_DIR/first-start
  mkdir -p "$shims" "$making"
  chmod 755 "$shims"
  cp "$NOMAD_TASK_DIR/server.sh" "$shims/postgres"
  owned "$making"
  env PATH="$shims:$PATH" PGDATA="$making" START_SERVER="$server" "$START_ENTRYPOINT" postgres "$@" --data_directory="$making" \
    --unix_socket_directories=/var/run/postgresql ||
    fail "the first start failed (its messages are above)"
  [ ! -d "$datadir" ] || rmdir "$datadir"
  sync
  mv -T "$making" "$datadir"
  sync
  say "the first start is complete"
}

export PGDATA="$datadir"
if [ ! -s "$datadir/PG_VERSION" ]; then
  [ ! -d "$datadir" ] || [ -z "$(find "$datadir" -mindepth 1 -maxdepth 1)" ] ||
    fail "$datadir holds files but no database. Set postgres.dataDir to a new folder of the volume, such as $datadir-2," \
      "or look into the files and move them away."
  [ ! -d "$making" ] ||
    say "the first start did not come to its end (its messages are above, or in the allocation before):" \
      "what it made in $making is removed, and it begins again"
  rm -rf -- "$making"
  first_start "$@"
fi
written=$(cat "$datadir/PG_VERSION")
[ "$written" = "$runs" ] ||
  fail "$datadir was written by PostgreSQL $written, whose files $runs does not read: set postgres.image to $written" \
    "again. To go to $runs, dump with $written, and restore into a server of $runs on a new volume (docs/postgres.md)."

if [ "$START_TLS" = own ]; then
  if [ ! -s "$datadir/server.crt" ] || [ ! -s "$datadir/server.key" ]; then
    (umask 077 && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 -subj "/CN=$(printf %.64s "$START_NAME")" \
      -keyout "$datadir/server.key.new" -out "$datadir/server.crt.new" 2>/dev/null) ||
      fail "no certificate can be made here: set postgres.tlsCertificate, or an image with openssl"
    owned "$datadir/server.key.new" "$datadir/server.crt.new"
    mv "$datadir/server.key.new" "$datadir/server.key"
    mv "$datadir/server.crt.new" "$datadir/server.crt"
  fi
  set -- "$@" --ssl=on --ssl_cert_file="$datadir/server.crt" --ssl_key_file="$datadir/server.key"
fi

# By itself, before anybody can log in: the data may be a restored volume's, with another password. The statement is
# neither logged nor shown, nor do statistics keep it: the lines before it see to that (databases/postgres/server.py).
"$START_ENTRYPOINT" postgres --single "$@" --exit_on_error=on --log_statement=none --log_min_error_statement=panic template1 <"$NOMAD_SECRETS_DIR/password.sql" >/dev/null ||
  fail "the superuser's password cannot be set (why is above)"
exec "$START_ENTRYPOINT" postgres "$@"
