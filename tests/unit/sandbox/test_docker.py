import ast
import json
import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
import yaml

from program import settings
from sandbox.cluster import client
from sandbox.docker import daemon, images, python_packages, runtime, stack, tree
from sandbox.docker.images import catalogue
from sandbox.docker.store import Store
from sandbox.settings import PROJECT, SandboxError, parse_settings
from sandbox.standins.nas.layout import Nas
from tools.examples import containers
from tools.examples.recipes import EXAMPLES

SETTINGS = parse_settings({"docker": True}, Path("/nowhere"))


def rendered(text: str) -> str:
    return stack.render(text, SETTINGS, {"mysql": "9.7.4"}.__getitem__)


def test_the_stack_is_the_examples_but_for_marked_lines_sizes_and_image_tags() -> None:
    example = stack.EXAMPLE.read_text(encoding="utf-8")
    before, after = example.splitlines(), rendered(example).splitlines()
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        if old != new:
            assert "# <" in old or old.strip().startswith(("sizeGib:", "image:"))
            assert old.partition(":")[0] == new.partition(":")[0]


def test_the_stack_has_the_sandboxs_account_zones_and_role() -> None:
    config = yaml.safe_load(rendered(stack.EXAMPLE.read_text(encoding="utf-8")))["config"]
    assert config["aws:allowedAccountIds"] == ["123456789012"]
    volumes = config["nomad-stateful:volumes"]
    assert [volume["zone"] for volume in volumes] == ["us-west-2a", "us-west-2b"]
    assert not any(volume["protect"] for volume in volumes)
    assert config["nomad-stateful:mysql"]["image"] == "mysql:9.7.4"


def test_a_marked_line_that_the_sandbox_has_no_value_for_is_refused() -> None:
    with pytest.raises(SandboxError, match="aws:profile"):
        rendered("config:\n  aws:profile: prod # <\n")


def test_a_container_keeps_the_capabilities_that_the_machine_has() -> None:
    process = {"capabilities": {"bounding": ["CAP_CHOWN", "CAP_SYS_RESOURCE"], "ambient": None}, "env": ["A=1"]}
    runtime.adapt(process, {"CAP_CHOWN"}, ["A=2", "B=3"])
    assert process["capabilities"] == {"bounding": ["CAP_CHOWN"], "ambient": []}
    assert process["env"] == ["A=1", "B=3"]


def test_only_a_container_that_may_mount_sees_the_file_servers() -> None:
    places = {"/run/sandbox/efs": "/the sandbox/efs"}
    may: dict[str, Any] = {"process": {"capabilities": {"effective": ["CAP_SYS_ADMIN"]}}, "mounts": [{"type": "proc"}]}
    may_not: dict[str, Any] = {"process": {"capabilities": {"effective": ["CAP_CHOWN"]}}, "mounts": [{"type": "proc"}]}
    for config in (may, may_not):
        runtime.show(config, places)
    assert [mount.get("source") for mount in may["mounts"]] == [None, "/the sandbox/efs"]
    assert may_not["mounts"] == [{"type": "proc"}]


def test_a_container_sees_of_the_file_server_no_key_and_no_dataset() -> None:
    nas = Nas(SETTINGS.nas_dir)
    shown = [Path(path) for path in daemon.storage(SETTINGS).values()]
    assert any(path in nas.mount_socket.parents for path in shown)
    for private in (nas.key_file, nas.host_key, nas.root, nas.datasets_file, nas.authorized_keys):
        assert not any(path in (private, *private.parents) for path in shown)


def test_the_images_mount_helpers_need_nothing_that_is_not_in_the_image(tmp_path: Path) -> None:
    images._stand_ins(tmp_path, tmp_path)
    helpers = tmp_path / "usr/sbin"
    assert {path.name for path in helpers.iterdir()} == {"mount.efs", "mount.nfs", "mount.nfs4"}
    for path in helpers.iterdir():
        command = path.read_text(encoding="ascii").replace("/opt/stand-ins", str(tmp_path / "opt/stand-ins"))
        done = subprocess.run(
            ["sh", "-c", command, path.name, "nowhere:/x", str(tmp_path)],
            cwd="/",
            env={"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 32, done.stderr
        assert "Failed to resolve" in done.stderr


def test_the_runtime_rewrites_what_is_created_and_becomes_runc(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"process": {"capabilities": {"bounding": ["CAP_NONE"]}}}))
    argv = ["--root", "/r", "create", "--bundle", str(tmp_path), "id"]
    program = f"""
import sys
sys.path.insert(0, {str(Path(runtime.__file__).parent)!r})
import os, runtime
os.execv = lambda _, words: print(*words)
runtime.main(sys.argv[1:])
"""
    command = ["python3", "-I", "-S", "-c", program, *argv]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["runc", *argv]
    assert json.loads((tmp_path / "config.json").read_text())["process"]["capabilities"] == {"bounding": []}


def test_a_boot_script_with_docker_is_a_shell_script_and_starts_the_daemon_before_the_client() -> None:
    script = client.user_data(SETTINGS, SETTINGS.instances[0], Path("/nomad"), Path("/proto"), Store(Path("/a store")))
    subprocess.run(["/bin/sh", "-n"], input=script, text=True, check=True)
    assert script.index("--config-file=/mnt/etc/docker.json") < script.index("/nomad agent")
    assert "cp -a '/a store/data'" in script


def test_a_client_with_docker_allows_what_csi_drivers_need() -> None:
    config = client.config(SETTINGS, SETTINGS.instances[0])
    assert '"driver.allowlist"     = "docker,exec"' in config
    assert "allow_privileged = true" in config
    assert "raw_exec" not in config


def test_a_daemon_keeps_everything_on_its_instances_own_disk() -> None:
    config = daemon.config()
    assert config["data-root"] == "/mnt/docker"
    assert all(str(config[key]).startswith("/run/") for key in ("exec-root", "pidfile"))


def test_the_same_tree_is_the_same_layer(tmp_path: Path) -> None:
    digests: list[str] = []
    for name in ("one", "two"):
        folder = tmp_path / name
        (folder / "bin").mkdir(parents=True)
        (folder / "bin/program").write_text("x")
        os.utime(folder / "bin/program", (len(digests), len(digests)))
        digests.append(tree.pack(folder, tmp_path / f"{name}.tar"))
    assert digests[0] == digests[1]


@pytest.mark.nomad
def test_without_official_parts_the_images_hold_the_stand_ins_under_the_names_that_stacks_pull() -> None:
    notes = {image.repository: image.note for image in catalogue(None) if not image.older}
    assert notes["mysql"] == "own entrypoint"
    assert notes["public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver"] == "stand-in"


@pytest.mark.parametrize("name", [example.name for example in EXAMPLES])
def test_an_example_in_containers_runs_nothing_of_the_machine(tmp_path: Path, name: str) -> None:
    path = tmp_path / "Pulumi.x.yaml"
    text = (PROJECT / f"examples/Pulumi.{name}.yaml").read_text(encoding="utf-8")
    for kind in ("snap", "fs"):
        text = text.replace(f"{kind}-EXAMPLE", f"{kind}-0123456789abcdef0")
    path.write_text(text, encoding="utf-8")
    containers.rewrite(path, {"mysql": "9.7.4", "busybox": "1.38.0"}.__getitem__)
    config = yaml.safe_load(path.read_text(encoding="utf-8"))["config"]
    known = settings.parse(
        {key.removeprefix("nomad-stateful:"): value for key, value in config.items() if "aws:" not in key}
    )
    drivers = {plugin.task_driver for plugin in known.plugins} | {consumer.task_driver for consumer in known.consumers}
    assert drivers | ({known.mysql.task_driver} if known.mysql else set()) == {"docker"}
    assert {consumer.image for consumer in known.consumers} <= {"busybox:1.38.0"}
    assert all(consumer.command for consumer in known.consumers)


def test_the_images_python_has_every_package_that_the_stand_ins_import() -> None:
    roots = set()
    for path in images._stand_in_files():
        for found in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(found, ast.Import):
                roots |= {alias.name.partition(".")[0] for alias in found.names}
            elif isinstance(found, ast.ImportFrom) and not found.level:
                roots.add((found.module or "").partition(".")[0])
    bring = packages_distributions()
    # What only the type checker imports is not there when it runs.
    others = {name for name in roots if not name.startswith("mypy_")} - sys.stdlib_module_names - {"sandbox", "tools"}
    assert {"grpc", "boto3"} <= others
    assert [name for name in sorted(others) if not set(bring.get(name, [])) & set(python_packages.STAND_INS)] == []
