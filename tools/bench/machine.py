"""What a measurement was made with: machine and versions, in words."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from nomad_stateful.drivers.catalogue import DRIVERS
from sandbox.docker import machine_daemon, store
from sandbox.settings import SandboxSettings
from sandbox.stack import plugin_home
from tools.trial.running import Running

_SDKS = ("pulumi", "pulumi-aws", "pulumi-nomad", "moto", "boto3")


def facts(running: Running, settings: SandboxSettings) -> dict[str, str]:
    """Names and values, in the order to show."""
    path = running.env["PATH"]
    sdks = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _SDKS)
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "machine": f"{_cpu()}, {os.cpu_count()} cores, {_memory_gib():.0f} GiB of memory",
        "system": f"{_system()}, Linux {platform.release()}, Python {platform.python_version()}",
        "Nomad": f"{_first_line('nomad', 'version', path=path)}; one server, {len(settings.instances)} clients",
        "Pulumi": f"{_first_line('pulumi', 'version', path=path)}; plugins {plugin_home.kinds(settings)}",
        "SDKs": sdks,
        "containers": ", ".join([machine_daemon.version(), *_images(settings)]),
        "EC2": "the sandbox's stand-in",
        "load before": f"{os.getloadavg()[0]:.1f}",
    }


def _images(settings: SandboxSettings) -> list[str]:
    """Those that the stack runs, each with where its program is from."""
    wanted = ("mysql:", f"{DRIVERS['ebs'].image}:")
    names = store.of_sandbox(settings).names.items()
    return [f"{name.rpartition('/')[2]} ({note})" for name, note in names if name.startswith(wanted)]


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _system() -> str:
    return platform.freedesktop_os_release().get("PRETTY_NAME", sys.platform)


def _first_line(*command: str, path: str) -> str:
    program = shutil.which(command[0], path=path)
    if program is None:
        return "none"
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
    return (done.stdout.splitlines() or [""])[0].removeprefix(f"{program} ").strip()
