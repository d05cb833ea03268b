"""What Nomad's access control allows the token of `pulumi up`."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from nomad_stateful.nomad.api import NomadApiError
from nomad_stateful.operate.doctor.facts import Facts, Json, NotChecked
from nomad_stateful.operate.doctor.finding import Finding, problem, warning

_PAGE = "https://developer.hashicorp.com/nomad/docs/other-specifications/acl-policy"
_NEEDED = frozenset(
    {"submit-job", "read-job", "list-jobs", "csi-register-plugin", "csi-write-volume", "csi-mount-volume"}
)
# What `policy = "write"` stands for, as far as it is needed: registering a plugin is no part of it.
_WRITE = _NEEDED - {"csi-register-plugin"}
_READ = frozenset({"read-job", "list-jobs"})
_SOON_S = 7 * 24 * 3600


def token(facts: Facts) -> Iterator[Finding]:
    """The token of `pulumi up` is known to the cluster, and is not about to expire."""
    own = _own(facts)
    expires = own.get("ExpirationTime") if own else None
    if not expires:
        return
    left_s = (datetime.fromisoformat(str(expires)) - datetime.now(UTC)).total_seconds()
    if left_s < _SOON_S:
        what = f"the Nomad token expires at {expires}"
        yield warning(
            what, "an `up` or `destroy` under way then stops in its middle", "set NOMAD_TOKEN to a new one", _PAGE
        )


def capabilities(facts: Facts) -> Iterator[Finding]:
    """The token of `pulumi up` has the capabilities that the program needs in its namespace."""
    own = _own(facts)
    if own is None or own.get("Type") == "management":
        return
    names = [*(own.get("Policies") or [])]
    if own.get("Roles"):
        raise NotChecked("the token has roles, whose policies it may not list")
    rules = [str(facts.once(f"policy {name}", lambda: _policy(facts, name))["Rules"]) for name in names]  # noqa: B023
    namespace = facts.namespace()
    lacking = sorted(_NEEDED - {one for text in rules for one in allowed(text, namespace)})
    if lacking:
        listed = ", ".join(f'"{one}"' for one in lacking)
        what = f"the policy {', '.join(names)} of the token lacks {', '.join(lacking)} in namespace {namespace}"
        block = f'namespace "{namespace}" {{ capabilities = [{listed}] }}'
        cure = f"add to it: {block} (nomad_stateful/program/nomad-policy.hcl has all)"
        yield problem(what, "Nomad refuses the plugins' jobs, the volumes or their consumers", cure, _PAGE)
    for block in ("node", "plugin"):
        wanted = re.compile(rf'^\s*{block}\s*{{[^}}]*policy\s*=\s*"(read|write|list)"', re.MULTILINE)
        if not any(map(wanted.search, rules)):
            what = f"the token's policy has no {block} {{ policy }}"
            why = "the program cannot tell whether plugins are healthy, and in which zones clients are"
            yield problem(what, why, f'add to it: {block} {{ policy = "read" }}', _PAGE)


def allowed(rules: str, namespace: str) -> set[str]:
    """Returns what the rules of a policy allow in a namespace, as far as it is looked for; denials take all."""
    found: set[str] = set()
    uncommented = re.sub(r"(?m)#.*$|//.*$", "", rules)
    blocks = re.findall(r'namespace\s+"([^"]+)"\s*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}', uncommented)
    matching = [(name, body) for name, body in blocks if fnmatchcase(namespace, name)]
    if not matching:
        return found
    # The most specific pattern counts, an exact name first.
    _, body = max(matching, key=lambda one: (one[0] == namespace, len(one[0])))
    for policy in re.findall(r'policy\s*=\s*"(\w+)"', body):
        found |= {"write": _WRITE, "read": _READ}.get(policy, frozenset())
    for listed in re.findall(
        r"capabilities\s*=\s*\[([^\]]*)\]", re.sub(r"variables\s*\{(?:[^{}]|\{[^{}]*\})*\}", "", body)
    ):
        found |= set(re.findall(r'"([^"]+)"', listed))
    return set() if "deny" in found else found


def _own(facts: Facts) -> Json | None:
    """Returns the token itself; None where access control is off."""

    def read() -> Json | None:
        try:
            found: Json = facts.program().get("acl/token/self")
        except NomadApiError as error:
            if "ACL support disabled" in error.body:
                return None
            raise
        return found

    return facts.once("token", read)


def _policy(facts: Facts, name: str) -> Json:
    found: Json = facts.program().get(f"acl/policy/{name}")
    return found
