"""The image that the MySQL server runs."""

from typing import Annotated

from pydantic import AfterValidator

from nomad_stateful.databases.mysql.images import is_mariadb
from nomad_stateful.program.settings.errors import Refusal
from nomad_stateful.program.settings.types import PinnedImage


def _of_mysql(image: str) -> str:
    if not is_mariadb(image):
        return image
    raise Refusal(
        "",
        image,
        "MySQL does not read MariaDB's files, and the jobs run MySQL's programs",
        "set an image of MySQL; a server of MariaDB is dumped by itself, and restored into MySQL on a new volume "
        "(docs/consumers.md#restore)",
    )


MysqlImage = Annotated[PinnedImage, AfterValidator(_of_mysql)]
