"""Options of the PostgreSQL server: nothing that overrides what the program decides, or endangers what is committed.

https://www.postgresql.org/docs/current/config-setting.html
"""

import re

from nomad_stateful.databases.model import Problem

OWN_OPTIONS = {
    "data_directory": "postgres.dataDir",
    "port": "postgres.port",
    "ssl": "postgres.tls",
    "ssl_cert_file": "postgres.tlsCertificate.certificate",
    "ssl_key_file": "postgres.tlsCertificate.key",
    **dict.fromkeys(("include", "include_dir", "include_if_exists", "config_file"), "postgres.config"),
    # Who may log in, from where and how.
    **dict.fromkeys(("hba_file", "ident_file", "listen_addresses", "password_encryption", "ssl_ca_file"), ""),
    **dict.fromkeys(("ssl_passphrase_command", "krb_server_keyfile"), ""),
    **dict.fromkeys(("unix_socket_directories", "unix_socket_group", "unix_socket_permissions"), ""),
    **dict.fromkeys(("external_pid_file", "exit_on_error", "lo_compat_privileges"), ""),
}
"""Options that the program sets, or that keep the server from serving; and the setting that decides each, if any."""

DURABILITY = frozenset(
    {
        *("fsync", "full_page_writes", "data_sync_retry"),
        *("zero_damaged_pages", "ignore_checksum_failure", "ignore_invalid_pages"),
    }
)
"""With other values than the server's own, a crash, a snapshot or a bad page can lose what was committed."""

_WAITS = frozenset({"on", "true", "yes", "1", "local", "remote_write", "remote_apply"})
"""Values of synchronous_commit with which a commit is on the disk before the client knows of it."""

LIBRARIES = frozenset(
    {
        *("shared_preload_libraries", "session_preload_libraries", "local_preload_libraries"),
        *("archive_library", "jit_provider"),
    }
)


class Options:
    """Which options of the server a person may set, and how they stand in its file."""

    def argument(self, argument: str, mount_path: str) -> Problem | None:  # noqa: ARG002 - the interface's
        """Returns why an argument is not an option with its value, or is one that the program decides."""
        found = re.fullmatch(r"--(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)=(?P<value>.*)", argument, re.DOTALL)
        if found is None:
            return Problem("must be one option by its long name, with its value", "write it as --name=value")
        return _problem(found["name"], found["value"])

    def option(self, name: str, value: str, mount_path: str) -> Problem | None:  # noqa: ARG002 - the interface's
        """Returns why an option of the file is none, or is one that the program decides."""
        if not re.fullmatch(r"[a-z_][a-z0-9_]*([.][a-z_][a-z0-9_]*)?", name):
            return Problem("is not a valid option name", "write it as in the server's manual")
        if not value.isprintable():
            return Problem("must not contain line breaks or other control characters", "write it on one line")
        return _problem(name, value)

    def text(self, value: str) -> str:
        """Returns a value in quotes, as the file has it."""
        parts = re.split(r"({{.*?}})", value)
        parts[::2] = [part.replace("\\", "\\\\").replace("'", "''") for part in parts[::2]]
        return f"'{''.join(parts)}'"


def _problem(name: str, value: str) -> Problem | None:
    # As the server reads a name.
    option = name.lower().replace("-", "_")
    setting = OWN_OPTIONS.get(option)
    if setting is not None:
        rule = f"{setting} sets this" if setting else f"the program reserves {option}"
        return Problem(rule, f"remove it, and set {setting}" if setting else "remove it")
    if option in DURABILITY or (option == "synchronous_commit" and value.strip().lower() not in _WAITS):
        return Problem("with it a crash, a snapshot or a bad page can lose what was committed", "remove it")
    if option in LIBRARIES and "/" in value:
        return Problem(
            "a library is one of the image, by its name alone", "write names with commas, such as pg_stat_statements"
        )
    return None
