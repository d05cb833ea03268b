"""PostgreSQL's server: its arguments and files, and the statements that make its accounts."""

from collections.abc import Iterator

from nomad_stateful.databases.server import Grant, ServerSettings, ServerTask

_SECRETS = "${NOMAD_SECRETS_DIR}"
_MARK = "nomad_stateful_accounts"
"""Accounts of the program's making are members of this role, by which those are found that the settings lack."""
_MARKED = (
    f"FROM pg_auth_members JOIN pg_roles mark ON mark.oid = roleid AND mark.rolname = '{_MARK}' "
    "JOIN pg_roles one ON one.oid = member"
)
# Whatever the files of the server say, nothing keeps the statement that sets the password.
_UNSEEN = {
    "default_transaction_read_only": "off",
    "log_statement": "none",
    "log_transaction_sample_rate": "0",
    "log_duration": "off",
    "log_min_duration_statement": "-1",
    "log_min_duration_sample": "-1",
    "pg_stat_statements.track": "none",
    "pg_stat_statements.track_utility": "off",
}


def server_task(given: ServerSettings) -> ServerTask:
    """Returns what the server runs with."""
    password = given.item("root_password")
    config = [f"{name} = {value}\n" for name, value in sorted(given.config.items())]
    unseen = [f"SET {name} = '{value}'\n" for name, value in _UNSEEN.items()]
    return ServerTask(
        args=[
            *("--config_file=${NOMAD_TASK_DIR}/postgresql.conf", "--hba_file=${NOMAD_TASK_DIR}/pg_hba.conf"),
            *("--listen_addresses=*", "--unix_socket_directories=${NOMAD_ALLOC_DIR}/postgres", "--port=5432"),
            "--password_encryption=scram-sha-256",
            *given.args,
            *(["--ssl=off"] if given.tls == "off" else []),
        ],
        certificate_args=[
            *("--ssl=on", f"--ssl_cert_file={_SECRETS}/server-cert.pem", f"--ssl_key_file={_SECRETS}/server-key.pem")
        ],
        env={
            "POSTGRES_PASSWORD_FILE": f"{_SECRETS}/password",
            "START_NAME": given.job_id,
            "START_TLS": "given" if given.tls == "off" or given.certificate else "own",
        },
        files={
            # What initdb and a person wrote into the data directory holds where nothing else is set.
            "postgresql.conf": "".join([f"include_if_exists = '{given.data_dir}/postgresql.conf'\n", *config]),
            "pg_hba.conf": "\n".join(_logins(given)),
        },
        secrets={
            # The image reads it once, when the data directory is made; each start sets it (a volume may be restored, or
            # kept by a destroy that stopped).
            "password": password,
            "password.sql": "".join(
                [*unseen, "ALTER ROLE postgres LOGIN SUPERUSER CONNECTION LIMIT -1 VALID UNTIL 'infinity' "]
            )
            + f"PASSWORD '{password}'\n",
        },
        accounts={
            "accounts.sql": "".join(f"{statement}\n" for statement in _accounts(given)),
            # Each is asked for twice.
            "passwords": "".join(f"{given.item(f'password_{one.name}')}\n" * 2 for one in given.accounts),
        },
    )


def _logins(given: ServerSettings) -> list[str]:
    """Returns who may log in, by the first line that fits: an account of the program's into its own database alone."""
    encrypted = "hostssl" if given.tls == "required" else "host"
    own = [
        f'{encrypted} "{one.database}" "{one.name}" all scram-sha-256\nhost all "{one.name}" all reject'
        for one in given.accounts
        if one.database
    ]
    return ["local all all scram-sha-256", *own, f"{encrypted} all all all scram-sha-256", ""]


def _accounts(given: ServerSettings) -> Iterator[str]:
    """Yields the statements that make databases and accounts, which psql reads."""
    owners = _owners(given)
    yield _missing_role(_MARK)
    for name in given.databases:
        missing = f"NOT EXISTS (SELECT FROM pg_database WHERE datname = '{name}')"
        yield f"SELECT format('CREATE DATABASE %I', '{name}') WHERE {missing} \\gexec"
    for one in given.accounts:
        yield _missing_role(one.name)
        yield f'ALTER ROLE "{one.name}" LOGIN;\n\\password "{one.name}"\nGRANT {_MARK} TO "{one.name}";'
    names = [one.name for one in given.accounts]
    as_owner = [f"{name} {first}" for first, *others in owners.values() for name in others]
    yield f"SELECT format('ALTER ROLE %I NOLOGIN', one.rolname) {_MARKED} WHERE one.rolname NOT IN {_in(names)} \\gexec"
    yield (
        f"SELECT format('REVOKE %I FROM %I', pg_get_userbyid(held.roleid), one.rolname) {_MARKED} "
        f"JOIN pg_auth_members held ON held.member = one.oid AND held.roleid IN (SELECT one.oid {_MARKED}) "
        f"WHERE one.rolname || ' ' || pg_get_userbyid(held.roleid) NOT IN {_in(as_owner)} \\gexec"
    )
    for one in given.accounts:
        if not one.database:
            # A dump lacks no row that a policy hides, and no large object, which the role leaves out.
            yield f'GRANT {one.privileges} TO "{one.name}";\nALTER ROLE "{one.name}" BYPASSRLS;'
            yield f'ALTER ROLE "{one.name}" SET lo_compat_privileges = on;'
    for database, (first, *others) in owners.items():
        yield f'ALTER DATABASE "{database}" OWNER TO "{first}";'
        for name in others:
            # What they make is the owner's too.
            yield f'GRANT "{first}" TO "{name}";\nALTER ROLE "{name}" IN DATABASE "{database}" SET role = "{first}";'
    for one in given.accounts:
        if one.database and one.name not in owners.get(one.database, []):
            yield from _granted(one)


def _owners(given: ServerSettings) -> dict[str, list[str]]:
    """Returns who owns each database, and after it those that act as the owner."""
    owners: dict[str, list[str]] = {}
    for one in given.accounts:
        if one.privileges in ("ALL", "ALL PRIVILEGES"):
            owners.setdefault(one.database, []).append(one.name)
    return owners


def _granted(one: Grant) -> Iterator[str]:
    """Yields what gives an account its privileges on the tables that are there, and on those that the owner makes."""
    yield f'\\connect "{one.database}"\nALTER ROLE "{one.name}" IN DATABASE "{one.database}" RESET role;'
    of, to = "IN SCHEMA %1$I", f'TO "{one.name}"'
    now = (
        f'GRANT USAGE ON SCHEMA %1$I {to}; REVOKE ALL ON ALL TABLES {of} FROM "{one.name}"; '
        f"GRANT {one.privileges} ON ALL TABLES {of} {to}; GRANT USAGE ON ALL SEQUENCES {of} {to}"
    )
    theirs = "nspname !~ '^pg_' AND nspname <> 'information_schema'"
    yield f"SELECT format('{now}', nspname) FROM pg_namespace WHERE {theirs} \\gexec"
    by = "ALTER DEFAULT PRIVILEGES FOR ROLE %1$I"
    later = (
        f'{by} GRANT USAGE ON SCHEMAS {to}; {by} REVOKE ALL ON TABLES FROM "{one.name}"; '
        f"{by} GRANT {one.privileges} ON TABLES {to}; {by} GRANT USAGE ON SEQUENCES {to}"
    )
    here = "datname = current_database()"
    yield f"SELECT format('{later}', pg_get_userbyid(datdba)) FROM pg_database WHERE {here} \\gexec"


def _missing_role(name: str) -> str:
    missing = f"NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{name}')"
    return f"SELECT format('CREATE ROLE %I', '{name}') WHERE {missing} \\gexec"


def _in(names: list[str]) -> str:
    """Returns a list for NOT IN, which must have something in it."""
    return f"({', '.join(repr(name) for name in ['', *names])})"
