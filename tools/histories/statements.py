"""What the clients of a history ask a database for, in SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

ACCOUNTS: Final = 5
BALANCE: Final = 100


@dataclass(frozen=True)
class Statements:
    """The statements of one database; most are the same in each."""

    insert: str
    """Inserts what stands for {} unless it is there."""
    new_id: str
    """Gives an id that no other call gives."""
    drop_schema: str
    """Drops what stands for {}, with all that is in it."""
    large_rows: str
    """The type of a column for rows of MiBs, and how it is stored: as large as they are."""
    tables: tuple[str, ...] = (
        "CREATE SCHEMA IF NOT EXISTS faults",
        "CREATE TABLE IF NOT EXISTS faults.registers (name VARCHAR(64) PRIMARY KEY, value BIGINT)",
        "CREATE TABLE IF NOT EXISTS faults.lists (name VARCHAR(64) PRIMARY KEY, body TEXT NOT NULL)",
        "CREATE TABLE IF NOT EXISTS faults.accounts (number INT PRIMARY KEY, balance BIGINT NOT NULL)",
    )
    write: str = "UPDATE faults.registers SET value = %s WHERE name = %s"
    read: str = "SELECT value FROM faults.registers WHERE name = %s"
    append: str = "UPDATE faults.lists SET body = CONCAT(body, %s) WHERE name = %s"
    """A parameter has no type of its own: where CONCAT takes any, it does not say which."""
    read_list: str = "SELECT body FROM faults.lists WHERE name = %s"
    add: str = "UPDATE faults.accounts SET balance = balance + %s WHERE number = %s AND balance + %s >= 0"
    read_accounts: str = "SELECT balance FROM faults.accounts ORDER BY number"

    def register(self) -> str:
        """Makes a register, by its name."""
        return self.insert.format("faults.registers (name) VALUES (%s)")

    def new_list(self) -> str:
        """Makes an empty list, by its name."""
        return self.insert.format("faults.lists (name, body) VALUES (%s, '')")

    def accounts(self) -> str:
        """Opens the bank."""
        rows = ", ".join(f"({number}, {BALANCE})" for number in range(ACCOUNTS))
        return self.insert.format(f"faults.accounts (number, balance) VALUES {rows}")


MYSQL: Final = Statements("INSERT IGNORE INTO {}", "UUID()", "DROP SCHEMA IF EXISTS {}", "LONGBLOB")
POSTGRES: Final = Statements(
    "INSERT INTO {} ON CONFLICT DO NOTHING",
    "gen_random_uuid()",
    "DROP SCHEMA IF EXISTS {} CASCADE",
    "TEXT STORAGE EXTERNAL",
    append="UPDATE faults.lists SET body = body || %s WHERE name = %s",
)
STATEMENTS: Final = {"mysql": MYSQL, "postgres": POSTGRES}
"""By the database."""
