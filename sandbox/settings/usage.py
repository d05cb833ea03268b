"""The commands that messages name: those of a clone, or those of the installed packages."""

from typing import Final

from sandbox.settings.model import IN_CLONE

PROGRAM: Final = "python -m sandbox" if IN_CLONE else "nomad-stateful sandbox"
UP: Final = "make up" if IN_CLONE else "nomad-stateful sandbox up"
DOWN: Final = "make down" if IN_CLONE else "nomad-stateful sandbox down"
FORCE_DOWN: Final = "make down FORCE=1" if IN_CLONE else "nomad-stateful sandbox down --force"
STATUS: Final = f"{PROGRAM} status"
VERIFY: Final = "make verify" if IN_CLONE else "nomad-stateful verify"
MYSQL: Final = "make mysql" if IN_CLONE else "nomad-stateful mysql"
