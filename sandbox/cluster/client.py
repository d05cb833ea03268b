"""The user data of an instance: a boot script that runs a Nomad client, as an AMI's systemd unit would."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Final

from sandbox.cluster import tls
from sandbox.cluster.server import KEEP_ALIVE
from sandbox.docker import daemon
from sandbox.docker.store import Store
from sandbox.settings import CODE, InstanceSpec, SandboxSettings

_DATA_DIR: Final = "/mnt/nomad"
_SCRIPTS: Final = CODE / "examples/clients"
STOP_S: Final = 110
"""How long a client may take to leave."""

_CONFIG: Final = Template("""\
name      = "$name"
data_dir  = "$data_dir"
bind_addr = "$address"

advertise {
  http = "$address"
  rpc  = "$address"
  serf = "$address"
}

ports {
  http = $http_port
}

log_level            = "INFO"
disable_update_check = true

# As docs/clients.md has it: a client that is shut down drains, and so lets go of its volumes.
leave_on_terminate = true
leave_on_interrupt = true

acl {
  enabled = true
}

telemetry {
  prometheus_metrics         = true
  publish_allocation_metrics = true
  publish_node_metrics       = true
  disable_hostname           = true
}
$tls$rpc
consul {
  auto_advertise   = false
  server_auto_join = false
  client_auto_join = false
}

client {
  enabled           = true
  servers           = $servers
  network_interface = "eth0"

  drain_on_shutdown {
    deadline           = "90s"
    ignore_system_jobs = true
    force              = false
  }

  # What the instance type has, rather than the whole machine that the instances share.
  memory_total_mb = 4096

  # env_aws stays: this instance has a metadata service. Of the others each would ask that service in vain.
  options = {
    "fingerprint.denylist" = "env_gce,env_azure,env_digitalocean,consul,vault"
    "driver.allowlist"     = "$drivers"
  }

  # The root of exec tasks: a small one, since it is copied for each task.
  chroot_env = {
    "$exec_root" = "/"
  }
}

# As on an instance that runs CSI drivers in containers; images stay, since nothing could be pulled again.
plugin "docker" {
  config {
    endpoint         = "$socket"
    allow_privileged = true

    volumes {
      enabled = true
    }

    gc {
      image = false
    }
  }
}
""")

_BOOT: Final = Template("""\
#!/bin/sh
# Boot script of $name: runs its Nomad client for as long as the instance lives.
set -u

export PATH=$path
export AWS_EC2_ENDPOINT=$ec2_url AWS_REGION=$region
# Where it is set it keeps the client from asking the metadata service.
unset AWS_CA_BUNDLE

mkdir -p $data_dir /mnt/etc
cat >/mnt/etc/nomad.hcl <<'CONFIG'
$config
CONFIG

# What `systemctl stop nomad` is elsewhere, with a TimeoutStopSec of $stop_s s; a shutdown runs it first.
cat >/mnt/etc/shutdown <<'STOP'
#!/bin/sh
touch /mnt/etc/leaving
pid=$$(cat /mnt/etc/nomad.pid 2>/dev/null) && kill -TERM "$$pid" 2>/dev/null || exit 0
left=$stop_s
while kill -0 "$$pid" 2>/dev/null; do
  [ "$$left" -gt 0 ] || kill -KILL "$$pid"
  left=$$((left - 1))
  sleep 1
done
STOP
chmod 755 /mnt/etc/shutdown
rm -f /mnt/etc/leaving /mnt/etc/nomad.pid

$docker
STOP=/mnt/etc/shutdown sh $let_go &
env PATH=$nomad_bin:$$PATH DATA_DIR=$data_dir NOMAD_ADDR=$nomad_url TOKEN_FILE=$token $nomad_tls sh $come_back &

# A client that ends, for whatever reason, is started again, unless it was stopped; its tasks go on meanwhile.
while :; do
  $nomad agent -config=/mnt/etc/nomad.hcl &
  echo "$$!" >/mnt/etc/nomad.pid
  wait "$$!"
  echo "nomad ended with status $$?" >&2
  [ ! -e /mnt/etc/leaving ] || break
  sleep 1
done
""")


TASK_DRIVERS: Final = ("docker", "exec")
"""Of a client: those that one on AWS has by default."""


def config(settings: SandboxSettings, spec: InstanceSpec, store: Store) -> str:
    """The client's configuration."""
    return _CONFIG.substitute(
        name=spec.name,
        data_dir=_DATA_DIR,
        address=settings.instance_address(spec),
        http_port=settings.nomad_http_port,
        servers=json.dumps([f"{one.address}:{settings.nomad_rpc_port}" for one in settings.nomad_servers]),
        rpc=_block("rpc", KEEP_ALIVE) if settings.servers > 1 else "",
        exec_root=store.exec_root,
        tls=_tls_block(settings),
        drivers=",".join(TASK_DRIVERS),
        socket=daemon.SOCKET,
    )


def _tls_block(settings: SandboxSettings) -> str:
    # Names of files alone: whoever may describe an instance reads its user data.
    return _block("tls", tls.agent_block(settings, "client"))


def _block(name: str, values: Mapping[str, object]) -> str:
    return "\n".join(["", f"{name} {{", *(f"  {key} = {json.dumps(value)}" for key, value in values.items()), "}", ""])


def user_data(settings: SandboxSettings, spec: InstanceSpec, nomad: Path, store: Store) -> str:
    """The boot script of an instance, which runs a docker daemon on a store of images, and a Nomad client."""
    path = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"]
    return _BOOT.substitute(
        name=spec.name,
        path=shlex.quote(":".join(map(str, [*path, "/sbin", "/bin"]))),
        ec2_url=shlex.quote(settings.ec2_url),
        region=shlex.quote(settings.region),
        data_dir=_DATA_DIR,
        config=config(settings, spec, store).rstrip(),
        docker=daemon.boot_script(settings, spec, store),
        nomad=shlex.quote(str(nomad)),
        nomad_bin=shlex.quote(str(nomad.parent)),
        nomad_url=shlex.quote(settings.nomad_url),
        nomad_tls=" ".join(f"{name}={shlex.quote(value)}" for name, value in tls.variables(settings).items()),
        # A file of the machine, as it would come from a store of secrets: user data is no secret.
        token=shlex.quote(str(settings.nomad_dir / "operator.token")),
        let_go=shlex.quote(str(_SCRIPTS / "let-go.sh")),
        come_back=shlex.quote(str(_SCRIPTS / "come-back.sh")),
        stop_s=STOP_S,
    )
