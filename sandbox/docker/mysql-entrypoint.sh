#!/bin/bash
# Entrypoint of the image with MySQL where the official image's own is not at hand. It does what that one does, in the same
# order and with the same variables: https://github.com/docker-library/docs/tree/master/mysql
#
# As there, the first start is not atomic: the data folder is made in its place, and one that was cut off is taken for a
# whole one by the next start.
# Scripts of whoever made the image are sourced.
# shellcheck disable=SC1090
set -eo pipefail
shopt -s nullglob

say() {
	echo "$(date --rfc-3339=seconds) [$1] [Entrypoint]: $2"
}

fail() {
	say ERROR "$1" >&2
	exit 1
}

# The value of a variable, or of the file that NAME_FILE names.
from_file() { # from_file NAME [DEFAULT]
	local name=$1 file=$1_FILE
	[ -z "${!name}" ] || [ -z "${!file}" ] || fail "Both $name and $file are set (but are exclusive)"
	if [ -n "${!name}" ]; then :; elif [ -n "${!file}" ]; then
		printf -v "$name" %s "$(<"${!file}")"
	else
		printf -v "$name" %s "${2:-}"
	fi
	export "${name?}"
	unset "$file"
}

# What the server makes of its options, by the option's name.
configured() { # configured OPTION COMMAND...
	local option=$1
	shift
	"$@" --verbose --help --log-bin-index="$(mktemp -u)" 2>/dev/null |
		awk -v option="$option" '$1 == option && /^[^ \t]/ { sub(/^[^ \t]+[ \t]+/, ""); print; exit }'
}

check_options() {
	local said
	said=$("$@" --verbose --help --log-bin-index="$(mktemp -u)" 2>&1 >/dev/null) ||
		fail "mysqld failed while attempting to check config
	command was: $*
	$said"
}

own_folders() {
	local folders option value
	folders=("$DATADIR" "$(dirname "$SOCKET")")
	for option in general-log-file keyring_file_data pid-file secure-file-priv slow-query-log-file; do
		value=$(configured "$option" "$@")
		case "$option,$value" in
		*, | *,NULL) ;;
		secure-file-priv,*) folders+=("$value") ;;
		*) folders+=("$(dirname "$value")") ;;
		esac
	done
	mkdir -p "${folders[@]}"
	[ "$(id -u)" != 0 ] || find "${folders[@]}" ! -user mysql -exec chown --no-dereference mysql {} +
}

# Root's password where it is set already, as an options file.
login() {
	[ -z "$known" ] || printf '[client]\npassword="%s"\n' "$MYSQL_ROOT_PASSWORD"
}

sql() {
	local in=("$@")
	[ -z "$MYSQL_DATABASE" ] || [ $# -gt 0 ] || in=(--database="$MYSQL_DATABASE")
	mysql --defaults-extra-file=<(login) --protocol=socket -uroot -hlocalhost --socket="$SOCKET" --comments "${in[@]}"
}

initialize() {
	[ -n "$MYSQL_ROOT_PASSWORD$MYSQL_ALLOW_EMPTY_PASSWORD$MYSQL_RANDOM_ROOT_PASSWORD" ] ||
		fail "Database is uninitialized and password option is not specified: set one of MYSQL_ROOT_PASSWORD,
	MYSQL_ALLOW_EMPTY_PASSWORD and MYSQL_RANDOM_ROOT_PASSWORD"
	[ "$MYSQL_USER" != root ] || fail 'MYSQL_USER="root": it is for a regular user'
	ls /docker-entrypoint-initdb.d/ >/dev/null

	say Note "Initializing database files"
	"$@" --initialize-insecure --default-time-zone=SYSTEM
	say Note "Starting temporary server"
	"$@" --daemonize --skip-networking --default-time-zone=SYSTEM --socket="$SOCKET" || fail "Unable to start server."
	known=
	accounts
	scripts
	[ -z "$MYSQL_ONETIME_PASSWORD" ] || sql --database=mysql <<<"ALTER USER 'root'@'%' PASSWORD EXPIRE;"
	say Note "Stopping temporary server"
	mysqladmin --defaults-extra-file=<(login) shutdown -uroot --socket="$SOCKET" || fail "Unable to shut down server."
	say Note "MySQL init process done. Ready for start up."
}

accounts() {
	local anywhere=
	[ -n "$MYSQL_INITDB_SKIP_TZINFO" ] || mysql_tzinfo_to_sql /usr/share/zoneinfo | sql --database=mysql
	if [ -n "$MYSQL_RANDOM_ROOT_PASSWORD" ]; then
		MYSQL_ROOT_PASSWORD=$(openssl rand -base64 24)
		say Note "GENERATED ROOT PASSWORD: $MYSQL_ROOT_PASSWORD"
	fi
	if [ -n "$MYSQL_ROOT_HOST" ] && [ "$MYSQL_ROOT_HOST" != localhost ]; then
		anywhere="CREATE USER 'root'@'$MYSQL_ROOT_HOST' IDENTIFIED BY '$MYSQL_ROOT_PASSWORD';
			GRANT ALL ON *.* TO 'root'@'$MYSQL_ROOT_HOST' WITH GRANT OPTION;"
	fi
	sql --database=mysql <<-EOF
		SET autocommit = 1;
		SET @@SESSION.SQL_LOG_BIN=0;
		ALTER USER 'root'@'localhost' IDENTIFIED BY '$MYSQL_ROOT_PASSWORD';
		GRANT ALL ON *.* TO 'root'@'localhost' WITH GRANT OPTION;
		FLUSH PRIVILEGES;
		$anywhere
		DROP DATABASE IF EXISTS test;
	EOF
	known=$MYSQL_ROOT_PASSWORD
	[ -z "$MYSQL_DATABASE" ] || sql --database=mysql <<<"CREATE DATABASE IF NOT EXISTS \`$MYSQL_DATABASE\`;"
	[ -n "$MYSQL_USER" ] && [ -n "$MYSQL_PASSWORD" ] || return 0
	sql --database=mysql <<<"CREATE USER '$MYSQL_USER'@'%' IDENTIFIED BY '$MYSQL_PASSWORD';"
	[ -z "$MYSQL_DATABASE" ] ||
		sql --database=mysql <<<"GRANT ALL ON \`${MYSQL_DATABASE//_/\\_}\`.* TO '$MYSQL_USER'@'%';"
}

scripts() {
	local script
	for script in /docker-entrypoint-initdb.d/*; do
		say Note "running $script"
		case "$script" in
		*.sh) if [ -x "$script" ]; then "$script"; else . "$script"; fi ;;
		*.sql) sql <"$script" ;;
		*.sql.bz2) bunzip2 -c "$script" | sql ;;
		*.sql.gz) gunzip -c "$script" | sql ;;
		*.sql.xz) xzcat "$script" | sql ;;
		*.sql.zst) zstd -dc "$script" | sql ;;
		*) say Warn "ignoring $script" >&2 ;;
		esac
	done
}

[ "${1:0:1}" != - ] || set -- mysqld "$@"
for argument; do
	case "$argument" in -'?' | --help | --print-defaults | -V | --version) exec "$@" ;; esac
done
[ "$1" = mysqld ] || exec "$@"

check_options "$@"
DATADIR=$(configured datadir "$@")
SOCKET=$(configured socket "$@")
from_file MYSQL_ROOT_HOST %
for name in MYSQL_DATABASE MYSQL_USER MYSQL_PASSWORD MYSQL_ROOT_PASSWORD; do from_file "$name"; done
own_folders "$@"
if [ "$(id -u)" = 0 ]; then
	say Note "Switching to dedicated user 'mysql'"
	exec gosu mysql "${BASH_SOURCE[0]}" "$@"
fi
[ -d "$DATADIR/mysql" ] || initialize "$@"
exec "$@"
