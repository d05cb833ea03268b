"""Images as `docker load` takes them: https://github.com/moby/moby/blob/master/image/spec/v1.2.md"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping
from pathlib import Path

from sandbox.docker.image import Image
from sandbox.docker.layers import Layer


def write(target: Path, images: Mapping[Image, tuple[Layer, ...]]) -> None:
    """Writes one archive with all the images, each layer in it once."""
    manifest = []
    with tarfile.open(target, "w") as archive:
        packed: set[str] = set()
        for image, layers in images.items():
            config = json.dumps(_config(image, layers)).encode()
            name = f"{hashlib.sha256(config).hexdigest()}.json"
            _add(archive, name, config)
            for layer in layers:
                if layer.digest not in packed:
                    archive.add(layer.tar, _layer_name(layer))
                    packed.add(layer.digest)
            manifest.append(
                {"Config": name, "RepoTags": image.names(layers), "Layers": [_layer_name(layer) for layer in layers]}
            )
        _add(archive, "manifest.json", json.dumps(manifest).encode())


def _layer_name(layer: Layer) -> str:
    return f"{layer.digest}/layer.tar"


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def _config(image: Image, layers: tuple[Layer, ...]) -> dict[str, object]:
    version = [f"{image.version_env}={image.version(layers)}"] if image.version_env else []
    return {
        "architecture": {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine()),
        "os": "linux",
        # Two builds of the same are the same image.
        "created": "1970-01-01T00:00:00Z",
        "config": {
            "Entrypoint": list(image.entrypoint) or None,
            "Cmd": list(image.command) or None,
            "Env": [*image.env, *version],
            "Volumes": {folder: {} for folder in image.volumes} or None,
            "ExposedPorts": {port: {} for port in image.ports} or None,
            "StopSignal": image.stop_signal,
            "User": image.user,
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer.digest}" for layer in layers]},
        "history": [{"created": "1970-01-01T00:00:00Z", "created_by": layer.folder.name} for layer in layers],
    }
