"""Who publishes the package, and from where programs get it."""

from typing import Any

REPOSITORY = ""
"""Address of the repository that releases are published in, as https://github.com/OWNER/NAME: the owner's to set."""
LICENSE = ""
"""SPDX identifier of the licence: the owner's to set."""
_KEYWORDS = ("category/infrastructure", "kind/component", "nomad", "csi", "ebs", "mysql", "postgresql")
_LANGUAGES = ("nodejs", "python", "go", "csharp", "java")


def identity(repository: str = REPOSITORY, licence: str = LICENSE) -> dict[str, Any]:
    """Returns what a package's schema says about the package; what is not known is left out."""
    known = {
        "displayName": "Nomad stateful",
        "publisher": "nomad-stateful",
        "description": "Stateful workloads on HashiCorp Nomad on AWS: volumes, databases, and the waits between them.",
        "keywords": list(_KEYWORDS),
        "homepage": repository,
        "repository": repository,
        "license": licence,
        "pluginDownloadURL": _download_url(repository),
        "language": {name: {"respectSchemaVersion": True} for name in _LANGUAGES},
    }
    return {key: value for key, value in known.items() if value}


def _download_url(repository: str) -> str:
    """Returns where the engine finds the archives of a release."""
    on_github = repository.removeprefix("https://github.com/")
    return f"github://api.github.com/{on_github}" if on_github != repository else ""
