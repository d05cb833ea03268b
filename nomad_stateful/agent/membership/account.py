"""The account with which members replicate and agents ask each other, and whose certificates they take."""

from __future__ import annotations

import configparser
import os
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from pymysql.optionfile import Parser

from nomad_stateful.agent.server import ServerError


@dataclass(frozen=True)
class Account:
    """With which members replicate, and their agents ask each other."""

    user: str
    password: str = field(repr=False)

    @classmethod
    def read(cls, options: Path) -> Account:
        """Reads user and password of an option file's section client. Raises ServerError."""
        parser = Parser()
        try:
            parser.read_string(options.read_text(encoding="utf-8"), str(options))
            return cls(parser.get("client", "user"), parser.get("client", "password"))
        except OSError as error:
            raise ServerError(f"{options} cannot be read by user {os.geteuid()}: {error.strerror}") from None
        except configparser.Error:
            # Its text may have the password's line.
            raise ServerError(f"{options} has to have user and password in the section client") from None


def verified(authority: Path | None) -> ssl.SSLContext:
    """Returns TLS that takes the certificates of an authority for their names alone; without one, any."""
    context = ssl.create_default_context(cafile=str(authority) if authority else None)
    if authority is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
