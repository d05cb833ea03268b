"""Nomad's servers: reachable, with a leader, and clocks that agree; and what they allow the token of `pulumi up`."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from fnmatch import fnmatchcase
from functools import partial

from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad.api import NomadApiError, NomadError
from nomad_stateful.nomad.clients import Client
from nomad_stateful.operate import clocks
from nomad_stateful.operate.doctor.facts import Facts, Json, NotChecked
from nomad_stateful.operate.doctor.finding import Finding, problem, warning

_PAGE = "https://developer.hashicorp.com/nomad/docs/operations/autopilot"
_TIME = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/set-time.html"
_REFUSED_S = 300.0
_POLICY = "https://developer.hashicorp.com/nomad/docs/other-specifications/acl-policy"
_NEEDED = frozenset(
    {"submit-job", "read-job", "list-jobs", "csi-register-plugin", "csi-write-volume", "csi-mount-volume"}
)
# What `policy = "write"` stands for, as far as it is needed: registering a plugin is no part of it.
_WRITE = _NEEDED - {"csi-register-plugin"}
_READ = frozenset({"read-job", "list-jobs"})
_SOON_S = 7 * 24 * 3600


def answers(facts: Facts) -> Iterator[Finding]:
    """Nomad answers at NOMAD_ADDR and has a leader."""
    try:
        api = facts.nomad()
    except NotChecked as error:
        what, why = (
            f"Nomad does not answer: {error}",
            "an `up` stops at once, and nothing below is known of the cluster",
        )
        yield problem(what, why, "set NOMAD_ADDR (with TLS also NOMAD_CACERT and the client's certificate)", _PAGE)
        return
    try:
        leader = api.get("status/leader")
    except NomadError as error:
        leader = ""
        told = str(error)
    else:
        told = ""
    if not leader:
        why = "nothing is placed, and no claim is released"
        cure = "`nomad operator raft list-peers`; where servers panic: docs/runbook.md"
        yield problem(
            f"the Nomad servers have no leader {told}".rstrip(), why, cure, "docs/runbook.md#nomads-servers-panic"
        )


def leans_on_several(facts: Facts) -> Iterator[Finding]:
    """Nomad's state is on three servers or more."""
    servers = facts.servers()
    if len(servers) == 1:
        why = "when it is lost, so are the registrations and claims of every volume; the volumes themselves stay"
        yield warning("there is one Nomad server", why, "run three; until then `nomad operator snapshot save`", _PAGE)


def clocks_agree(facts: Facts) -> Iterator[Finding]:
    """The clocks of AWS, the Nomad server, the clients and this machine agree."""
    reads: dict[str, Callable[[], datetime | None]] = {
        "AWS": lambda: _of_aws(facts),
        "the Nomad server": facts.nomad().clock,
    }
    reads |= {f"client {one.name}": partial(_of_client, facts, one) for one in facts.clients()}
    silent = []
    for name, read in reads.items():
        try:
            off_s = clocks.off_s(read)
        except (ProviderError, BotoCoreError, ClientError, NotChecked):
            off_s = None
        if off_s is None:
            silent.append(name)
        elif off_s > clocks.TOLERATED_S:
            kind = problem if off_s > _REFUSED_S else warning
            what = f"the clock of {name} is {off_s:.0f} s off this machine's"
            why = f"AWS refuses what is signed over {_REFUSED_S:.0f} s off; claims and logs cannot be put in order"
            yield kind(what, why, clocks.REMEDY, _TIME)
    if silent:
        raise NotChecked(f"no time from {', '.join(silent)}")


def _of_aws(facts: Facts) -> datetime | None:
    # Not through the facts: the answer is wanted now.
    headers = facts.aws("sts").get_caller_identity()["ResponseMetadata"].get("HTTPHeaders") or {}
    return parsedate_to_datetime(headers["date"]) if headers.get("date") else None


def _of_client(facts: Facts, client: Client) -> datetime | None:
    api = facts.sources.client(client)
    try:
        return api.clock(timeout_s=3.0)
    finally:
        api.close()


def token(facts: Facts) -> Iterator[Finding]:
    """The token of `pulumi up` is known to the cluster, and is not about to expire."""
    own = _token(facts)
    expires = own.get("ExpirationTime") if own else None
    if not expires:
        return
    left_s = (datetime.fromisoformat(str(expires)) - datetime.now(UTC)).total_seconds()
    if left_s < _SOON_S:
        what = f"the Nomad token expires at {expires}"
        yield warning(
            what, "an `up` or `destroy` under way then stops in its middle", "set NOMAD_TOKEN to a new one", _POLICY
        )


def capabilities(facts: Facts) -> Iterator[Finding]:
    """The token of `pulumi up` has the capabilities that the program needs in its namespace."""
    own = _token(facts)
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
        yield problem(what, "Nomad refuses the plugins' jobs, the volumes or their consumers", cure, _POLICY)
    for block in ("node", "plugin"):
        wanted = re.compile(rf'^\s*{block}\s*{{[^}}]*policy\s*=\s*"(read|write|list)"', re.MULTILINE)
        if not any(map(wanted.search, rules)):
            what = f"the token's policy has no {block} {{ policy }}"
            why = "the program cannot tell whether plugins are healthy, and in which zones clients are"
            yield problem(what, why, f'add to it: {block} {{ policy = "read" }}', _POLICY)


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


def _token(facts: Facts) -> Json | None:
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
