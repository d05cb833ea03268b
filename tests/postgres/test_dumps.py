"""Dumps of a real server, and what a restore leaves where it ends, is cut off, or is given something else."""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from os import chown
from pathlib import Path
from typing import Any

import pg8000.dbapi
import pytest

from tests.certificates import Authority
from tests.mysql.place import stop
from tests.postgres.dumps import OBJECTS, Dumps, running
from tests.postgres.server import ACCOUNTS, PASSWORD, PASSWORDS
from tests.unit.databases.postgres.test_operations import answering, asks, request

pytestmark = [pytest.mark.sandbox, pytest.mark.nomad]


@pytest.fixture(scope="module")
def server(image: Path, nomad: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dumps]:
    with running(image, tmp_path_factory.mktemp("server"), nomad) as made:
        yield made


@pytest.fixture
def dumps(server: Dumps) -> Dumps:
    """The database shop, and no dump."""
    server.fill()
    return server


@contextmanager
def beside(*works: Callable[[threading.Event], None]) -> Iterator[None]:
    """A context beside which works go on, in a thread each, until the event that they are given."""
    ended = threading.Event()
    threads = [threading.Thread(target=work, args=(ended,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def databases(dumps: Dumps) -> list[str]:
    rows = dumps.server.query("SELECT datname FROM pg_database WHERE datname NOT LIKE 'template_' ORDER BY datname")
    return [name for (name,) in rows]


def roles(dumps: Dumps) -> list[str]:
    rows = dumps.server.query("SELECT rolname FROM pg_roles WHERE rolname !~ '^pg_' ORDER BY rolname")
    return [name for (name,) in rows]


def test_a_dump_is_restored_as_it_was_into_a_server_that_lost_the_database(dumps: Dumps) -> None:
    before, known = dumps.objects(), roles(dumps)
    dumped = dumps.dump()
    assert dumped.returncode == 0, dumped.stderr
    [name] = dumps.names
    assert dumped.stdout == f"{name} holds shop\n"
    dumps.app("INSERT INTO orders VALUES (3, 'later')")
    dumps.server.query("DROP DATABASE shop WITH (FORCE)")
    restored = dumps.restore()
    assert restored.returncode == 0, restored.stderr
    assert restored.stdout == f"{name} is restored\n"
    assert dumps.objects() == before
    assert databases(dumps) == ["postgres", "shop"]
    assert roles(dumps) == known


@pytest.mark.nightly
def test_a_restore_replaces_what_is_there_while_clients_come_back_all_the_time(dumps: Dumps) -> None:
    before = dumps.objects()
    assert dumps.dump().returncode == 0
    dumps.app("DELETE FROM orders")
    seen = set()

    def come_back(ended: threading.Event) -> None:
        while not ended.is_set():
            with suppress(pg8000.dbapi.Error, OSError):
                seen.add(tuple(row[0] for row in dumps.app("SELECT id FROM orders ORDER BY id")))

    with beside(*[come_back] * 4):
        restored = dumps.restore()
    assert restored.returncode == 0, restored.stderr
    assert dumps.objects() == before
    # All of it, or nothing of it.
    assert seen <= {(), (1, 2)}


def test_a_dispatch_that_has_begun_before_changes_nothing(dumps: Dumps) -> None:
    assert dumps.dump().returncode == 0
    dispatch = {"NOMAD_JOB_ID": f"postgres-backup-restore/dispatch-{time.time():.0f}-0a1b2c3d"}
    restored = dumps.restore(**dispatch)
    assert restored.returncode == 0, restored.stderr
    dumps.app("DELETE FROM orders")
    changed = dumps.objects()
    refused = dumps.restore(**dispatch)
    assert refused.returncode != 0
    assert "has begun before, and was lost with its client or stopped: it does not begin again" in refused.stderr
    assert dumps.objects() == changed


HELD = "CREATE OR REPLACE FUNCTION is_fine(what bytea) RETURNS bool LANGUAGE sql AS 'SELECT pg_sleep(5) IS NOT NULL'"
STAGES = {
    "made": "SELECT 1 FROM pg_database WHERE datname LIKE 'nomad-stateful-%'",
    "loading": "SELECT 1 FROM pg_stat_activity WHERE usename LIKE 'nomad-stateful-%' AND query LIKE '%COPY %'",
}


@pytest.mark.nightly
def test_a_restore_that_is_killed_anywhere_changes_nothing_and_the_next_one_clears_up(dumps: Dumps) -> None:
    dumps.app(HELD)
    before, known = dumps.objects(), roles(dumps)
    assert dumps.dump().returncode == 0
    dumps.app("DELETE FROM orders")
    changed = dumps.objects()
    for statement in STAGES.values():
        process = dumps.server.place.start(dumps.task("restore", "postgres", PASSWORD), NOMAD_META_dump="latest")
        deadline = time.monotonic() + 60
        while not dumps.server.query(statement):
            assert process.poll() is None, dumps.server.log[-2000:]
            assert time.monotonic() < deadline
        stop(process, kill=True)
        assert dumps.objects() == changed
        assert [name for name in databases(dumps) if name.startswith("nomad-stateful-")]
    restored = dumps.restore()
    assert restored.returncode == 0, restored.stderr
    assert dumps.objects() == before
    assert (databases(dumps), roles(dumps)) == (["postgres", "shop"], known)


REFUSES = (
    "CREATE OR REPLACE FUNCTION is_fine(what bytea) RETURNS bool LANGUAGE plpgsql AS 'BEGIN IF current_user LIKE "
    "''nomad-stateful-%'' THEN RAISE ''not in a restore''; END IF; RETURN true; END'"
)


@pytest.mark.nightly
def test_what_the_server_refuses_half_way_changes_nothing(dumps: Dumps) -> None:
    dumps.app(REFUSES)
    assert dumps.dump().returncode == 0
    [name] = dumps.names
    before, known, there = dumps.objects(), roles(dumps), set(dumps.folder.iterdir())
    restored = dumps.restore()
    assert restored.returncode != 0
    assert "is restored" not in restored.stdout
    assert "not in a restore" in restored.stderr
    assert restored.stderr.endswith(f"{name} cannot be restored (why is above): nothing is changed\n")
    assert (dumps.objects(), roles(dumps), databases(dumps)) == (before, known, ["postgres", "shop"])
    assert set(dumps.folder.iterdir()) == there


def damaged(content: bytes) -> bytes:
    middle = content.index(b"PGDMP") + 1000
    return content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]


def without_its_end(content: bytes) -> bytes:
    """A whole archive that lacks its last file."""
    return with_members(content, lambda members: members.pop("version"))


def with_members(content: bytes, change: Callable[[dict[str, bytes]], object], *, summed: bool = False) -> bytes:
    """A dump with other files in it."""
    with tarfile.open(fileobj=io.BytesIO(content)) as dump:
        members = {one.name: dump.extractfile(one).read() for one in dump}  # type: ignore[union-attr]
    change(members)
    if summed:
        lines = [f"{hashlib.sha256(members[name]).hexdigest()}  {name}\n" for name in members if name != "sums"]
        members["sums"] = "".join(lines).encode()
    changed = io.BytesIO()
    with tarfile.open(fileobj=changed, mode="w") as dump:
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            dump.addfile(member, io.BytesIO(text))
    return changed.getvalue()


@pytest.mark.nightly
@pytest.mark.parametrize("harm", [damaged, without_its_end])
def test_a_dump_that_is_not_whole_is_refused_before_anything_is_done(dumps: Dumps, harm: object) -> None:
    assert dumps.dump().returncode == 0
    [name] = dumps.names
    assert callable(harm)
    (dumps.folder / name).write_bytes(harm((dumps.folder / name).read_bytes()))
    before = dumps.objects()
    restored = dumps.restore()
    assert restored.returncode != 0
    assert restored.stderr.endswith(f"{name} is not whole: nothing is changed. Restore another dump\n")
    assert dumps.objects() == before


@pytest.mark.parametrize(
    "content", [b"", b"-- MySQL dump 10.13\n-- Dump completed\n", b"\\! touch /dumps/ran\n", b"DROP DATABASE shop;\n"]
)
def test_a_dump_of_other_making_is_refused(dumps: Dumps, content: bytes) -> None:
    name, before = dumps.put(content), dumps.objects()
    restored = dumps.restore(name)
    assert restored.returncode != 0
    assert f"{name} is no dump that this stack's jobs made of PostgreSQL" in restored.stderr
    assert dumps.objects() == before
    assert not (dumps.folder / "ran").exists()


def test_a_dump_of_a_newer_major_version_is_refused(dumps: Dumps) -> None:
    assert dumps.dump().returncode == 0
    [name] = dumps.names
    content = (dumps.folder / name).read_bytes()
    newer = with_members(content, lambda members: members.update(version=b"190001\n"), summed=True)
    (dumps.folder / name).write_bytes(newer)
    restored = dumps.restore()
    assert f"{name} is from PostgreSQL 19, and the server is of 18: nothing is changed" in restored.stderr


OWNED_BY_DBA = {
    "a function": ["CREATE FUNCTION own() RETURNS int LANGUAGE sql AS 'SELECT 1'", "ALTER FUNCTION own() OWNER TO dba"],
    "a table": ["CREATE TABLE own (t text)", "ALTER TABLE own OWNER TO dba"],
    "an event trigger": [
        "CREATE FUNCTION told() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'",
        "ALTER FUNCTION told() OWNER TO app",
        "CREATE EVENT TRIGGER tells ON ddl_command_end EXECUTE FUNCTION told()",
    ],
    "nothing": [],
}


@pytest.mark.nightly
@pytest.mark.parametrize("owned", OWNED_BY_DBA)
def test_a_dump_of_an_older_major_version_in_which_a_superuser_owns_something_is_refused(
    dumps: Dumps, owned: str
) -> None:
    dumps.server.query("CREATE ROLE dba SUPERUSER")
    try:
        for statement in OWNED_BY_DBA[owned]:
            dumps.shop(statement)
        assert dumps.dump().returncode == 0
        [name] = dumps.names
        content = (dumps.folder / name).read_bytes()
        older = with_members(content, lambda members: members.update(version=b"170001\n"), summed=True)
        (dumps.folder / name).write_bytes(older)
        before = dumps.objects()
        restored = dumps.restore()
        if owned == "nothing":
            assert restored.returncode == 0, restored.stderr
        else:
            assert restored.returncode != 0
            assert "shop has something of a superuser" in restored.stderr
        assert dumps.objects() == before
    finally:
        dumps.server.query("DROP DATABASE shop WITH (FORCE)")
        dumps.server.query("DROP ROLE dba")


@pytest.mark.nightly
def test_a_dump_of_an_earlier_release_is_restored(dumps: Dumps) -> None:
    before = dumps.objects()
    assert dumps.dump().returncode == 0
    [name] = dumps.names
    content = (dumps.folder / name).read_bytes()
    (dumps.folder / name).write_bytes(with_members(content, lambda members: members.pop("showing"), summed=True))
    restored = dumps.restore()
    assert restored.returncode == 0, restored.stderr
    assert dumps.objects() == before


@pytest.mark.nightly
def test_code_of_an_account_runs_neither_as_the_superuser_nor_as_the_backup_account(dumps: Dumps) -> None:
    dumps.app("CREATE TABLE ran (who text, session text, super bool)")
    record = "INSERT INTO public.ran SELECT current_user, session_user, rolsuper OR rolbypassrls FROM pg_roles "
    record += "WHERE rolname IN (current_user, session_user)"
    dumps.app(
        "CREATE OR REPLACE FUNCTION is_fine(what bytea) RETURNS bool LANGUAGE plpgsql AS "
        f"$$ BEGIN {record}; RETURN true; END $$"
    )
    # What a statement without search_path would take for the server's own.
    for left, right in (("name", "text"), ("text", "text"), ("name", "name"), ("oid", "oid")):
        dumps.app(
            f"CREATE FUNCTION same_{left}_{right}({left}, {right}) RETURNS bool LANGUAGE plpgsql AS "
            f"$$ BEGIN {record}; RETURN $1::text OPERATOR(pg_catalog.=) $2::text; END $$"
        )
        dumps.app(f"CREATE OPERATOR public.= (LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = same_{left}_{right})")
        dumps.app(f"CREATE OPERATOR public.<> (LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = same_{left}_{right})")
    dumps.app("ALTER ROLE app SET search_path = public, pg_catalog")
    dumps.server.query("ALTER DATABASE shop SET search_path = public, pg_catalog")
    try:
        assert dumps.dump().returncode == 0
        restored = dumps.restore()
        assert restored.returncode == 0, restored.stderr
        dumps.server.make_accounts(
            databases=["shop"], accounts=[{"name": "app", "privileges": "ALL", "database": "shop"}]
        )
        rows = dumps.server.query("SELECT who, super FROM public.ran", database="shop")
        assert len(rows) >= 2
        assert not any(superuser for _, superuser in rows)
        assert {who for who, _ in rows if not who.startswith("nomad-stateful-")} == set()
    finally:
        dumps.server.query("ALTER ROLE app RESET search_path")


@pytest.mark.nightly
def test_no_password_is_in_a_statement_an_argument_or_the_log(dumps: Dumps) -> None:
    dumps.server.query("ALTER SYSTEM SET log_statement = 'all'")
    dumps.server.query("SELECT pg_reload_conf()")
    try:
        dumps.fill()
        assert dumps.dump().returncode == 0
        assert dumps.restore().returncode == 0
    finally:
        dumps.server.query("ALTER SYSTEM RESET ALL")
        dumps.server.query("SELECT pg_reload_conf()")
    assert "SCRAM-SHA-256$4096" in dumps.server.log
    for password in (PASSWORD, PASSWORDS["password_app"], PASSWORDS["password_backup"]):
        assert password not in dumps.server.log


@pytest.mark.nightly
def test_an_account_enters_its_own_database_alone_and_has_what_was_granted(dumps: Dumps) -> None:
    dumps.server.query("CREATE DATABASE other")
    try:
        with pytest.raises(pg8000.dbapi.DatabaseError, match="rejects connection"):
            dumps.server.query("SELECT 1", user="app", password=PASSWORDS["password_app"], database="other")
    finally:
        dumps.server.query("DROP DATABASE other")
    dumps.app("CREATE TABLE later (i int)")
    report = {"user": "report", "password": PASSWORDS["password_report"], "database": "shop"}
    for table in ("orders", "later"):
        dumps.server.query(f"SELECT * FROM {table}", **report)
        with pytest.raises(pg8000.dbapi.DatabaseError, match="permission denied"):
            dumps.server.query(f"DELETE FROM {table}", **report)


@pytest.mark.nightly
def test_a_role_of_a_dump_that_the_server_lacks_is_made_without_a_login(dumps: Dumps) -> None:
    dumps.server.query("CREATE ROLE alice LOGIN CREATEROLE")
    dumps.shop("CREATE TABLE hers (i int)")
    dumps.shop("ALTER TABLE hers OWNER TO alice")
    assert dumps.dump().returncode == 0
    dumps.server.query("DROP DATABASE shop WITH (FORCE)")
    dumps.server.query("DROP ROLE alice")
    restored = dumps.restore()
    assert restored.returncode == 0, restored.stderr
    assert "the role alice is made, without a login\n" in restored.stdout
    assert dumps.server.query("SELECT rolcanlogin, rolcreaterole FROM pg_roles WHERE rolname = 'alice'") == [
        (False, False)
    ]
    assert dumps.shop("SELECT tableowner FROM pg_tables WHERE tablename = 'hers'") == [("alice",)]
    dumps.server.query("DROP DATABASE shop WITH (FORCE)")
    dumps.server.query("DROP ROLE alice")


@pytest.mark.nightly
def test_the_servers_own_database_is_dumped_once_somebody_keeps_tables_in_it(dumps: Dumps) -> None:
    dumps.server.query("CREATE SCHEMA nomad_stateful")
    dumps.server.query("CREATE TABLE nomad_stateful.verification (i int)")
    assert dumps.dump().stdout.endswith("holds shop\n")
    dumps.server.query("CREATE TABLE kept AS SELECT 1 AS i")
    try:
        for name in dumps.names:
            (dumps.folder / name).unlink()
        assert dumps.dump().stdout.endswith("holds postgres shop\n")
        dumps.server.query("DROP TABLE kept")
        with closing(dumps.server.session()):
            restored = dumps.restore()
        assert restored.returncode == 0, restored.stderr
        assert dumps.server.query("SELECT i FROM kept") == [(1,)]
    finally:
        dumps.server.query("DROP TABLE IF EXISTS kept")
        dumps.server.query("DROP SCHEMA nomad_stateful CASCADE")


@pytest.mark.nightly
def test_a_dump_and_a_restore_tell_the_password_to_no_server_of_another_authority(dumps: Dumps, tmp_path: Path) -> None:
    assert dumps.dump().returncode == 0
    another = Authority.made(tmp_path / "another").read("ca.pem")
    for spec, account, password in (
        ("dump", "backup", PASSWORDS["password_backup"]),
        ("restore", "postgres", PASSWORD),
    ):
        found = dumps.task(spec, account, password, ca=another)
        done = dumps.server.place.run(found, KEEP="7", NOMAD_META_dump="latest")
        assert done.returncode != 0
        assert "certificate verify failed" in done.stderr


@pytest.mark.nightly
def test_nor_to_one_that_asks_for_it_in_clear_text(dumps: Dumps) -> None:
    with answering(asks(request(3))) as (port, told):
        found = dumps.task("dump", "backup", PASSWORDS["password_backup"], tls="off", port=port)
        done = dumps.server.place.run(found, KEEP="7")
    assert done.returncode != 0
    assert 'authentication method requirement "scram-sha-256" failed' in done.stderr
    assert PASSWORDS["password_backup"].encode() not in bytes(told)


DOMAIN = "CREATE DOMAIN fine AS text CHECK (public.is_ok(VALUE))"
OK = (
    "CREATE FUNCTION is_ok(what text) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN IF EXISTS (SELECT FROM "
    "pg_catalog.pg_roles WHERE rolname IN (session_user, current_user) AND (rolsuper OR rolname = 'app')) AND "
    "current_setting('shop.made', true) IS NULL THEN RAISE 'called as %, %', session_user, current_user; END IF; "
    "RETURN true; END $$"
)
CALLED_BY_A_RESTORE = {
    "aggregate": "CREATE FUNCTION add(fine, text) RETURNS fine LANGUAGE sql AS 'SELECT $1'; "
    "CREATE AGGREGATE joined (text) (SFUNC = add, STYPE = fine, INITCOND = 'a')",
    "partition key": "CREATE TABLE parts (t fine) PARTITION BY LIST (t); CREATE TABLE part PARTITION OF parts "
    "FOR VALUES IN ('a'); INSERT INTO parts VALUES ('a')",
    "generated column": "CREATE TABLE made (g bool GENERATED ALWAYS AS (public.is_ok('a')) STORED, i int); "
    "INSERT INTO made (i) VALUES (1)",
    "check of a row": "CREATE TABLE checked (i int); CREATE FUNCTION is_whole(checked) RETURNS bool LANGUAGE sql AS "
    "$$ SELECT public.is_ok('a') $$; ALTER TABLE checked ADD CONSTRAINT itself CHECK (is_whole(checked)); "
    "INSERT INTO checked VALUES (1)",
    "index": "CREATE TABLE indexed (t text); INSERT INTO indexed VALUES ('a'); "
    "CREATE INDEX by_ok ON indexed (public.is_ok(t))",
    "default and domain": "CREATE TABLE defaulted (t fine DEFAULT 'a'); INSERT INTO defaulted VALUES ('a')",
    "materialized view": "CREATE MATERIALIZED VIEW shown AS SELECT public.is_ok('a')",
}


@pytest.mark.parametrize("what", CALLED_BY_A_RESTORE)
def test_what_an_account_has_written_is_called_by_a_restore_as_a_role_without_rights(dumps: Dumps, what: str) -> None:
    dumps.server.query("ALTER DATABASE shop SET \"shop.made\" TO 'yes'")
    for statement in (OK, DOMAIN, *CALLED_BY_A_RESTORE[what].split("; ")):
        dumps.app(statement)
    dumps.server.query('ALTER DATABASE shop RESET "shop.made"')
    dumped = dumps.dump()
    assert dumped.returncode == 0, dumped.stderr
    restored = dumps.restore()
    assert restored.returncode == 0, restored.stderr


@pytest.mark.nightly
def test_objects_of_the_superuser_and_of_any_name_are_restored(dumps: Dumps) -> None:
    dumps.shop('CREATE SCHEMA "a b"')
    dumps.shop("CREATE TABLE own (i int PRIMARY KEY)")
    dumps.shop("ALTER TABLE orders ADD CONSTRAINT theirs FOREIGN KEY (id) REFERENCES own NOT VALID")
    dumps.shop("CREATE FUNCTION plain(text) RETURNS text LANGUAGE internal AS 'upper'")
    dumps.shop("CREATE CAST (orders AS text) WITH INOUT")
    dumps.shop("CREATE PUBLICATION every FOR ALL TABLES")
    dumps.shop("CREATE FUNCTION told() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'")
    dumps.shop("CREATE EVENT TRIGGER tells ON ddl_command_end EXECUTE FUNCTION told()")
    dumps.app("COMMENT ON TABLE orders IS E'two\nlines'")
    dumps.app('CREATE TABLE "x"" OWNER TO ""y" (i serial)')
    dumps.app("GRANT SELECT ON orders TO report")
    dumps.shop("ALTER SCHEMA public OWNER TO app")
    known = (
        "SELECT nspname, nspowner::regrole::text FROM pg_namespace ORDER BY 1",
        "SELECT relname, relowner::regrole::text, relacl::text FROM pg_class WHERE relkind IN ('r', 'S') ORDER BY 1",
        "SELECT proname, proowner::regrole::text FROM pg_proc WHERE oid > 16384 ORDER BY 1",
        "SELECT obj_description('orders'::regclass), (SELECT count(*) FROM pg_event_trigger)",
        "SELECT pubname, pubowner::regrole::text, puballtables FROM pg_publication",
    )
    before = [dumps.shop(statement) for statement in known]
    dumped = dumps.dump()
    assert dumped.returncode == 0, dumped.stderr
    restored = dumps.restore()
    assert restored.returncode == 0, restored.stderr
    assert [dumps.shop(statement) for statement in known] == before


IN_A_COMMENT = (
    "DROP FUNCTION theirs.admin(); EXECUTE E'CREATE FUNCTION theirs.admin() RETURNS text LANGUAGE sql SECURITY DEFINER "
    "AS ''/* of\\n{} */ SELECT rolpassword FROM pg_catalog.pg_authid; /* ;\\n*/ SELECT ''''mine'''' '''"
)
ATTACKS = {
    "a line like the head of an entry": IN_A_COMMENT.format("-- Name:"),
    "a line like what fills a view": IN_A_COMMENT.format("REFRESH MATERIALIZED VIEW"),
    "a line like a command of psql": IN_A_COMMENT.format("\\\\restrict"),
    "a function of the superuser": "DROP FUNCTION theirs.admin(); CREATE FUNCTION theirs.admin() RETURNS text "
    "LANGUAGE sql SECURITY DEFINER AS 'SELECT rolpassword FROM pg_catalog.pg_authid'",
    "the function of a login trigger": "DROP FUNCTION theirs.told(); EXECUTE E'CREATE FUNCTION theirs.told() RETURNS "
    "event_trigger LANGUAGE plpgsql AS ''BEGIN IF current_user = ''''postgres'''' THEN ALTER ROLE app SUPERUSER; "
    "END IF; END'''",
    "a trigger on its table": "CREATE TRIGGER more BEFORE INSERT ON public.own FOR EACH ROW "
    "EXECUTE FUNCTION public.mark()",
    "a setting of the database": "EXECUTE format('ALTER DATABASE %I SET search_path TO evil', current_database())",
    "a privilege on the database": "EXECUTE format('GRANT ALL ON DATABASE %I TO report', current_database())",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_a_users_code_changes_while_a_restore_runs_comes_into_no_database(dumps: Dumps, attack: str) -> None:
    dumps.app("CREATE SCHEMA theirs")
    dumps.shop(
        "CREATE FUNCTION theirs.admin() RETURNS text LANGUAGE sql SECURITY DEFINER AS $$/* of\n*/ SELECT 'mine' $$"
    )
    dumps.shop("CREATE FUNCTION theirs.told() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'")
    dumps.shop("CREATE EVENT TRIGGER tells ON login EXECUTE FUNCTION theirs.told()")
    dumps.shop("CREATE TABLE own (t text)")
    dumps.app(
        "CREATE OR REPLACE FUNCTION is_fine(what bytea) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN "
        "IF current_user LIKE 'nomad-stateful-%' AND what = 'a' THEN "
        f"{ATTACKS[attack]}; END IF; RETURN true; END $$"
    )
    dumped = dumps.dump()
    assert dumped.returncode == 0, dumped.stderr
    known = ("SELECT pg_get_functiondef('theirs.admin'::regproc)", OBJECTS["settings"], OBJECTS["database"])
    before = [dumps.shop(statement) for statement in known]
    restored = dumps.restore()
    assert dumps.server.query("SELECT rolname FROM pg_roles WHERE rolsuper") == [("postgres",)]
    assert [dumps.shop(statement) for statement in known] == before
    assert dumps.shop("SELECT tgname FROM pg_trigger WHERE tgrelid = 'own'::regclass") == []
    if "the database" not in attack:
        assert restored.returncode != 0
        assert "what was made is not sure to be what was dumped" in restored.stderr


RISES = (
    (
        "CREATE FUNCTION rises() RETURNS void LANGUAGE plpgsql AS $$ BEGIN IF current_user = 'postgres' THEN "
        "ALTER ROLE app SUPERUSER; END IF; END $$"
    ),
    (
        "CREATE FUNCTION evil(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS "
        "'BEGIN PERFORM public.rises(); RETURN $1; END'"
    ),
    (
        "CREATE OR REPLACE FUNCTION is_fine(what bytea) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN "
        "IF current_user LIKE 'nomad-stateful-%' AND what = 'a' THEN CREATE INDEX ON public.own (public.evil(t)); "
        "INSERT INTO public.own SELECT n::text FROM generate_series(1, 500) n; END IF; RETURN true; END $$"
    ),
)


def held_once_handed_over(dumps: Dumps, ended: threading.Event) -> None:
    """Holds a restore whose superuser owns the table, until the server has counted that table's rows."""
    while not ended.wait(0.02):
        for name in [name for name in databases(dumps) if name.startswith("nomad-stateful-")]:
            with suppress(pg8000.dbapi.Error, OSError), closing(dumps.server.session(database=name)) as session:
                cursor = session.cursor()
                session.autocommit = False
                cursor.execute("LOCK public.own IN ACCESS SHARE MODE")
                cursor.execute("SELECT FROM pg_tables WHERE tablename = 'own' AND tableowner = 'postgres'")
                if cursor.rowcount != 1:
                    continue
                cursor.execute("LOCK public.orders IN ACCESS EXCLUSIVE MODE")
                counted = "SELECT last_autoanalyze FROM pg_stat_user_tables WHERE relname = 'own'"
                while not ended.wait(0.1) and dumps.server.query(counted, database=name) == [(None,)]:
                    pass


def test_no_owner_has_what_a_users_code_made_while_a_restore_runs(dumps: Dumps) -> None:
    """The server calls an index by itself, with the rights of who owns its table."""
    dumps.shop("CREATE TABLE own (t text)")
    for statement in RISES:
        dumps.app(statement)
    assert dumps.dump().returncode == 0
    dumps.server.query("ALTER SYSTEM SET autovacuum_naptime = 1")
    dumps.server.query("SELECT pg_reload_conf()")
    try:
        with beside(partial(held_once_handed_over, dumps)):
            restored = dumps.restore()
            assert restored.returncode != 0
            assert "what was made is not sure to be what was dumped" in restored.stderr
            assert dumps.server.query("SELECT rolname FROM pg_roles WHERE rolsuper") == [("postgres",)]
    finally:
        dumps.server.query("ALTER ROLE app NOSUPERUSER")
        dumps.server.query("ALTER SYSTEM RESET ALL")
        dumps.server.query("SELECT pg_reload_conf()")


class Intruder(threading.Thread):
    """Logs in by the password that code gave a restore's role, and drops what its first database has."""

    def __init__(self, dumps: Dumps) -> None:
        super().__init__()
        self.dumps = dumps
        self.ended = threading.Event()
        self.sessions: dict[tuple[str, str], Any] = {}
        self.did: list[str] = []

    def run(self) -> None:
        while not self.ended.wait(0.05):
            been_in = bool(self.sessions)
            self._log_in()
            self._drop()
            if been_in:
                with suppress(pg8000.dbapi.Error):
                    self.dumps.server.query("CREATE ROLE been_in")

    def end(self) -> None:
        self.ended.set()
        self.join()
        for session in self.sessions.values():
            with suppress(pg8000.dbapi.Error, OSError):
                session.close()

    def _log_in(self) -> None:
        names = self.dumps.server.query(
            "SELECT rolname, datname FROM pg_roles, pg_database WHERE rolname LIKE 'nomad-stateful-%' "
            "AND datname ~ '^nomad-stateful-[0-9a-f]+-'"
        )
        for role, database in {(role, database) for role, database in names} - self.sessions.keys():
            with suppress(pg8000.dbapi.Error, OSError):
                self.sessions[role, database] = self.dumps.server.session(role, "known", database)

    def _drop(self) -> None:
        """Once the second is there, the first is whole."""
        databases = {name for (name,) in self.dumps.server.query("SELECT datname FROM pg_database")}
        for (_, database), session in self.sessions.items():
            if database.endswith("-1") and database.removesuffix("1") + "2" in databases:
                with suppress(pg8000.dbapi.Error, OSError):
                    session.cursor().execute("DROP SCHEMA public CASCADE")
                    self.did.append(database)


def been_in(dumps: Dumps) -> None:
    """Has code of an account give the restore's role a password, and wait for its user to log in."""
    in_a_restore = "LANGUAGE plpgsql AS $$ BEGIN IF current_user LIKE 'nomad-stateful-%' THEN"
    dumps.app(
        f"CREATE FUNCTION gives(i int) RETURNS bool {in_a_restore} "
        "EXECUTE format('ALTER ROLE %I PASSWORD ''known''', current_user); END IF; RETURN true; END $$"
    )
    dumps.app(
        f"CREATE FUNCTION waits(i int) RETURNS bool {in_a_restore} FOR tries IN 1..600 LOOP "
        "EXIT WHEN EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'been_in'); PERFORM pg_sleep(0.05); "
        "END LOOP; END IF; RETURN true; END $$"
    )
    for name, function in (("a", "gives"), ("b", "waits")):
        dumps.app(f"CREATE TABLE {name} (i int CHECK (public.{function}(i)))")
        dumps.app(f"INSERT INTO {name} VALUES (1)")


@pytest.mark.parametrize("other", ["accounts", "stock"])
def test_who_logs_in_as_a_role_of_a_restore_reaches_no_database_that_is_whole(dumps: Dumps, other: str) -> None:
    """Neither another's that was loaded before, nor its own after the load."""
    dumps.server.query("CREATE ROLE bob LOGIN PASSWORD 'b'")
    dumps.server.query(f"CREATE DATABASE {other} OWNER bob")
    dumps.server.query("CREATE TABLE money AS SELECT 7 AS i", user="bob", password="b", database=other)
    been_in(dumps)
    dumped = dumps.dump()
    assert dumped.returncode == 0, dumped.stderr
    intruder = Intruder(dumps)
    intruder.start()
    try:
        restored = dumps.restore()
        intruder.end()
        assert restored.returncode == 0, restored.stderr
        # It was let into the database whose code it is.
        assert {database == role for role, database in intruder.sessions} == {True}
        assert intruder.did == []
        assert dumps.server.query("SELECT i FROM money", database=other) == [(7,)]
        assert dumps.app("SELECT id FROM orders ORDER BY id") == [(1,), (2,)]
        assert not [name for name in (*databases(dumps), *roles(dumps)) if name.startswith("nomad-stateful-")]
    finally:
        intruder.end()
        dumps.server.query(f"DROP DATABASE {other} WITH (FORCE)")
        dumps.server.query("DROP ROLE bob")
        dumps.server.query("DROP ROLE IF EXISTS been_in")


@pytest.mark.nightly
def test_a_database_without_anything_in_it_is_restored(dumps: Dumps) -> None:
    dumps.server.query("CREATE DATABASE bare")
    try:
        dumped = dumps.dump()
        assert dumped.returncode == 0, dumped.stderr
        restored = dumps.restore()
        assert restored.returncode == 0, restored.stderr
        assert databases(dumps) == ["bare", "postgres", "shop"]
        assert dumps.app("SELECT id FROM orders ORDER BY id") == [(1,), (2,)]
    finally:
        dumps.server.query("DROP DATABASE bare WITH (FORCE)")


def test_no_account_is_let_into_the_database_that_a_restore_makes(dumps: Dumps) -> None:
    dumps.server.query("CREATE ROLE bob LOGIN PASSWORD 'b'")
    assert dumps.dump().returncode == 0
    said: list[str] = []

    def logs_in(ended: threading.Event) -> None:
        while not ended.is_set():
            for name in [name for name in databases(dumps) if re.fullmatch(r"nomad-stateful-[0-9a-f]+-1", name)]:
                try:
                    dumps.server.session("bob", "b", name).close()
                    said.append("let in")
                except (pg8000.dbapi.Error, OSError) as error:
                    said.append(str(error))

    try:
        with beside(*[logs_in] * 3):
            restored = dumps.restore()
    finally:
        dumps.server.query("DROP ROLE bob")
    assert restored.returncode == 0, restored.stderr
    assert said
    assert "let in" not in said


DELAY_S = 20
IN_ITS_DELAY = (
    "SELECT pid FROM pg_locks l JOIN pg_database d ON objid = d.oid AND classid = 'pg_database'::regclass "
    "WHERE datname LIKE 'nomad-stateful-%' AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.pid = l.pid AND "
    "a.datname = d.datname)"
)


def late_log_in(dumps: Dumps, did: list[str], ended: threading.Event) -> None:
    """Logs in as a restore's role, which the server lists only after a delay, and works then."""
    options = {"startup_params": {"options": f"-c post_auth_delay={DELAY_S}"}}
    while not ended.wait(0.05):
        for name in [name for name in databases(dumps) if name.startswith("nomad-stateful-")]:
            with (
                suppress(pg8000.dbapi.Error, OSError),
                closing(dumps.server.session(name, "known", name, **options)) as one,
            ):
                one.cursor().execute("SELECT 1")
                did.append(name)


def test_who_logs_in_as_a_role_of_a_restore_with_a_delay_is_out_as_well(dumps: Dumps) -> None:
    been_in(dumps)
    assert dumps.dump().returncode == 0
    did: list[str] = []

    def tells(ended: threading.Event) -> None:
        while not ended.wait(0.05):
            if dumps.server.query(IN_ITS_DELAY):
                dumps.server.query("CREATE ROLE been_in")
                return

    try:
        with beside(partial(late_log_in, dumps, did), tells):
            restored = dumps.restore()
            assert restored.returncode == 0, restored.stderr
            assert dumps.server.query("SELECT rolname FROM pg_roles WHERE rolname = 'been_in'") == [("been_in",)]
            assert did == []
            assert not [name for name in (*databases(dumps), *roles(dumps)) if name.startswith("nomad-stateful-")]
    finally:
        dumps.server.query("DROP ROLE IF EXISTS been_in")


@pytest.mark.parametrize("name", ["a\nALTER ROLE app SUPERUSER;\nb", "a\n\\! touch /dumps/ran\nb"])
def test_a_name_that_is_statements_is_refused(dumps: Dumps, name: str) -> None:
    dumps.app(f'CREATE TABLE "{name}" (i int)')
    refused = dumps.dump()
    assert refused.returncode != 0
    assert "shop cannot be dumped: rename what has a line break" in refused.stderr
    assert dumps.names == []


RUNS = "x\nCREATE DATABASE y WITH TEMPLATE = \\! touch /dumps/ran #"
CONNECTS = "x\n\\connect postgres\n\n\\! touch /dumps/ran"


@pytest.mark.parametrize("text", [RUNS, CONNECTS, "a\n\\o/", "'\\\n"])
def test_a_comment_and_a_setting_of_a_database_have_lines_of_any_kind(dumps: Dumps, text: str) -> None:
    """Their owner writes them, and the superuser's psql reads them."""
    (dumps.folder / "ran").unlink(missing_ok=True)
    dumps.app("DO $$ BEGIN EXECUTE format('COMMENT ON DATABASE shop IS %L', " + f"$of${text}$of$); END $$")
    dumps.app("DO $$ BEGIN EXECUTE format('ALTER DATABASE shop SET search_path TO %L', " + f"$of${text}$of$); END $$")
    settings, database = dumps.shop(OBJECTS["settings"]), dumps.shop(OBJECTS["database"])
    dumped = dumps.dump()
    assert dumped.returncode == 0, dumped.stderr
    restored = dumps.restore()
    assert not (dumps.folder / "ran").exists()
    assert restored.returncode == 0, restored.stderr
    assert dumps.shop("SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = 'shop'") == [
        (text,)
    ]
    assert (dumps.shop(OBJECTS["settings"]), dumps.shop(OBJECTS["database"])) == (settings, database)


SHOWS = (
    "client_encoding = 'LATIN1'",
    "TimeZone = 'Asia/Kolkata'",
    "bytea_output = 'escape'",
    "standard_conforming_strings = off",
)


@pytest.mark.nightly
@pytest.mark.parametrize("setting", SHOWS)
def test_a_dump_shows_values_alike_whatever_its_database_sets(dumps: Dumps, setting: str) -> None:
    dumps.app(
        "CREATE TABLE \"café\" (at timestamptz, b bytea DEFAULT '\\x00ff', t text DEFAULT 'a\\b') "
        "PARTITION BY RANGE (at)"
    )
    bounds = "FROM ('2026-01-01 00:00+00') TO ('2027-01-01 00:00+00')"
    dumps.app(f'CREATE TABLE part PARTITION OF "café" FOR VALUES {bounds}')
    dumps.app("INSERT INTO part (at) VALUES ('2026-07-01 00:00+00')")
    rows = "SELECT at, encode(b, 'hex'), t FROM \"café\""
    before = dumps.shop(rows)
    dumps.app(f"ALTER DATABASE shop SET {setting}")
    settings = dumps.shop(OBJECTS["settings"])
    dumped = dumps.dump()
    assert dumped.returncode == 0, dumped.stderr
    restored = dumps.restore()
    assert restored.returncode == 0, restored.stderr
    assert (dumps.shop(rows), dumps.shop(OBJECTS["settings"])) == (before, settings)


@pytest.mark.nightly
def test_a_table_in_a_tablespace_is_restored_without_it(dumps: Dumps) -> None:
    folder = dumps.server.place.root / "srv/tablespace"
    folder.mkdir()
    chown(folder, 999, 999)
    dumps.server.query("CREATE TABLESPACE fast LOCATION '/srv/tablespace'")
    try:
        dumps.server.query("GRANT CREATE ON TABLESPACE fast TO app")
        dumps.app("CREATE TABLE placed (i int PRIMARY KEY USING INDEX TABLESPACE fast) TABLESPACE fast")
        dumps.app("INSERT INTO placed VALUES (1)")
        dumped = dumps.dump()
        assert dumped.returncode == 0, dumped.stderr
        restored = dumps.restore()
        assert restored.returncode == 0, restored.stderr
        assert dumps.shop("SELECT i, tablespace FROM placed, pg_tables WHERE tablename = 'placed'") == [(1, None)]
        assert dumps.shop("SELECT tablespace FROM pg_indexes WHERE tablename = 'placed'") == [(None,)]
    finally:
        dumps.server.query("DROP DATABASE shop WITH (FORCE)")
        dumps.server.query("DROP TABLESPACE fast")


@pytest.mark.nightly
def test_a_database_of_any_name_owner_and_locale_is_restored(dumps: Dumps) -> None:
    name = "'s WITH TEMPLATE = h\"o\\p; DATABASE - x"
    quoted = name.replace('"', '""')
    known = (
        "SELECT datname, datdba::regrole::text, datlocale, daticurules, shobj_description(oid, 'pg_database') "
        "FROM pg_database WHERE datname NOT LIKE 'template_' ORDER BY datname"
    )
    dumps.server.query('CREATE ROLE "odd DATABASE - one"')
    try:
        dumps.server.query(
            f'CREATE DATABASE "{quoted}" OWNER "odd DATABASE - one" TEMPLATE template0 LOCALE_PROVIDER icu '
            "ICU_LOCALE 'und' ICU_RULES E'&a < '';''\n&c < d'"
        )
        dumps.server.query(f"COMMENT ON DATABASE \"{quoted}\" IS 'odd; too'")
        before = dumps.server.query(known)
        dumped = dumps.dump()
        assert dumped.returncode == 0, dumped.stderr
        restored = dumps.restore()
        assert restored.returncode == 0, restored.stderr
        assert dumps.server.query(known) == before
    finally:
        dumps.server.query(f'DROP DATABASE IF EXISTS "{quoted}"')
        dumps.server.query('DROP ROLE "odd DATABASE - one"')


def test_a_dump_has_the_roles_and_settings_of_any_name_and_tells_what_it_lacks(dumps: Dumps) -> None:
    dumps.server.query("CREATE ROLE carol")
    dumps.server.query("ALTER ROLE carol IN DATABASE shop SET \"shop.user\" TO 'x'")
    dumps.shop("CREATE FOREIGN DATA WRAPPER other")
    dumps.shop("CREATE SERVER far FOREIGN DATA WRAPPER other")
    dumps.shop("CREATE USER MAPPING FOR app SERVER far OPTIONS (password 'p')")
    dumped = dumps.dump()
    assert dumped.returncode == 0, dumped.stderr
    assert "the options of the user mapping of app for far in shop are not in it" in dumped.stdout
    dumps.server.query("DROP DATABASE shop WITH (FORCE)")
    dumps.server.query("DROP ROLE carol")
    restored = dumps.restore()
    assert restored.returncode == 0, restored.stderr
    assert "the role carol is made, without a login" in restored.stdout
    assert "the user mapping of app for far has no options: ALTER USER MAPPING sets them" in restored.stdout
    assert (["shop.user=x"],) in dumps.shop("SELECT setconfig FROM pg_db_role_setting WHERE setrole = 'carol'::regrole")
    dumps.server.query("DROP DATABASE shop WITH (FORCE)")
    dumps.server.query("DROP ROLE carol")


def test_a_restore_refuses_a_database_that_it_could_not_replace_whole(dumps: Dumps) -> None:
    assert dumps.dump().returncode == 0
    dumps.server.query("ALTER DATABASE shop IS_TEMPLATE true")
    try:
        refused = dumps.restore()
    finally:
        dumps.server.query("ALTER DATABASE shop IS_TEMPLATE false")
    assert refused.returncode != 0
    assert "shop is a template, or has a subscription or a replication slot: nothing is changed" in refused.stderr


def test_a_restore_leaves_a_database_that_a_person_named_alike(dumps: Dumps) -> None:
    assert dumps.dump().returncode == 0
    dumps.server.query('CREATE DATABASE "nomad-stateful-own"')
    try:
        restored = dumps.restore()
        assert restored.returncode == 0, restored.stderr
        assert "nomad-stateful-own" in databases(dumps)
    finally:
        dumps.server.query('DROP DATABASE IF EXISTS "nomad-stateful-own"')


def test_the_loader_has_no_rights_of_a_role_with_the_servers_programs(dumps: Dumps) -> None:
    dumps.app("CREATE TABLE told (able bool)")
    dumps.app(
        "CREATE OR REPLACE FUNCTION is_fine(what bytea) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN INSERT INTO "
        "public.told VALUES (pg_has_role('pg_execute_server_program', 'USAGE')); RETURN true; END $$"
    )
    dumps.server.query("GRANT pg_execute_server_program TO app")
    try:
        assert dumps.dump().returncode == 0
        restored = dumps.restore()
        assert restored.returncode == 0, restored.stderr
        assert set(dumps.shop("SELECT able FROM told")) == {(False,)}
    finally:
        dumps.server.query("REVOKE pg_execute_server_program FROM app")


def test_an_account_that_the_settings_lose_or_narrow_has_no_more_than_they_say(dumps: Dumps) -> None:
    narrowed = {"name": "second", "privileges": "ALL", "database": "shop"}
    known = {**PASSWORDS, "password_second": "s"}
    app, *_ = ACCOUNTS
    logins = "SELECT rolname, rolcanlogin FROM pg_roles WHERE rolname IN ('second', 'report') ORDER BY 1"
    dumps.server.make_accounts(databases=["shop"], accounts=[*ACCOUNTS, narrowed], known=known)
    assert dumps.server.query("SELECT pg_has_role('second', 'app', 'USAGE')") == [(True,)]
    narrowed["privileges"] = "SELECT"
    dumps.server.make_accounts(databases=["shop"], accounts=[app, narrowed], known=known)
    assert dumps.server.query(logins) == [("report", False), ("second", True)]
    assert dumps.server.query("SELECT pg_has_role('second', 'app', 'USAGE')") == [(False,)]
    narrowed["privileges"] = "INSERT"
    dumps.server.make_accounts(databases=["shop"], accounts=[app, narrowed], known=known)
    assert dumps.shop("SELECT has_table_privilege('second', 'orders', 'SELECT')") == [(False,)]
