"""Which capability a request needs, as the line of an ACL policy: Nomad's 403 does not say it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

_VARIABLES: Final = {"GET": "read", "PUT": "write", "DELETE": "destroy"}
_OPERATOR: Final = {"GET": "read", "PUT": "write", "DELETE": "write"}

# Method, path below /v1/ -> capabilities of the namespace. The first that matches counts.
# https://developer.hashicorp.com/nomad/docs/other-specifications/acl-policy
_NAMESPACE: Final = tuple(
    (method, re.compile(pattern), capability)
    for method, pattern, capability in (
        ("PUT", r"jobs/parse", "parse-job"),
        ("GET", r"jobs", "list-jobs"),
        ("PUT", r"volume/csi/[^/]+/(create|delete)|volume/csi/[^/]+", "csi-write-volume"),
        ("DELETE", r"volume/csi/[^/]+/detach", "csi-mount-volume"),
        ("DELETE", r"volume/csi/.+", "csi-write-volume"),
        ("GET", r"volume/csi/.+", "csi-read-volume"),
        ("GET", r"volumes(/.+)?", "csi-list-volume"),
        ("GET", r"client/fs/logs/.+", "read-logs"),
        ("GET", r"client/fs/.+", "read-fs"),
        ("GET", r"(job|evaluation|deployment|allocation|service)s?(/.+)?", "read-job"),
        # Of their own since Nomad 1.11.2; before, submit-job.
        ("PUT", r"job/[^/]+/evaluate", "evaluate-job"),
        ("PUT", r"job/[^/]+/plan", "plan-job"),
        ("PUT|DELETE", r"(jobs|job|deployment|allocation)(/.+)?", "submit-job"),
    )
)
_GLOBAL: Final = tuple(
    (re.compile(pattern), block)
    for pattern, block in (
        (r"nodes?(/.+)?|client/stats|agent/members", "node"),
        (r"plugins?(/.+)?", "plugin"),
        (r"agent(/.+)?|status/.+", "agent"),
        (r"operator(/.+)?", "operator"),
    )
)


@dataclass(frozen=True)
class Request:
    """A request that Nomad refused; the path is below /v1/."""

    method: str
    path: str
    params: Mapping[str, Any]
    body: Any = None


def remedy(request: Request, token_is_known: bool | None) -> str:
    """Returns what is wrong with the token (None: none was sent), or the line that its policy lacks."""
    if token_is_known is None:
        return "no token was sent: set NOMAD_TOKEN (or secretId on the provider)"
    if not token_is_known:
        return "the token of NOMAD_TOKEN (or secretId) is not known to this cluster or has expired: use a valid one"
    lines = list(_lines(request))
    return f"the token's policy needs {'; '.join(lines)}" if lines else "this needs a management token"


def _lines(request: Request) -> Iterator[str]:
    method, path = request.method, request.path
    namespace = request.params.get("namespace") or "default"
    namespace = "default" if namespace == "*" else namespace  # of all namespaces, Nomad lists those that may be read
    if path.startswith(("var/", "vars")):
        name = unquote(path.partition("/")[2]) or "*"
        capability = "list" if path.startswith("vars") else _VARIABLES[method]
        yield f'namespace "{namespace}" {{ variables {{ path "{name}" {{ capabilities = ["{capability}"] }} }} }}'
        return
    for methods, pattern, capability in _NAMESPACE:
        if re.fullmatch(methods, method) and pattern.fullmatch(path):
            capabilities = [capability, *_of_job(request.body)] if capability == "submit-job" else [capability]
            listed = ", ".join(f'"{item}"' for item in capabilities)
            yield f'namespace "{namespace}" {{ capabilities = [{listed}] }}'
            if capability.startswith("csi-") or "csi-mount-volume" in capabilities:
                yield 'plugin { policy = "read" }'
            return
    for pattern, block in _GLOBAL:
        if pattern.fullmatch(path):
            yield f'{block} {{ policy = "{_OPERATOR[method]}" }}'
            return


def _of_job(body: Any) -> Iterator[str]:
    """Yields the capabilities a job needs besides submit-job."""
    job = (body or {}).get("Job") or {} if isinstance(body, dict) else {}
    groups = job.get("TaskGroups") or []
    if any(task.get("CSIPluginConfig") for group in groups for task in group.get("Tasks") or []):
        yield "csi-register-plugin"
    if any(volume.get("Type") == "csi" for group in groups for volume in (group.get("Volumes") or {}).values()):
        yield "csi-mount-volume"
