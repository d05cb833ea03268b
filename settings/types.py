"""The kinds of value that settings are made of."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from settings.errors import Refusal

Identifier = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$",
        json_schema_extra={
            "rule": "must start with a letter or digit; then letters, digits, - and _; 63 characters at most"
        },
    ),
]


def _zone(name: str) -> str:
    if re.fullmatch(r"[a-z]{2}(-[a-z]+)+-\d([a-z]|-[a-z]+-\d[a-z])", name):
        return name
    raise Refusal("", name, "must be the full name of an availability zone, such as us-west-2a", "write it out")


Zone = Annotated[str, AfterValidator(_zone)]
Duration = Annotated[
    str,
    Field(
        pattern=r"^([0-9]+(ms|s|m|h))+$",
        json_schema_extra={"rule": "must be a duration with its unit, such as 30s or 2m"},
    ),
]


def _on_one_line(text: str) -> str:
    if text.isprintable():
        return text
    raise Refusal("", text, "must have no line breaks or other control characters", "write it on one line")


PlainText = Annotated[str, AfterValidator(_on_one_line)]


def is_pinned(image: str) -> bool:
    """Whether an image is pinned to a digest, or to a tag other than latest."""
    if re.fullmatch(r"[\w./:-]+@sha256:[0-9a-f]{64}", image):
        return True
    name, _, tag = image.rpartition(":")
    return bool(re.fullmatch(r"[\w./:-]+", name) and re.fullmatch(r"\w[\w.-]*", tag) and tag != "latest")


def _pinned(image: str) -> str:
    if is_pinned(image):
        return image
    raise Refusal(
        "",
        image,
        "must be pinned to a tag other than latest, or to a digest",
        "write it as name:tag or name@sha256:digest",
    )


PinnedImage = Annotated[str, AfterValidator(_pinned)]


class Section(BaseModel):
    """A group of settings: unknown keys are refused, values are not converted, nothing changes after loading."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, alias_generator=to_camel)
