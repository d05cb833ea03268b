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

from nomad_stateful.program import settings
from sandbox.cluster import client
from sandbox.docker import daemon, images, python_packages, runtime, store, tree
from sandbox.docker.errors import DockerError
from sandbox.docker.image import Image
from sandbox.docker.images import catalogue
from sandbox.docker.layers import Layer
from sandbox.docker.store import Store
from sandbox.settings import PROJECT, parse_settings
from sandbox.stack import stack_file
from sandbox.standins.nas.layout import Nas
from tools.examples.recipes import EXAMPLES

SETTINGS = parse_settings({}, Path("/nowhere"))
STORE = Store(Path("/a store"))
MYSQL = Image("mysql", "", (), tag_from="mysql-server-core", series="9.7")
DRIVER = Image("driver", "v1.48.0", ())


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
    images.put_stand_ins(tmp_path)
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


def test_a_boot_script_starts_the_daemon_before_the_client() -> None:
    script = client.user_data(SETTINGS, SETTINGS.instances[0], Path("/nomad"), STORE)
    assert script.index("--config-file=/mnt/etc/docker.json") < script.index("/nomad agent")
    assert "cp -a '/a store/data'" in script


def test_a_client_allows_what_csi_drivers_need_and_its_other_tasks_have_a_root_of_their_own() -> None:
    config = client.config(SETTINGS, SETTINGS.instances[0], STORE)
    assert '"driver.allowlist"     = "docker,exec"' in config
    assert "allow_privileged = true" in config
    assert "raw_exec" not in config
    assert '"/a store/exec-root" = "/"' in config


def test_a_daemon_keeps_everything_on_its_instances_own_disk() -> None:
    config = daemon.config()
    assert config["data-root"] == "/mnt/docker"
    assert all(str(config[key]).startswith("/run/") for key in ("exec-root", "pidfile"))


def test_a_sandbox_without_all_images_refuses_them_and_builds_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, known = parse_settings({}, tmp_path / "home"), tmp_path / "store"
    known.mkdir()
    (known / "images.json").write_text('{"mysql:9.7.4": ""}')
    kept.docker_dir.mkdir(parents=True)
    (kept.docker_dir / "store").write_text(f"{known}\n")
    monkeypatch.setattr(images, "catalogue", lambda _parts: ("mysql 9.7", "mysql 8.4"))
    monkeypatch.setattr(store, "ensure", lambda *_, **__: pytest.fail("images are built"))
    with pytest.raises(DockerError, match="make down"):
        store.of_sandbox(kept, named=store.EVERY_IMAGE)
    assert store.of_sandbox(kept) == Store(known)


def test_of_the_stores_in_the_cache_those_stay_that_a_sandbox_has_or_that_were_used_last(tmp_path: Path) -> None:
    note = tmp_path / "sandbox/docker/store"
    note.parent.mkdir(parents=True)
    for used, number in enumerate((4, 1, 5, 0, 3, 2)):
        folder = tmp_path / f"store-{number}"
        folder.mkdir()
        (folder / "users").write_text(f"{note}\n/gone/note\n")
        os.utime(folder, (used, used))
    note.write_text(f"{tmp_path / 'store-1'}\n")
    store.prune(tmp_path)
    assert sorted(one.name for one in tmp_path.glob("store-*")) == ["store-0", "store-1", "store-2", "store-3"]


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
    notes = {image.repository: image.note for image in catalogue(None) if not image.seldom}
    assert notes["mysql"] == "own entrypoint"
    assert notes["public.ecr.aws/ebs-csi-driver/aws-ebs-csi-driver"] == "stand-in"


@pytest.mark.nomad
@pytest.mark.parametrize("name", ["Pulumi.dev.yaml", *(f"examples/Pulumi.{example.name}.yaml" for example in EXAMPLES)])
def test_there_is_an_image_for_all_that_a_stack_of_the_sandbox_runs(name: str) -> None:
    text = (PROJECT / name).read_text(encoding="utf-8")
    for kind in ("snap", "fs"):
        text = text.replace(f"{kind}-EXAMPLE", f"{kind}-0123456789abcdef0")
    config = yaml.safe_load(text)["config"]
    known = settings.parse(
        {key.removeprefix("nomad-stateful:"): value for key, value in config.items() if "aws:" not in key}
    )
    named = [one.pinned_image for one in known.plugins] + [str(one.image) for one in known.consumers]
    named += [known.database.image] if known.database else []
    catalogued = catalogue(None)
    asked = stack_file.images(PROJECT / name)
    there = [one for one in catalogued if not one.seldom or any(one.is_named(image) for image in asked)]
    for repository, _, tag in (image.rpartition(":") for image in named):
        # Debian says which version of the others there is.
        assert any(one.repository == repository and one.tag in ("", tag) for one in there)


@pytest.mark.parametrize(
    ("tag", "tag_from", "names"),
    [
        ("", "server", ["x:9.7.4", "x:9.7", "x:9"]),
        ("v", "server", ["x:v9.7.4", "x:v9.7", "x:v9"]),
        ("v1.2", "", ["x:v1.2"]),
    ],
)
def test_an_image_with_debians_version_has_the_names_of_its_series_too(
    tmp_path: Path, tag: str, tag_from: str, names: list[str]
) -> None:
    (tmp_path / "packages").write_text("server\t9.7.4-1\n")
    assert Image("x", tag, (), tag_from=tag_from).names((Layer(tmp_path),)) == names


@pytest.mark.parametrize(
    ("name", "image"),
    [
        ("mysql:9.7", MYSQL),
        ("mysql:9.7.4", MYSQL),
        ("mysql:9", None),
        ("mysql:9.70", None),
        ("driver:v1.48.0", DRIVER),
        ("driver:v1.48.1", None),
        ("busybox:1.37.0", None),
        ("redis:8", None),
    ],
)
def test_an_image_that_is_pulled_is_not_built(
    name: str, image: Image | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busybox = Image("busybox", "", (), tag_from="busybox-static")
    monkeypatch.setattr(images, "catalogue", lambda _parts: (MYSQL, DRIVER, busybox))
    pulls = parse_settings({"images": {name: f"docker.io/x/y@sha256:{'0' * 64}"}}, tmp_path)
    expected = [one for one in (MYSQL, DRIVER, busybox) if one is not image]
    assert list(store._built(pulls, None)) == expected


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
