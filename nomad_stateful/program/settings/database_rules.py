"""Rules within the section of a database."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from nomad_stateful.program.settings import paths, variable
from nomad_stateful.program.settings.errors import Refusal

if TYPE_CHECKING:
    from nomad_stateful.databases.model import Problem
    from nomad_stateful.program.settings.database import DatabaseSection

INIT_FOLDER = "docker-entrypoint-initdb.d"
"""Where the image's entrypoint finds the scripts of a first start."""
EVERY_PRIVILEGE = ("ALL", "ALL PRIVILEGES")


def check(section: DatabaseSection) -> None:
    """Raises Refusal for what the server would not take, or another setting decides."""
    _check_data_dir(section)
    _check_options(section)
    _check_databases(section)
    _check_init_scripts(section)
    _check_users(section)
    _check_certificate(section)


def written(value: str | int | bool) -> str:
    return ("ON" if value else "OFF") if isinstance(value, bool) else str(value)


def given_options(section: DatabaseSection) -> dict[str, tuple[str, str]]:
    """Returns the server's options with their values by their settings: those of its file, and arguments."""
    given = {f"config.{name}": (name, value) for name, value in section.options.items()}
    for index, argument in enumerate(section.server_args):
        name, _, value = argument.removeprefix("--").partition("=")
        given[f"serverArgs.{index}"] = (name, value)
    return given


def _check_options(section: DatabaseSection) -> None:
    options = section.kind.options
    for index, argument in enumerate(section.server_args):
        if problem := options.argument(argument, section.mount_path):
            raise Refusal(f"serverArgs.{index}", argument, problem.rule, problem.remedy)
    for name, value in section.options.items():
        if problem := options.option(name, value, section.mount_path):
            raise Refusal(f"config.{name}", value, problem.rule, problem.remedy)
    if section.kind.logs is not None and section.logs is not None:
        _check_decided(section, section.kind.logs.option_problem)
    if section.kind.group is not None and section.replication is not None:
        _check_decided(section, section.kind.group.option_problem)


def _check_decided(section: DatabaseSection, problem_of: Callable[[str, str], Problem | None]) -> None:
    """Refuses an option that another setting decides, whichever way it is given."""
    for key, (name, value) in given_options(section).items():
        if problem := problem_of(name, value):
            raise Refusal(key, value or name, problem.rule, problem.remedy)


def _check_data_dir(section: DatabaseSection) -> None:
    paths.check_plain("dataDir", section.data_dir)
    folder = paths.covers(section.mount_path, (*paths.SYSTEM_FOLDERS, f"/{INIT_FOLDER}"))
    if folder:
        rule = f"the volume would be mounted over {folder}, which the server needs as it is"
        raise Refusal("dataDir", section.data_dir, rule, f"use a folder of its own, such as /srv/{section.kind.name}")


def _check_init_scripts(section: DatabaseSection) -> None:
    for name, text in section.init_scripts.items():
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*\.sql", name):
            raise Refusal(
                "initScripts", name, "must be a file name that ends in .sql", "rename it, as in 10-schema.sql"
            )
        if not text:
            raise Refusal(f"initScripts.{name}", text, "Nomad takes no template without text", "write it, or remove it")


def _check_databases(section: DatabaseSection) -> None:
    for name, count in Counter(section.databases).items():
        if name.lower() in section.kind.system_databases:
            raise Refusal("databases", name, "this database is reserved by the server", "name another")
        if count > 1:
            raise Refusal("databases", name, f"it is listed {count} times", "list it once")


def _check_users(section: DatabaseSection) -> None:
    for name, count in Counter(user.name for user in section.users).items():
        if count > 1:
            raise Refusal("users", name, f"{count} users have this name", "give each a name of its own")
    for user in section.users:
        prefix = section.kind.reserved_prefix
        if user.name in section.kind.own_accounts or (prefix and user.name.startswith(prefix)):
            raise Refusal(f"users.{user.name}.name", user.name, "this account is reserved", "rename it")
        unknown = sorted(set(user.privileges.split(", ")) - section.kind.privileges)
        if unknown and user.privileges not in EVERY_PRIVILEGE:
            rule = f"{unknown[0]} is not a privilege on a database that can be listed"
            remedy = "name privileges of a database, such as SELECT, INSERT, or ALL PRIVILEGES alone"
            raise Refusal(f"users.{user.name}.privileges", user.privileges, rule, remedy)
        if user.database not in section.databases:
            raise Refusal(
                f"users.{user.name}.database", user.database, "it is not among databases", "add it there, or correct it"
            )


def _check_certificate(section: DatabaseSection) -> None:
    if section.tls_certificate is None:
        return
    items = {key: value or "" for key, value in section.tls_certificate.model_dump().items()}
    # Beside the passwords of the superuser and the accounts.
    others = {f"password_{user.name}": "x" * 32 for user in section.users}
    items |= others | {"root_password": "x" * 32}
    variable.check("tlsCertificate", items, "leave out what is not needed")
    if section.tls == "off":
        raise Refusal("tls", "off", "there is a tlsCertificate", "remove one of the two")
