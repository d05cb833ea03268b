"""The image with PostgreSQL of Debian's package, in the layout of the official one.

https://github.com/docker-library/postgres/blob/master/18/trixie/Dockerfile
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sandbox.docker.image import PATH, Image
from sandbox.docker.layers import Recipe

SERIES: Final = "18"
"""The major version that the project is run with; Debian's unstable suite moves on some day."""

_ENTRYPOINT: Final = Path(__file__).with_name("postgres-entrypoint.sh")
_PACKAGES: Final = ("gosu", "less", "libnss-wrapper", "locales", "xz-utils", "zstd")
# Debian's package would make a cluster of its own.
_USER_SCRIPT: Final = """
groupadd -r postgres --gid=999
useradd -r -g postgres --uid=999 --home-dir=/var/lib/postgresql --shell=/bin/bash postgres
install --directory --owner postgres --group postgres --mode 1777 /var/lib/postgresql
mkdir /docker-entrypoint-initdb.d /etc/postgresql-common
echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
localedef -i en_US -c -f UTF-8 en_US.UTF-8
"""
_SERVER_SCRIPT: Final = f"""
sample=/usr/share/postgresql/{SERIES}/postgresql.conf.sample
sed -ri "s!^#?(listen_addresses)\\s*=\\s*\\S+.*!\\1 = '*'!" "$sample"
grep -qF "listen_addresses = '*'" "$sample"
install --directory --owner postgres --group postgres --mode 3777 /var/run/postgresql
"""


def image(base: Recipe, parts: Path | None) -> Image:
    """Returns the image on its lowest layer, with the official entrypoint where a folder of official parts has it."""
    own = parts / "postgres/docker-entrypoint.sh" if parts else None
    entrypoint = own if own is not None and own.is_file() else _ENTRYPOINT
    user = Recipe("postgres-user", (base,), _PACKAGES, _USER_SCRIPT)
    server = Recipe("postgres", (base, user), (f"postgresql-{SERIES}",), _SERVER_SCRIPT)
    below = (base, user, server)
    start = Recipe("postgres-start", below, files={"/usr/local/bin/docker-entrypoint.sh": entrypoint})
    return Image(
        "postgres",
        "",
        (*below, start),
        tag_from=f"postgresql-{SERIES}",
        series=SERIES,
        seldom=True,
        entrypoint=("docker-entrypoint.sh",),
        command=("postgres",),
        env=(
            f"{PATH}:/usr/lib/postgresql/{SERIES}/bin",
            "LANG=en_US.utf8",
            f"PG_MAJOR={SERIES}",
            f"PGDATA=/var/lib/postgresql/{SERIES}/docker",
        ),
        volumes=("/var/lib/postgresql",),
        ports=("5432/tcp",),
        stop_signal="SIGINT",
        version_env="PG_VERSION",
        note="official entrypoint" if entrypoint is own else "own entrypoint",
    )
