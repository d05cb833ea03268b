#!/bin/bash
# Entrypoint of the image with PostgreSQL where the official image's own is not at hand. It does what that one does, in the
# same order and with the same variables: https://github.com/docker-library/docs/tree/master/postgres
#
# As there, the first start is not atomic: a data directory that has PG_VERSION is taken for a whole one.
# Scripts of whoever made the image are sourced.
# A function's arguments are made before its variables.
# shellcheck disable=SC1090,SC2097,SC2098
set -Eeo pipefail

fail() {
	printf 'Error: %s\n' "$*" >&2
	exit 1
}

# The value of a variable, or of the file that NAME_FILE names.
from_file() { # from_file NAME [DEFAULT]
	local name=$1 file=$1_FILE value=${2:-}
	[ -z "${!name:-}" ] || [ -z "${!file:-}" ] || fail "both $name and $file are set (but are exclusive)"
	if [ -n "${!name:-}" ]; then value=${!name}; elif [ -n "${!file:-}" ]; then value=$(<"${!file}"); fi
	export "$name=$value"
	unset "$file"
}

own_folders() {
	mkdir -p "$PGDATA"
	chmod 00700 "$PGDATA" || :
	mkdir -p /var/run/postgresql || :
	chmod 03775 /var/run/postgresql || :
	if [ -n "${POSTGRES_INITDB_WALDIR:-}" ]; then
		mkdir -p "$POSTGRES_INITDB_WALDIR"
		[ "$(id -u)" != 0 ] || find "$POSTGRES_INITDB_WALDIR" ! -user postgres -exec chown postgres {} +
		chmod 700 "$POSTGRES_INITDB_WALDIR"
	fi
	[ "$(id -u)" != 0 ] || find "$PGDATA" /var/run/postgresql ! -user postgres -exec chown postgres {} +
}

# initdb wants its user to have a name.
name_user() {
	getent passwd "$(id -u)" >/dev/null && return
	local wrapper
	for wrapper in {/usr,}/lib{/*,}/libnss_wrapper.so; do
		[ -s "$wrapper" ] || continue
		NSS_WRAPPER_PASSWD=$(mktemp) NSS_WRAPPER_GROUP=$(mktemp)
		export LD_PRELOAD="$wrapper" NSS_WRAPPER_PASSWD NSS_WRAPPER_GROUP
		printf 'postgres:x:%s:%s:PostgreSQL:%s:/bin/false\n' "$(id -u)" "$(id -g)" "$PGDATA" >"$NSS_WRAPPER_PASSWD"
		printf 'postgres:x:%s:\n' "$(id -g)" >"$NSS_WRAPPER_GROUP"
		return
	done
}

make_data() {
	if [ -z "$POSTGRES_PASSWORD" ] && [ "${POSTGRES_HOST_AUTH_METHOD:-}" != trust ]; then
		fail "Database is uninitialized and superuser password is not specified: set POSTGRES_PASSWORD to a non-empty value"
	fi
	ls /docker-entrypoint-initdb.d/ >/dev/null
	name_user
	[ -z "${POSTGRES_INITDB_WALDIR:-}" ] || set -- --waldir "$POSTGRES_INITDB_WALDIR"
	# Further arguments of initdb are one text, which the shell splits.
	eval 'initdb --username="$POSTGRES_USER" --pwfile=<(printf "%s\n" "$POSTGRES_PASSWORD") '"$POSTGRES_INITDB_ARGS"' "$@"'
	[[ ${LD_PRELOAD:-} != */libnss_wrapper.so ]] || unset LD_PRELOAD NSS_WRAPPER_PASSWD NSS_WRAPPER_GROUP
}

# What may log in by TCP: by the method that passwords are stored for.
allow_hosts() { # allow_hosts ARGUMENT...
	local method=${POSTGRES_HOST_AUTH_METHOD:-$(postgres -C password_encryption "$@")}
	printf '\nhost all all all %s\n' "$method" >>"$PGDATA/pg_hba.conf"
}

sql() {
	local in=(--dbname "$POSTGRES_DB")
	[ -n "$POSTGRES_DB" ] || in=()
	PGHOST='' PGHOSTADDR='' psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --no-password --no-psqlrc "${in[@]}" "$@"
}

# With the server's own arguments, but by the socket alone.
temporary_server() { # temporary_server start|stop [ARGUMENT...]
	if [ "$1" = stop ]; then
		PGUSER=${PGUSER:-postgres} pg_ctl -D "$PGDATA" -m fast -w stop
		return
	fi
	shift
	set -- "$@" -c listen_addresses= -p "${PGPORT:-5432}"
	NOTIFY_SOCKET='' PGUSER=${PGUSER:-$POSTGRES_USER} pg_ctl -D "$PGDATA" -o "$(printf '%q ' "$@")" -w start
}

make_database() {
	local there
	there=$(POSTGRES_DB='' sql --dbname postgres --set db="$POSTGRES_DB" --tuples-only <<<"SELECT 1 FROM pg_database WHERE datname = :'db';")
	[ -n "$there" ] || POSTGRES_DB='' sql --dbname postgres --set db="$POSTGRES_DB" <<<'CREATE DATABASE :"db";'
}

scripts() {
	local script
	for script in /docker-entrypoint-initdb.d/*; do
		case "$script" in
		*.sh) if [ -x "$script" ]; then "$script"; else . "$script"; fi ;;
		*.sql) sql -f "$script" ;;
		*.sql.gz) gunzip -c "$script" | sql ;;
		*.sql.xz) xzcat "$script" | sql ;;
		*.sql.zst) zstd -dc "$script" | sql ;;
		*) printf '%s: ignoring %s\n' "$0" "$script" ;;
		esac
	done
}

is_server() {
	[ "$1" = postgres ] || return 1
	local argument
	for argument; do
		case "$argument" in -'?' | --help | --describe-config | -V | --version) return 1 ;; esac
	done
}

[ "${1:0:1}" != - ] || set -- postgres "$@"
if is_server "$@"; then
	from_file POSTGRES_PASSWORD
	from_file POSTGRES_USER postgres
	from_file POSTGRES_DB "$POSTGRES_USER"
	from_file POSTGRES_INITDB_ARGS
	own_folders
	[ "$(id -u)" != 0 ] || exec gosu postgres "${BASH_SOURCE[0]}" "$@"
	if [ ! -s "$PGDATA/PG_VERSION" ]; then
		make_data
		allow_hosts "${@:2}"
		export PGPASSWORD="${PGPASSWORD:-$POSTGRES_PASSWORD}"
		temporary_server start "${@:2}"
		make_database
		scripts
		temporary_server stop
		unset PGPASSWORD
		printf '\nPostgreSQL init process complete; ready for start up.\n\n'
	else
		printf '\nPostgreSQL Database directory appears to contain a database; Skipping initialization\n\n'
	fi
fi
exec "$@"
