"""The kinds of value that settings are made of."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic.alias_generators import to_camel

from nomad_stateful.program.settings import times
from nomad_stateful.program.settings.errors import Refusal

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
    AfterValidator(times.check_length),
]

DISCONNECT_TIME = "1m"
"""How long a single writer goes on without a Nomad server, unless set."""
DISCONNECT_TIME_RULE = "must be a time such as 30s or 2m, or never"
# Nomad takes 0s for a client's own time, but then stops such allocations together with others of that client.
DisconnectTime = Annotated[
    str,
    Field(
        pattern=r"^(never|[1-9][0-9]*[smh])$",
        json_schema_extra={"rule": DISCONNECT_TIME_RULE},
    ),
    AfterValidator(lambda time: time if time == "never" else times.check_disconnect(time)),
]


def _on_one_line(text: str) -> str:
    if text.isprintable():
        return text
    raise Refusal("", text, "must not contain line breaks or other control characters", "write it on one line")


PlainText = Annotated[str, AfterValidator(_on_one_line)]


def _variable(name: str) -> str:
    if name.startswith("NOMAD_"):
        raise Refusal("", name, "Nomad sets this variable, which the job's files and arguments go by", "rename it")
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.]*", name):
        return name
    raise Refusal(
        "", name, "must be letters, digits, _ and ., and not start with a digit: Nomad renames others", "rename it"
    )


EnvName = Annotated[str, AfterValidator(_variable)]

NodePool = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9_-]{1,128}$",
        json_schema_extra={"rule": "must be the name of a node pool: letters, digits, - and _; 128 characters at most"},
    ),
]
ServiceName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$",
        json_schema_extra={
            "rule": "must be letters, digits and -, with a letter or digit at both ends, 63 characters at most: "
            "it is a service's name too"
        },
    ),
]
DAY_S = 86_400
"""The longest wait of a resource, in seconds."""
MOST_CPU_MHZ = 1_000_000
MOST_MEMORY_MIB = 33_554_432
MOST_RESTARTS = 10_000


_PART = r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*"
_REGISTRY = r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*(:[0-9]{1,5})?"
_REPOSITORY = rf"({_REGISTRY}/)?{_PART}(/{_PART})*"
_LONGEST_REPOSITORY = 255
# https://pkg.go.dev/github.com/distribution/reference
_IMAGE = re.compile(
    rf"(?P<repository>{_REPOSITORY})(:(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}))?(@(?P<digest>sha256:[0-9a-f]{{64}}))?"
)


def is_repository(image: str) -> bool:
    """Returns whether docker takes it for the name of a repository, without a tag."""
    return bool(re.fullmatch(_REPOSITORY, image)) and len(image) <= _LONGEST_REPOSITORY


def is_pinned(image: str) -> bool:
    """Returns whether an image is one that docker takes, and is pinned to a digest, or to a tag other than latest."""
    found = _IMAGE.fullmatch(image)
    if found is None or len(found["repository"]) > _LONGEST_REPOSITORY:
        return False
    return bool(found["digest"]) or found["tag"] not in (None, "latest")


def _pinned(image: str) -> str:
    if is_pinned(image):
        return image
    rule = "must be pinned to a tag other than latest, or to a digest, and be an image that docker takes"
    raise Refusal("", image, rule, "write it as name:tag or name@sha256:digest, the name in small letters")


PinnedImage = Annotated[str, AfterValidator(_pinned)]


@dataclass(frozen=True)
class Earlier:
    """Why a setting that earlier releases took is refused, and what to do."""

    rule: str
    remedy: str
    values: tuple[str, ...] = ()
    """Those that are refused; every one where none is named."""


def in_docker(who: str, remedy: str) -> Earlier:
    """Returns the refusal of the task drivers that `who` ran with in earlier releases."""
    return Earlier(f"{who} in docker alone", remedy, ("exec", "raw_exec"))


class Section(BaseModel):
    """A group of settings: unknown keys are refused, values are not converted, nothing changes after loading."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, alias_generator=to_camel)
    secret_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields whose values never stand in a job file."""
    public_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields whose values anybody may read, although people set them as secrets beside such."""
    private_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields whose values stand there, and in no message: people put secrets into them."""
    earlier: ClassVar[Mapping[str, Earlier]] = {}
    """What earlier releases took, by its key."""

    @model_validator(mode="before")
    @classmethod
    def _check_earlier(cls, given: Any) -> Any:
        for key, refused in cls.earlier.items() if isinstance(given, dict) else ():
            if key in given and (not refused.values or given[key] in refused.values):
                raise Refusal(key, given[key], refused.rule, refused.remedy)
        return given

    @field_validator("*")
    @classmethod
    def _check_texts(cls, value: Any, info: ValidationInfo) -> Any:
        for key, text in _texts(value):
            _check_text(key, text, composed=info.field_name not in cls.secret_fields)
        return value


LONGEST_TEXT_BYTES = 64 * 1024


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    """Yields the texts of a value with their keys, those of sections left out."""
    if isinstance(value, str):
        yield "", value
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        if isinstance(key, str) and not isinstance(item, BaseModel):
            _check_text("", key, composed=True)
        if isinstance(item, str):
            yield str(key), item


def _check_text(key: str, text: str, *, composed: bool) -> None:
    if "\0" in text:
        raise Refusal(key, text, "must not contain a null character", "remove it")
    if len(text.encode()) > LONGEST_TEXT_BYTES:
        rule = f"must have at most {LONGEST_TEXT_BYTES // 1024} KiB: it becomes a part of a job file"
        raise Refusal(key, text, rule, "put it into the image, or on a volume")
    if composed and not unicodedata.is_normalized("NFC", text):
        raise Refusal(key, text, "must be Unicode's composed form (NFC): Nomad composes it", "write it composed")
