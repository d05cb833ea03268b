"""An image: what it is called, what it is made of, and what runs in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sandbox.docker import older_mysql
from sandbox.docker.layers import Layer, Recipe

PATH: Final = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, eq=False)
class Image:
    """An image: its layers from the bottom up, and what docker runs in it."""

    repository: str
    tag: str
    layers: tuple[Recipe, ...]
    tag_from: str = ""
    """The Debian package whose version is the tag, after `tag`."""
    series: str = ""
    """The series that the version has to be of."""
    seldom: bool = False
    """Whether it is there only when all images are asked for."""
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    stop_signal: str = ""
    user: str = ""
    """User of its process; empty for root."""
    version_env: str = ""
    """Variable of the container that has the version."""
    note: str = ""

    def names(self, layers: tuple[Layer, ...]) -> list[str]:
        """The names by which a job pulls it: with the version, and with its series where Debian decides on that."""
        tags = [self.version(layers)]
        while self.tag_from and "." in tags[-1]:
            tags.append(tags[-1].rpartition(".")[0])
        return [f"{self.repository}:{tag}" for tag in tags]

    def is_named(self, name: str) -> bool:
        """Whether a name is surely the image's, also before its version is known."""
        if self.series and name.startswith(f"{self.repository}:{self.series}."):
            return True
        return name == f"{self.repository}:{self.series or self.tag}"

    def version(self, layers: tuple[Layer, ...]) -> str:
        """Its tag."""
        if not self.tag_from:
            return self.tag
        found = next(version for layer in layers if (version := layer.version(self.tag_from)))
        return self.tag + (older_mysql.older(found) if self.series == older_mysql.SERIES else found)
