"""Parses jobspecs with the nomad command line, without a server, as strictly as the official plugin does."""

from __future__ import annotations

import json
import re
import shutil
import threading
from dataclasses import dataclass

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.job_rendering import Job, RenderError, render
from nomad_stateful.plugin_server.plugin import Props
from nomad_stateful.plugin_server.values import contains_unknown

# Looked for in comments and literal text too, so that none is missed: there the official plugin lets them stand.
_FILESYSTEM_CALL = re.compile(
    r"(?<![\w.-])(abspath|basename|dirname|file|filebase64|fileexists|fileset|pathexpand)\s*\("
)
_VARIABLE = re.compile(r'^\s*variable\s+"([^"]+)"\s*\{', re.MULTILINE)
_VALUE_LIMIT_BYTES = 120 * 1024  # the kernel takes at most 128 KiB per environment variable


class JobspecError(ProviderError):
    """A jobspec that cannot be parsed."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"error parsing jobspec: {reason}")


@dataclass(frozen=True)
class JobSource:
    """A jobspec's text and how it is to be read."""

    text: str
    is_json: bool = False
    allow_fs: bool = False
    variables: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_inputs(cls, inputs: Props) -> JobSource | None:
        """The source in a Job's inputs, None while it is unknown; an unknown `json` counts as false."""
        if contains_unknown([inputs.get("jobspec"), inputs.get("hcl2")]):
            return None
        hcl2 = inputs.get("hcl2") or {}
        variables = tuple(sorted((hcl2.get("vars") or {}).items()))
        return cls(inputs.get("jobspec") or "", inputs.get("json") is True, bool(hcl2.get("allowFs")), variables)


class JobspecParser:
    """Turns a JobSource into a job; each source is parsed once per process."""

    def __init__(self, nomad: str | None = None) -> None:
        self._nomad = nomad
        self._parsed: dict[JobSource, Job] = {}
        self._lock = threading.Lock()

    def parse(self, source: JobSource) -> Job:
        """The job, with an ID; raises JobspecError."""
        with self._lock:
            known = self._parsed.get(source)
        if known is None:
            known = self._parse_json(source) if source.is_json else self._parse_hcl(source)
            if not known.get("ID"):
                raise JobspecError("the job has no ID")
            with self._lock:
                self._parsed[source] = known
        return json.loads(json.dumps(known))  # type: ignore[no-any-return]  # callers may change their copy

    def _parse_json(self, source: JobSource) -> Job:
        try:
            root = json.loads(source.text)
        except ValueError as error:
            raise JobspecError(str(error)) from None
        if not isinstance(root, dict) or not (root.get("Job", root)):
            raise JobspecError("input JSON is not a valid Nomad jobspec")
        # Nomad's own decoding: field names in any case, unknown ones dropped
        job = self._run(source, "-json")
        if not any(job.values()):
            raise JobspecError("input JSON is not a valid Nomad jobspec")
        return job

    def _parse_hcl(self, source: JobSource) -> Job:
        _refuse_filesystem(source)
        declared = set(_VARIABLE.findall(source.text))
        unseen = [name for name, _ in source.variables if name not in declared]
        if unseen:
            self._refuse_undeclared(source, unseen)
        return self._run(source)

    def _refuse_undeclared(self, source: JobSource, names: list[str]) -> None:
        """Variables come in by the environment, where nomad ignores undeclared ones: names alone are tried as flags."""
        flags = [flag for name in names for flag in ("-var", f"{name}=")]
        failure = ""
        try:
            self._run(source, *flags)
        except JobspecError as error:
            failure = str(error)
        undeclared = [name for name in names if f'A "{name}" variable was passed' in failure]
        if undeclared:
            listed = ", ".join(undeclared)
            raise JobspecError(
                f'hcl2.vars sets {listed}, which the jobspec does not declare: add variable "{undeclared[0]}" {{ … }} '
                f"to the jobspec or remove it from hcl2.vars"
            )

    def _run(self, source: JobSource, *options: str) -> Job:
        try:
            job = render(self._binary(), source.text, _values(source), *options)
        except RenderError as error:
            raise JobspecError(str(error)) from None
        return {key: value for key, value in job.items() if value is not None}

    def _binary(self) -> str:
        found = self._nomad or shutil.which("nomad")
        if not found:
            raise ProviderError(
                "the nomad command is not on PATH: jobspecs are parsed with it, also in preview. "
                "Install Nomad or add its folder to PATH"
            )
        return found


def _values(source: JobSource) -> dict[str, str]:
    """The variables, as an environment can hold them; raises JobspecError."""
    for name, value in source.variables:
        if len(value.encode()) > _VALUE_LIMIT_BYTES:
            raise JobspecError(
                f"hcl2.vars.{name} is longer than {_VALUE_LIMIT_BYTES // 1024} KiB: put it in the jobspec"
            )
        if "\0" in name + value or "=" in name:
            raise JobspecError(f"hcl2.vars.{name}: neither names nor values may hold a null character, names no '='")
    return dict(source.variables)


def _refuse_filesystem(source: JobSource) -> None:
    used = None if source.allow_fs else _FILESYSTEM_CALL.search(source.text)
    if used:
        raise JobspecError(f"{used[1]}(): filesystem function disabled: set hcl2.allowFs to allow it")
