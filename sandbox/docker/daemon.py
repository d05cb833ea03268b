"""The docker daemon of an instance: its configuration, and the part of the boot script that runs it."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from string import Template
from typing import Final

from nomad_stateful.drivers.catalogue import DRIVERS
from sandbox.docker import machine_daemon
from sandbox.docker.images import STORAGE
from sandbox.docker.store import Store
from sandbox.settings import InstanceSpec, SandboxSettings
from sandbox.standins.nas.layout import Nas
from tools.packages import find_command

SOCKET: Final = "unix:///run/docker.sock"
_DATA: Final = "/mnt/docker"
_RUNTIME: Final = "sandbox"
_SCRIPT: Final = Path(__file__).with_name("runtime.py")

# The daemon writes into /etc/docker and /opt/containerd, drivers into /var: these folders get a layer on the instance's
# own disk. Folders that plugins mount are made as an AMI's maker has to make them.
# The images' layers are read where the store has them: a folder of links stands in for a pull.
_BOOT: Final = Template("""\
for folder in etc opt var; do mkdir -p "/mnt/layers/$$folder" "/mnt/layers/$$folder.work"; done
cp -L /etc/passwd /etc/group /etc/hosts /etc/hostname /etc/resolv.conf /mnt/layers/etc/
mkdir -p /run/home
mount --rbind $home /run/home
mount --make-rprivate /run/home
for folder in etc opt var; do
  over=/mnt/layers/$$folder
  mount -t overlay "$$folder" -o "lowerdir=/$$folder,upperdir=$$over,workdir=$$over.work" "/$$folder"
done
# Where the clone itself is in one of these, it stays what all instances share.
case $home in /etc/* | /opt/* | /var/*) mount --rbind /run/home $home ;; esac
umount --recursive --lazy /run/home
mkdir -p $folders
if [ ! -d $data ]; then
  rm -rf $data.new
  cp -a $store $data.new
  for layer in $layers/*; do ln -s "$$layer" "$data.new/$driver/"; done
  mv $data.new $data
fi
cat >/mnt/etc/docker.json <<'CONFIG'
$config
CONFIG
cat >/mnt/etc/docker-runtime <<'SCRIPT'
#!/bin/sh
exec $python -I -S $script "$$@"
SCRIPT
chmod 755 /mnt/etc/docker-runtime
mkdir -p $efs
cat >/mnt/etc/container-mounts.json <<'MOUNTS'
$mounts
MOUNTS
printf '%s\\n' $zone >/mnt/etc/zone
for name in AWS_EC2_ENDPOINT AWS_ENDPOINT_URL_EC2 AWS_ENDPOINT_URL_STS; do
  echo "$$name=$$AWS_EC2_ENDPOINT"
done >/mnt/etc/container.env
echo "AWS_REGION=$$AWS_REGION" >>/mnt/etc/container.env
echo 1 >/proc/sys/net/ipv4/ip_forward

while :; do
  $dockerd --config-file=/mnt/etc/docker.json >>/mnt/docker.log 2>&1
  echo "dockerd ended with status $$?; starting it again" >&2
  sleep 1
done &
until [ -S /run/docker.sock ]; do sleep 0.1; done
""")


def config() -> dict[str, object]:
    """The daemon's configuration, all of it on the instance's own disk and in its own /run."""
    return {
        **machine_daemon.config(_DATA, "/run"),
        "exec-opts": ["native.cgroupdriver=cgroupfs"],
        "runtimes": {_RUNTIME: {"path": "/mnt/etc/docker-runtime"}},
        "default-runtime": _RUNTIME,
    }


def _plugin_folders() -> list[str]:
    tasks = [task for driver in DRIVERS.values() for task in driver.roles.values()]
    return sorted({mount.source for task in tasks for mount in task.host_mounts})


def storage(settings: SandboxSettings) -> dict[str, str]:
    """What the mount helpers of the drivers' images need, by its place in a container."""
    inside, nas = Nas(Path(f"{STORAGE}/nas")), Nas(settings.nas_dir)
    return {
        f"{STORAGE}/zone": "/mnt/etc/zone",
        f"{STORAGE}/efs": str(settings.efs_dir),
        # The folder and not the socket in it, which is another one after a restart of the server.
        str(inside.mount_socket.parent): str(nas.mount_socket.parent),
    }


def boot_script(settings: SandboxSettings, spec: InstanceSpec, store: Store) -> str:
    """Shell that starts the daemon and waits until it takes requests."""
    return _BOOT.substitute(
        home=shlex.quote(str(settings.home)),
        folders=" ".join(_plugin_folders()),
        data=_DATA,
        driver=machine_daemon.DRIVER,
        store=shlex.quote(str(store.data)),
        layers=shlex.quote(str(store.layers)),
        config=json.dumps(config(), indent=2),
        mounts=json.dumps(storage(settings), indent=2),
        efs=shlex.quote(str(settings.efs_dir)),
        zone=shlex.quote(spec.zone),
        python=shlex.quote(sys.executable),
        script=shlex.quote(str(_SCRIPT)),
        dockerd=shlex.quote(find_command("dockerd") or "dockerd"),
    )
