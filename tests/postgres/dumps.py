"""A server with its accounts, and the tasks beside it that dump and restore."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from nomad_stateful.databases.model import Login
from nomad_stateful.databases.postgres import POSTGRES
from tests.mysql.place import Task, place
from tests.ports import unused_port
from tests.postgres.server import ACCOUNTS, PASSWORD, PASSWORDS, Server

SCHEMA = (
    "CREATE TABLE orders (id int PRIMARY KEY, what bytea CHECK (public.is_fine(what)))",
    "INSERT INTO orders VALUES (1, 'a'), (2, '\\x00ff27')",
    "CREATE VIEW seen AS SELECT * FROM orders",
    "CREATE TABLE numbered (id int GENERATED ALWAYS AS IDENTITY, t text)",
    "INSERT INTO numbered (t) VALUES ('x'), (E'\\restrict \\n\\t\\\\.')",
    "CREATE FUNCTION mark() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.t := upper(NEW.t); RETURN NEW; END'",
    "CREATE TRIGGER marks BEFORE INSERT ON numbered FOR EACH ROW EXECUTE FUNCTION mark()",
    "CREATE MATERIALIZED VIEW counted AS SELECT count(*) FROM numbered",
    "SELECT lo_from_bytea(4711, 'large')",
)
CHECK = "CREATE FUNCTION is_fine(what bytea) RETURNS bool LANGUAGE sql AS 'SELECT true'"
OBJECTS = {
    "rows": "SELECT id, what FROM orders ORDER BY id",
    "view": "SELECT count(*) FROM seen",
    "numbered": "SELECT id, t FROM numbered ORDER BY id",
    "next": "SELECT last_value FROM numbered_id_seq",
    "trigger": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
    "counted": "SELECT * FROM counted",
    "large": "SELECT encode(lo_get(4711), 'escape')",
    "owners": "SELECT relname, relowner::regrole::text FROM pg_class WHERE relnamespace = 'public'::regnamespace "
    "ORDER BY relname",
    "database": "SELECT datdba::regrole::text, datconnlimit, ARRAY(SELECT one::text FROM aclexplode("
    "coalesce(datacl, acldefault('d', datdba))) AS one ORDER BY 1)::text FROM pg_database WHERE datname = 'shop'",
    "settings": "SELECT setrole::regrole::text, setconfig FROM pg_db_role_setting JOIN pg_database d "
    "ON d.oid = setdatabase ORDER BY 1",
}


@dataclass(frozen=True)
class Dumps:
    """The server, and what runs beside it."""

    server: Server
    database: ClassVar[str] = "postgres"
    ending: ClassVar[str] = "tar"

    @property
    def folder(self) -> Path:
        return self.server.place.root / "dumps"

    @property
    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("*.tar"))

    def app(self, statement: str) -> list[tuple[Any, ...]]:
        """Runs a statement as the account that owns the database."""
        return self.server.query(statement, user="app", password=PASSWORDS["password_app"], database="shop")

    def shop(self, statement: str) -> list[tuple[Any, ...]]:
        """Runs a statement as the superuser in the database shop."""
        return self.server.query(statement, database="shop")

    def fill(self) -> None:
        """Has the database shop as it is at first, and no dump."""
        self.server.query("DROP DATABASE IF EXISTS shop WITH (FORCE)")
        self.server.make_accounts(databases=["shop"], accounts=ACCOUNTS)
        for statement in (CHECK, *SCHEMA):
            self.app(statement)
        self.server.query('ALTER DATABASE shop SET search_path TO "$user", public, other')
        self.server.query("ALTER ROLE app IN DATABASE shop SET work_mem TO '5MB'")
        for name in self.names:
            (self.folder / name).unlink()

    def lose(self) -> None:
        self.app("DELETE FROM orders")
        self.app("DROP VIEW seen")
        self.app("DROP TABLE numbered CASCADE")
        self.app("SELECT lo_unlink(4711)")

    def grow(self) -> None:
        self.app("INSERT INTO orders SELECT n, decode(md5(n::text), 'hex') FROM generate_series(3, 20000) n")

    def dump_of_no_service(self) -> subprocess.CompletedProcess[str]:
        found = self.task("dump", "backup", PASSWORDS["password_backup"])
        # As the template is rendered where Nomad has no such service.
        (self.server.place.root / "secrets/client.conf").write_text("[server]\nuser=backup\n")
        return self.server.place.run(found, KEEP="7")

    def objects(self) -> dict[str, list[tuple[Any, ...]]]:
        return {name: self.shop(statement) for name, statement in OBJECTS.items()}

    def dump(self, keep: int = 7, **env: str) -> subprocess.CompletedProcess[str]:
        return self.server.place.run(self.task("dump", "backup", PASSWORDS["password_backup"]), KEEP=str(keep), **env)

    def restore(self, name: str = "latest", **env: str) -> subprocess.CompletedProcess[str]:
        return self.server.place.run(self.task("restore", "postgres", PASSWORD), NOMAD_META_dump=name, **env)

    def put(self, content: bytes, name: str = "20260101T000000Z.tar") -> str:
        """Puts a dump of other making there."""
        (self.folder / name).write_bytes(content)
        return name

    def task(self, spec: str, account: str, password: str, tls: str = "required", ca: str = "", port: int = 0) -> Task:
        """The task that dumps or restores, with its files in place."""
        login = Login("postgres-server", "nomad", tls, verifies=bool(ca), account=account, password="{{ .password }}")
        variables = {
            "server": {"database": "postgres", "account": account, "ca": ca},
            "client": asdict(POSTGRES.client(login)),
        }
        known = {**PASSWORDS, "password": password, **({"Port": str(port)} if port else {})}
        return self.server.prepared(spec, spec, known, **variables)


@contextmanager
def running(image: Path, folder: Path, nomad: Path) -> Iterator[Dumps]:
    """A server with its accounts."""
    with place(image, folder, unused_port()) as made:
        server = Server(made, nomad)
        server.running(databases=["shop"], accounts=ACCOUNTS)
        yield Dumps(server)
