"""Rules: images are pinned, so that a restart runs what was reviewed."""

from collections.abc import Iterable

from policy.nomad_job import job_of, tasks
from policy.resource import Resource
from policy.rule import Config, ResourceRule

IMAGE_DRIVERS = frozenset({"docker", "podman"})


def check_images(resource: Resource, config: Config) -> Iterable[str]:
    """Yields tasks whose image is not pinned."""
    job = job_of(resource)
    for _, task in tasks(job) if job else ():
        image = str((task.get("Config") or {}).get("image") or "")
        problem = _problem(image, config["requireDigest"])
        if task.get("Driver") in IMAGE_DRIVERS and image and problem:
            yield f'task "{task["Name"]}": image is {image}, {problem}'


def _problem(image: str, require_digest: bool) -> str:
    name, _, digest = image.partition("@")
    if digest:
        return ""
    if require_digest:
        return "without a digest"
    # A colon before the last slash belongs to the registry's port.
    _, _, tag = name.rsplit("/", 1)[-1].partition(":")
    if not tag:
        return "without a tag"
    return "whose tag moves" if tag == "latest" else ""


RULES = [
    ResourceRule(
        name="pinned-image",
        sentence="Images in jobs have a tag other than latest, or a digest.",
        remedy="name the version, as in `nginx:1.29.1`, or add `@sha256:…`.",
        settings={
            "requireDigest": {"type": "boolean", "description": "Whether a tag is not enough.", "default": False}
        },
        check=check_images,
    )
]
