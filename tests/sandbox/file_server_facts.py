"""What the file server and democratic-csi's node do, as one JSON document: `file_server_facts.py FOLDER`.

It wants namespaces of its own. The commands are those that democratic-csi sends, word for word.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import asyncssh
import grpc
from google.protobuf.message_factory import GetMessageClass

from sandbox.standins.csi import mounter
from sandbox.standins.csi.csi_proto import csi
from sandbox.standins.csi.errors import CsiError
from sandbox.standins.democratic_csi.node import NfsNode
from sandbox.standins.nas.file_server import FileServer
from tests.sandbox import storage_rig

SHARE = "nas:/mnt/tank/csi/pvc-1"
FIELDS = "name,property,value,received,source"
COMMANDS = (
    "echo $0",
    "whoami",
    f"/sbin/zfs get -Hp -o {FIELDS} volsize,refquota tank/csi/pvc-1",
    '/sbin/zfs create -p -o democratic-csi:csi_volume_name="pvc-1" tank/csi/pvc-1',
    '/sbin/zfs set refquota="1048576" tank/csi/pvc-1',
    f"/sbin/zfs get -Hp -o {FIELDS} mountpoint,refquota,compression,democratic-csi:csi_volume_name tank/csi/pvc-1",
    "chmod 0777 /mnt/tank/csi/pvc-1",
    "chown 0:0 /mnt/tank/csi/pvc-1",
    '/sbin/zfs set sharenfs="on" tank/csi/pvc-1',
    '/sbin/zfs set democratic-csi:csi_share_volume_context="{\\"server\\":\\"nas\\"}" tank/csi/pvc-1',
    "/sbin/zfs list -r -Hp -t filesystem -o name,refquota,democratic-csi:csi_share_volume_context tank/csi",
    "/sbin/zfs get -Hp -o name,property,value,received,source avail tank/csi",
    "/sbin/zfs snapshot tank/csi/pvc-1@s",
    "/sbin/zfs clone tank/csi/pvc-1@s tank/csi/copy",
    "/sbin/zfs inherit sharenfs tank/csi/copy",
    "/sbin/zfs destroy -r -f -p -d tank/csi/pvc-1@s",
    "/sbin/zfs destroy -r -f -p tank/csi/copy",
    "/sbin/zfs destroy -r -f -p tank/csi/copy",
    "touch /etc/written-by-the-file-server",
)


async def _login(folder: Path, **other: Any) -> asyncssh.SSHClientConnection:
    known: dict[str, Any] = {"username": "root", "client_keys": [str(folder / "nas/id_ed25519")]}
    # The server proves to be who it is.
    host_key = asyncssh.read_private_key(str(folder / "nas/ssh_host_ed25519_key")).convert_to_public()
    options = {"known_hosts": ([host_key], [], []), "config": None, "agent_path": None, **known, **other}
    return await asyncssh.connect(storage_rig.HOST, **options)


async def _commands(folder: Path) -> list[list[Any]]:
    async with await _login(folder) as connection:
        done = [await connection.run(command) for command in COMMANDS]
    return [[one.exit_status, str(one.stdout) + str(one.stderr)] for one in done]


async def _refused(folder: Path) -> dict[str, str]:
    stranger = asyncssh.generate_private_key("ssh-ed25519")
    ways: dict[str, dict[str, Any]] = {
        "another key": {"client_keys": [stranger]},
        "a password": {"client_keys": [], "password": "root"},
        "another user": {"username": "nobody"},
    }
    said = {}
    for way, options in ways.items():
        try:
            (await _login(folder, **options)).close()
            said[way] = "let in"
        except asyncssh.PermissionDenied:
            said[way] = "refused"
    return said


def _find(path: Path, source: str) -> dict[str, Any]:
    """What upstream asks to know whether a share is mounted somewhere."""
    columns = "source,target,fstype,label,options,avail,size,used"
    words = ["findmnt", "--source", source, "--mountpoint", str(path), "--output", columns, "-b", "-J", "--nofsroot"]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    return dict(json.loads(done.stdout)["filesystems"][0]) if done.returncode == 0 else {}


def _mount(source: str, target: Path, options: str = "nolock") -> str:
    words = ["mount", "-t", "nfs", "-o", options, source, str(target)]
    return subprocess.run(words, check=False, capture_output=True, text=True).stderr.strip()


def _mounts(folder: Path) -> dict[str, Any]:
    target, second = folder / "target", folder / "second"
    target.mkdir()
    second.mkdir()
    facts: dict[str, Any] = {"first": _mount(SHARE, target), "found": _find(target, SHARE)}
    facts |= {"again": _mount(SHARE, target), "read only": _mount(SHARE, second, "ro,vers=4.2")}
    (target / "file").write_text("shared")
    facts["seen"] = (second / "file").read_text()
    facts["write"] = subprocess.run(["touch", str(second / "x")], check=False, capture_output=True, text=True).stderr
    # From within: the folders above are the tests' own.
    subprocess.run(["setpriv", "--reuid=1234", "--clear-groups", "touch", "own"], cwd=target, check=True)
    facts["owner"] = (folder / "nas/root/tank/csi/pvc-1/own").stat().st_uid
    facts["not exported"] = _mount("nas:/mnt/tank/csi", folder)
    for place in (target, second):
        subprocess.run(["umount", "--force", str(place)], check=True)
    facts["left"] = _find(target, SHARE)
    return facts


def _stage_request(staging: Path) -> Any:
    request = csi.NodeStageVolumeRequest(volume_id="pvc-1", staging_target_path=str(staging))
    request.volume_context.update({"node_attach_driver": "nfs", "server": "nas", "share": SHARE.partition(":")[2]})
    request.volume_capability.mount.mount_flags.append("nolock")
    request.volume_capability.access_mode.mode = csi.VolumeCapability.AccessMode.MULTI_NODE_MULTI_WRITER
    return request


def _stages(folder: Path) -> dict[str, Any]:
    node, staging = NfsNode(knows_multi_writer=True), folder / "staging"
    request = _stage_request(staging)
    for _ in range(2):
        node.node_stage_volume(request, None)
    facts: dict[str, Any] = {"mounted": Path("/proc/self/mountinfo").read_text().count(f" {staging} ")}
    unstage = csi.NodeUnstageVolumeRequest(volume_id="pvc-1", staging_target_path=str(staging))
    node.node_unstage_volume(unstage, None)
    facts["staging folder"] = staging.exists()

    def attempt(_: int) -> str:
        try:
            node.node_stage_volume(request, None)
        except CsiError as error:
            return f"{error.code.name}: {error.message}"
        return "staged"

    with ThreadPoolExecutor(4) as pool:
        facts["at once"] = sorted(set(pool.map(attempt, range(4))))
    node.node_unstage_volume(unstage, None)
    # What a share shown by a bind mount would do.
    staging.mkdir()
    mounter.bind(str(folder / "nas/root/tank/csi/pvc-1"), str(staging), [])
    facts["bind mount"] = _code(lambda: node.node_unstage_volume(unstage, None))
    return facts


def _code(call: Any) -> str:
    try:
        call()
    except CsiError as error:
        return error.code.name
    return "OK"


def _probe(endpoint: str) -> str:
    with grpc.insecure_channel(endpoint) as channel:
        method = csi.DESCRIPTOR.services_by_name["Identity"].methods_by_name["Probe"]
        call = channel.unary_unary(
            "/csi.v1.Identity/Probe",
            request_serializer=GetMessageClass(method.input_type).SerializeToString,
            response_deserializer=GetMessageClass(method.output_type).FromString,
        )
        try:
            return "ready" if call(csi.ProbeRequest(), timeout=30).ready.value else "not ready"
        except grpc.RpcError as error:
            return f"{error.code().name}: {error.details()}"


def _probes(folder: Path, commands: dict[str, list[str]]) -> dict[str, str]:
    """A controller's answer with the key that the server knows, and with another."""
    said = {}
    config = folder / "zfs.yaml"
    with storage_rig.driver(folder, commands["zfs"], "known") as endpoint:
        said["known key"] = _probe(endpoint)
    key = "".join(f"    {line}\n" for line in (folder / "nas/id_ed25519").read_text().splitlines())
    other = asyncssh.generate_private_key("ssh-ed25519").export_private_key().decode()
    block = "".join(f"    {line}\n" for line in other.splitlines())
    config.write_text(config.read_text().replace(key.rstrip("\n"), block.rstrip("\n")))
    with storage_rig.driver(folder, commands["zfs"], "other") as endpoint:
        said["another key"] = _probe(endpoint)
    return said


def main(folder: Path) -> int:
    """Prints the facts; the exit status."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    server = FileServer(folder / "nas", folder / "nas.log", storage_rig.HOST, None)
    try:
        commands = storage_rig.prepare(folder)
        facts = {
            "commands": asyncio.run(_commands(folder)),
            "logins": asyncio.run(_refused(folder)),
            "mounts": _mounts(folder),
            "stages": _stages(folder),
            "probes": _probes(folder, commands),
        }
    finally:
        server.stop()
    facts["without server"] = _mount(SHARE, folder / "target")
    (folder / "facts.json").write_text(json.dumps(facts))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
