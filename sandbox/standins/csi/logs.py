"""Log lines as klog writes them (`I1121 …`), with a verbosity."""

from __future__ import annotations

import json
import logging
import sys
import threading
from datetime import datetime
from typing import Any, Final

_LOGGER: Final = logging.getLogger("csi_driver")
_LETTERS: Final = {
    logging.DEBUG: "I",
    logging.INFO: "I",
    logging.WARNING: "W",
    logging.ERROR: "E",
    logging.CRITICAL: "F",
}


class _State:
    verbosity: int = 0


class _TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created).strftime("%m%d %H:%M:%S.%f")  # noqa: DTZ006 - klog's local time
        letter = _LETTERS.get(record.levelno, "I")
        fields = "".join(f" {key}={_quoted(value)}" for key, value in _fields(record).items())
        head = f"{letter}{moment} {threading.get_native_id():7d} {record.filename}:{record.lineno}]"
        return f"{head} {json.dumps(record.getMessage())}{fields}"


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields: dict[str, Any] = getattr(record, "fields", {})
    return fields


def _quoted(value: object) -> str:
    return str(value) if isinstance(value, int | float) else json.dumps(str(value), ensure_ascii=False)


def set_up(*, verbosity: int) -> None:
    """Sends the driver's log to stderr; other libraries are heard from warning on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_TextFormatter())
    _LOGGER.handlers[:] = [handler]
    _LOGGER.propagate = False
    _LOGGER.setLevel(logging.INFO)
    _State.verbosity = verbosity


def v(level: int) -> bool:
    """Whether lines of this verbosity are written."""
    return _State.verbosity >= level


def info(message: str, *, level: int = 0, **fields: object) -> None:
    """Writes a line when the verbosity is at least `level`."""
    if v(level):
        _LOGGER.info(message, extra={"fields": fields}, stacklevel=2)


def warning(message: str, **fields: object) -> None:
    """Writes a warning."""
    _LOGGER.warning(message, extra={"fields": fields}, stacklevel=2)


def error(message: str, **fields: object) -> None:
    """Writes an error."""
    _LOGGER.error(message, extra={"fields": fields}, stacklevel=2)
