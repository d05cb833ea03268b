"""The daemon: moto's API on the gateway's address, and behind it the hypervisor."""

from __future__ import annotations

import json
import logging
import os
import platform
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sandbox.cloud import notices
from sandbox.cloud.credentials import aws_credentials
from sandbox.cloud.lifecycle.api import CLOCK_PATH, LifecycleApi
from sandbox.machine import ami, control_groups, network
from sandbox.machine.errors import CloudError
from sandbox.settings import CODE, SandboxSettings
from sandbox.standins.nas import file_server
from sandbox.standins.nas.file_server import FileServer

if TYPE_CHECKING:
    from sandbox.cloud.calls import CallRecorder
    from sandbox.cloud.gate import Gate
    from sandbox.machine.hypervisor import Hypervisor

LOG: Final = logging.getLogger(__name__)

ACCOUNT_ID: Final = "123456789012"
CALL_LOG: Final = "ec2-calls.jsonl"
LIMIT_MODIFICATIONS: Final = "NOMAD_STATEFUL_EC2_LIMIT_MODIFICATIONS"
"""Set, a volume can be modified four times a day only, as on EC2."""

_FOLLOW_S: Final = 30.0
_NOTICE_S: Final = 0.5

# Instances have their own ones of these folders.
_HIDDEN_IN_INSTANCES: Final = ("/mnt", "/run", "/dev", "/proc")


def serve(settings: SandboxSettings) -> None:
    """Serves until SIGTERM or SIGINT, then takes everything down that it made.

    Raises:
        CloudError: the cloud cannot be made on this machine.
    """
    _check_places(settings)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    os.umask(0o077)
    network.create_bridge(settings)
    try:
        # Whoever has the bridge has the name: what an earlier sandbox left under it is in nobody's use.
        control_groups.remove(control_groups.of_sandbox(settings))
        with _file_server(settings) as started:
            hypervisor, app = _make_cloud(settings)
            try:
                started.result()
                _serve_api(settings, _gate(settings, app), stop)
            finally:
                hypervisor.stop_all()
                app.close()
    finally:
        shutil.rmtree(settings.home / "ec2", ignore_errors=True)
        with suppress(CloudError):
            control_groups.remove(control_groups.of_sandbox(settings))
        network.remove_bridge(settings)
        LOG.info("down")


@contextmanager
def _file_server(settings: SandboxSettings) -> Iterator[Future[FileServer]]:
    """The file server, which comes up while the cloud does and goes down after its instances."""
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(file_server.start, settings)
        try:
            yield started
        finally:
            with suppress(CloudError):
                started.result().stop()


def _make_cloud(settings: SandboxSettings) -> tuple[Hypervisor, CallRecorder]:
    _prepare_moto(settings)
    # After the preparation: moto reads its settings when it is imported.
    from moto.ec2.models import ec2_backends
    from moto.server import DomainDispatcherApplication, create_backend_app

    from sandbox.cloud import faults, moto_facts, moto_hooks
    from sandbox.cloud.authorization import Account, Questions
    from sandbox.cloud.calls import CallRecorder
    from sandbox.cloud.ebs import ElasticBlockStore
    from sandbox.cloud.efs import ElasticFileSystem
    from sandbox.cloud.fault_answers import FaultyApi
    from sandbox.cloud.power import Power
    from sandbox.cloud.volume_faults import VolumeFaults
    from sandbox.machine.hypervisor import Hypervisor
    from sandbox.machine.imds import ImdsServer, MetadataService
    from sandbox.machine.volumes import VolumeStore

    credentials = moto_facts.RoleCredentials()

    def serve_metadata(instance_id: str, pid: int) -> ImdsServer:
        backend = ec2_backends[ACCOUNT_ID][settings.region]
        instance = backend.get_instance(instance_id)
        boot_devices = dict(power.boot_devices.get(instance_id, {}))
        service = MetadataService(
            lambda: moto_facts.instance_facts(backend, instance, boot_devices, _told(settings, instance_id)),
            lambda: credentials.document(backend, instance),
        )
        return ImdsServer(pid, service)

    store = VolumeStore(settings.volume_dir)
    hypervisor = Hypervisor(settings, store, serve_metadata)
    power = Power(settings, hypervisor)
    ebs = ElasticBlockStore(hypervisor, store, limit_modifications=bool(os.environ.get(LIMIT_MODIFICATIONS)))
    moto_hooks.install(ebs, power, ElasticFileSystem(settings.efs_dir))
    in_force = faults.Faults(faults.fault_file(settings))
    moto_hooks.install_faults(VolumeFaults(in_force))
    _warm_up(ec2_backends[ACCOUNT_ID][settings.region])
    resources = moto_facts.KnownResources(ec2_backends[ACCOUNT_ID][settings.region])
    lifecycle = LifecycleApi(
        DomainDispatcherApplication(create_backend_app),
        lambda region: ec2_backends[ACCOUNT_ID][region],
        lambda arn: moto_facts.trusts_lifecycle_manager(arn, ACCOUNT_ID),
        ACCOUNT_ID,
    )
    threading.Thread(target=_follow, args=(lifecycle,), name="lifecycle", daemon=True).start()
    backend = ec2_backends[ACCOUNT_ID][settings.region]
    ending = threading.Thread(target=_carry_out, args=(settings, backend), name="notices", daemon=True)
    ending.start()
    app = CallRecorder(
        FaultyApi(lifecycle, in_force),
        settings.log_dir / CALL_LOG,
        lambda access_key_id: moto_facts.caller_of(access_key_id, ACCOUNT_ID),
        Questions(Account("aws", settings.region, ACCOUNT_ID), resources).of,
        hypervisor.mounted_at,
    )
    return hypervisor, app


def _follow(lifecycle: LifecycleApi) -> None:
    """Takes snapshots as they become due by the machine's own clock."""
    while True:
        time.sleep(_FOLLOW_S)
        try:
            lifecycle.follow()
        except Exception:
            LOG.exception("snapshots that were due could not be taken")


def _told(settings: SandboxSettings, instance_id: str) -> dict[str, str]:
    """What an instance's metadata says of its end."""
    found = [one for one in notices.read(notices.notice_file(settings)) if one.instance_id == instance_id]
    return {path: text for one in found for path, text in one.metadata().items()}


def _carry_out(settings: SandboxSettings, backend: Any) -> None:
    """Takes instances away at the time that they were told."""

    def terminate(instance_id: str) -> None:
        LOG.info("%s is taken away, as it was told", instance_id)
        backend.terminate_instances([instance_id])

    while True:
        time.sleep(_NOTICE_S)
        try:
            notices.carry_out(notices.notice_file(settings), terminate)
        except Exception:
            LOG.exception("an instance could not be taken away")


def _warm_up(backend: Any) -> None:
    # Whoever asks first would wait a second for moto to load its tables.
    backend.describe_availability_zones()
    LOG.info("moto is ready with the zones of %s", backend.region_name)


def _gate(settings: SandboxSettings, app: CallRecorder) -> Gate:
    """The gate before the API, for the keys that the sandbox gave out and gives out."""
    from sandbox.cloud.gate import Gate
    from sandbox.cloud.keys import given_out

    own = aws_credentials(settings)
    return Gate(app, given_out(own), own.access_key_id, {CLOCK_PATH})


def _serve_api(settings: SandboxSettings, app: Gate, stop: threading.Event) -> None:
    from moto.server import MotoRequestHandler
    from werkzeug.serving import make_server

    class Handler(MotoRequestHandler):  # type: ignore[misc]
        def log_request(self, *args: Any) -> None:
            """Calls have a record of their own."""

    try:
        server = make_server(str(settings.gateway), settings.ec2_port, app, threaded=True, request_handler=Handler)
    except (OSError, SystemExit) as error:
        raise CloudError(
            f"ports.ec2 is {settings.ec2_port}: another program listens on that port of every address. "
            "Use a free port in sandbox.toml."
        ) from error
    server.daemon_threads = True
    # Linux answers for the gateway's address on every interface; who is not in the sandbox's network is no caller.
    server.verify_request = lambda _connection, client: network.is_inside(settings, client[0])
    thread = threading.Thread(target=server.serve_forever, name="api", daemon=True)
    thread.start()
    LOG.info("serving EC2, IAM and STS at %s", settings.ec2_url)
    stop.wait()
    LOG.info("going down")
    server.shutdown()
    server.server_close()


def _prepare_moto(settings: SandboxSettings) -> None:
    folder = settings.home / "ec2"
    for path in (folder, settings.volume_dir, settings.instance_dir, settings.efs_dir, settings.log_dir):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    images = folder / "images.json"
    images.write_text(json.dumps([ami.image(platform.machine())]), encoding="utf-8")
    os.environ["MOTO_AMIS_PATH"] = str(images)
    # moto makes calls to itself on some paths; they must not leave the machine.
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "AWS_PROFILE", "AWS_CA_BUNDLE"):
        os.environ.pop(name, None)


def _check_places(settings: SandboxSettings) -> None:
    if os.geteuid() != 0:
        raise CloudError("the sandbox makes network links, mounts and loop devices: run it as root")
    for what, place in (("project", CODE), ("sandbox's home", settings.home.resolve())):
        for hidden in _HIDDEN_IN_INSTANCES:
            if place.is_relative_to(Path(hidden)):
                raise CloudError(
                    f"the {what} is {place}: instances have a {hidden} of their own and would not see it. "
                    "Move it to another folder."
                )
