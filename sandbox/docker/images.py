"""The images that a stack pulls, under the very names it pulls them by, and what each is made of."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from nomad_stateful.drivers.catalogue import DRIVERS
from nomad_stateful.drivers.model import CsiDriver
from sandbox.docker import agent, older_mysql, postgres, python_packages
from sandbox.docker.errors import DockerError
from sandbox.docker.image import PATH, Image
from sandbox.docker.layers import Recipe
from sandbox.settings import CODE
from tools import locked_packages
from tools.toolchain import cache, official

MYSQL_SERIES: Final = "9.7"
"""The series that the project is run with; Debian's unstable suite moves on some day."""

_ENTRYPOINT: Final = Path(__file__).with_name("mysql-entrypoint.sh")
_HOME: Final = "opt/stand-ins"
_STAND_INS: Final = ("csi", "ebs_csi_driver", "efs_csi_driver", "democratic_csi", "hostpath")
_MOUNT_HELPERS: Final = (
    *("cloud/mount_efs.py", "cloud/efs.py", "machine/naming.py", "machine/share_mounts.py"),
    "machine/private_files.py",
    *(f"standins/nas/{name}.py" for name in ("__init__", "mount_nfs", "mount_protocol", "layout")),
)

BUSYBOX: Final = "busybox"

STORAGE: Final = "/run/sandbox"
"""Where a container that may mount finds the file servers: what in AWS is reached over the network."""

_MYSQL_SCRIPT: Final = """
echo 'mysql:x:999:' >>/etc/group
echo 'mysql:x:999:999::/var/lib/mysql:/usr/sbin/nologin' >>/etc/passwd
mkdir -p /etc/mysql/conf.d /docker-entrypoint-initdb.d /var/lib/mysql /var/lib/mysql-files /var/run/mysqld
chown mysql:mysql /var/lib/mysql /var/lib/mysql-files /var/run/mysqld
chmod 1777 /var/lib/mysql /var/run/mysqld
chmod 750 /var/lib/mysql-files
rm -f /usr/bin/mysqlbinlog /etc/mysql/my.cnf
cat >/etc/my.cnf <<'END'
[mysqld]
skip-name-resolve
datadir=/var/lib/mysql
socket=/var/run/mysqld/mysqld.sock
secure-file-priv=/var/lib/mysql-files
user=mysql
pid-file=/var/run/mysqld/mysqld.pid

[client]
socket=/var/run/mysqld/mysqld.sock

!includedir /etc/mysql/conf.d/
END
"""
_BUSYBOX_SCRIPT: Final = """
mkdir -p /only/bin /only/tmp /only/etc
cp /bin/busybox /only/bin/
# By relative links, as Nomad looks for a program of its exec tasks.
chroot /only /bin/busybox --list | while read -r name; do
  [ -e "/only/bin/$name" ] || ln -s busybox "/only/bin/$name"
done
echo 'root:x:0:0:root:/root:/bin/sh' >/only/etc/passwd
"""


def catalogue(parts: Path | None) -> tuple[Image, ...]:
    """Every image; with a folder of official parts, those that are there are in the images."""
    base = base_layer()
    tools = Recipe("tools", (base,), ("e2fsprogs", "xfsprogs", "mount", "util-linux", "udev"))
    pins = cache.digest(locked_packages.pins(python_packages.STAND_INS))
    packages = partial(python_packages.install, python_packages.STAND_INS)
    python = Recipe("python", (base, tools), ("python3",), fill=packages, fill_key=pins)
    mysql = _mysql(base, parts)
    return (
        mysql,
        _older_mysql(mysql),
        postgres.image(base, parts),
        *_drivers(base, tools, python, parts),
        agent_image(base),
        _busybox(base),
        _haproxy(base),
        _exporter(base, "prom", "mysqld"),
        _exporter(base, "prom", "node"),
        _exporter(base, "quay.io/prometheuscommunity", "postgres"),
    )


def base_layer() -> Recipe:
    """What every image begins with."""
    return Recipe("base", packages=("ca-certificates",))


def _mysql(base: Recipe, parts: Path | None) -> Image:
    own = parts / "mysql/docker-entrypoint.sh" if parts else None
    entrypoint = own if own is not None and own.is_file() else _ENTRYPOINT
    server = Recipe(
        "mysql",
        (base,),
        ("mysql-server-core", "mysql-client-core", "gosu", "openssl", "bzip2", "gzip", "xz-utils", "zstd", "tzdata"),
        _MYSQL_SCRIPT,
    )
    start = Recipe(
        "mysql-start",
        (base, server),
        files={"/usr/local/bin/docker-entrypoint.sh": entrypoint},
    )
    return Image(
        "mysql",
        "",
        (base, server, start),
        tag_from="mysql-server-core",
        series=MYSQL_SERIES,
        entrypoint=("docker-entrypoint.sh",),
        command=("mysqld",),
        env=(PATH, f"MYSQL_MAJOR={MYSQL_SERIES}"),
        volumes=("/var/lib/mysql",),
        ports=("3306/tcp", "33060/tcp"),
        version_env="MYSQL_VERSION",
        note="official entrypoint" if entrypoint is own else "own entrypoint",
    )


def _older_mysql(mysql: Image) -> Image:
    """The image of the series before, for upgrades from it."""
    source = cache.digest(Path(older_mysql.__file__).read_bytes())
    changed = Recipe("mysql-older", mysql.layers, fill=_older_server, fill_key=source)
    return replace(
        mysql,
        layers=(*mysql.layers, changed),
        series=older_mysql.SERIES,
        seldom=True,
        env=(PATH, f"MYSQL_MAJOR={older_mysql.SERIES}"),
        note=f"stand-in for {older_mysql.SERIES}",
    )


def _older_server(layer: Path, base: Path) -> None:
    words = ["chroot", str(base), "mysqld", "--version"]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    found = re.search(r"Ver (\d+\.\d+\.\d+)", said.stdout)
    if found is None:
        raise DockerError(f"mysqld does not say its version: {(said.stdout + said.stderr).strip()[-300:]}")
    older_mysql.put(layer, base, found[1])


def _drivers(base: Recipe, tools: Recipe, python: Recipe, parts: Path | None) -> list[Image]:
    stand_ins = Recipe("stand-ins", (base, tools, python), fill=_stand_ins, fill_key=_sources())
    images = []
    for name, driver in DRIVERS.items():
        program = f"/bin/{driver.command}"
        binary = _official_program(parts, driver)
        layers: tuple[Recipe, ...] = (base, tools, python, stand_ins)
        if binary is not None:
            layers = (base, tools, Recipe(f"{name}-driver", (base, tools), files={f"/usr{program}": binary}))
        note = "official driver" if binary else "stand-in"
        images.append(
            Image(driver.image, driver.default_version, layers, entrypoint=(program,), env=(PATH,), note=note)
        )
    return images


def _official_program(folder: Path | None, driver: CsiDriver) -> Path | None:
    if folder is None or driver.command not in official.PROGRAMS:
        return None
    return official.take(folder, driver.command, driver.default_version.removeprefix("v"))


def agent_image(base: Recipe) -> Image:
    """The image of nomad-stateful-agent, which `make image` writes too."""
    pins = cache.digest(locked_packages.pins(agent.PACKAGES))
    packages = partial(python_packages.install, agent.PACKAGES)
    python = Recipe("agent-python", (base,), ("python3",), fill=packages, fill_key=pins)
    below = (base, python)
    layers = (*below, Recipe("agent", below, fill=agent.put, fill_key=agent.digest()))
    return Image(agent.REPOSITORY, agent.tag(), layers, entrypoint=(agent.COMMAND,), env=(PATH,), note="the package")


def _busybox(base: Recipe) -> Image:
    made = Recipe("busybox", (base,), ("busybox-static",), _BUSYBOX_SCRIPT, fill=_nothing_else, fill_key="only")
    return Image(BUSYBOX, "", (made,), tag_from="busybox-static", command=("sh",), env=(PATH,))


def _haproxy(base: Recipe) -> Image:
    """As the official image it runs as its own user, and the command is the router's."""
    layer = Recipe("haproxy", (base,), ("haproxy",))
    return Image("haproxy", "", (base, layer), tag_from="haproxy", series="3", seldom=True, env=(PATH,), user="haproxy")


def _exporter(base: Recipe, publisher: str, name: str) -> Image:
    package = f"prometheus-{name}-exporter"
    layer = Recipe(f"{name}-exporter", (base,), (package,))
    start = (f"/usr/bin/{package}",)
    repository = f"{publisher}/{name}-exporter"
    return Image(repository, "v", (base, layer), tag_from=package, seldom=True, entrypoint=start, env=(PATH,))


def _nothing_else(layer: Path, _base: Path) -> None:
    """Leaves nothing in the layer but what its script put under /only."""
    only = layer.rename(layer.with_name("all")) / "only"
    only.rename(layer)


def _stand_in_files() -> list[Path]:
    home = CODE / "sandbox"
    modules = [path for name in _STAND_INS for path in (home / "standins" / name).rglob("*.py")]
    return sorted([home / "__init__.py", *modules, *(home / name for name in _MOUNT_HELPERS)])


def _sources() -> str:
    proto = _proto()
    return cache.digest(*(path.read_bytes() for path in (*_stand_in_files(), *sorted(proto.glob("*.py")))))


def _proto() -> Path:
    from tools.toolchain import csi_proto_dir

    return csi_proto_dir()


def _stand_ins(layer: Path, base: Path) -> None:
    put_stand_ins(layer)
    python_packages.compile_modules(layer / _HOME, layer, base)


def put_stand_ins(layer: Path) -> None:
    """Puts in the stand-ins' modules, the CSI protocol, and a command for each under its official name."""
    home = layer / _HOME
    for path in _stand_in_files():
        target = home / path.relative_to(CODE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    for path in _proto().glob("*.py"):
        (home / path.name).write_bytes(path.read_bytes())
    modules = {"aws-ebs-csi-driver": "ebs_csi_driver", "aws-efs-csi-driver": "efs_csi_driver"}
    modules |= {"democratic-csi": "democratic_csi", "hostpathplugin": "hostpath"}
    for command, module in modules.items():
        _command(layer / "usr/bin" / command, f"standins.{module}")
    # As the official images carry efs-utils and nfs-common.
    _command(layer / "usr/sbin/mount.efs", f'cloud.mount_efs {STORAGE}/efs "$(cat {STORAGE}/zone)"')
    for name in ("mount.nfs", "mount.nfs4"):
        _command(layer / "usr/sbin" / name, f"standins.nas.mount_nfs {STORAGE}/nas")


def _command(path: Path, module: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    variables = f"PYTHONPATH=/{_HOME} NOMAD_STATEFUL_CSI_PROTO=/{_HOME}"
    path.write_text(f'#!/bin/sh\nexec env {variables} python3 -m sandbox.{module} "$@"\n', encoding="ascii")
    path.chmod(0o755)
