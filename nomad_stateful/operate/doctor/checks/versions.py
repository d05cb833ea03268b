"""Versions that do not go together, or that have faults which cost data or the cluster."""

import re
from collections.abc import Iterator

from nomad_stateful.drivers.model import parse_version
from nomad_stateful.nomad import versions
from nomad_stateful.operate.doctor.facts import Facts, driver_of, listed
from nomad_stateful.operate.doctor.finding import Finding, problem, warning
from nomad_stateful.operate.doctor.known_faults import DOCKER, NOMAD_PER_ALLOC, NOMAD_SERVERS, Fault

_CHANGELOG = "https://github.com/hashicorp/nomad/blob/main/CHANGELOG.md"
_DRIVER_CHANGELOG = "https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/CHANGELOG.md"
_WHY = "the program refuses to deploy on it, since volumes or their data can be lost"


def servers(facts: Facts) -> Iterator[Finding]:
    """The Nomad servers have no version with a fault that costs data or the cluster, or lets somebody in."""
    agents = [(str(one["Name"]), str((one.get("Tags") or {}).get("build") or "")) for one in facts.servers()]
    yield from _nomad(agents, is_client=False)
    more = [*NOMAD_SERVERS, *(NOMAD_PER_ALLOC if any(one.get("count") for one in facts.volumes()) else ())]
    for version in sorted({version for _, version in agents}):
        names = listed(sorted(name for name, known in agents if known == version))
        yield from (_told(fault, f"server {names}: Nomad {version}") for fault in more if fault.is_in(version))


def clients(facts: Facts) -> Iterator[Finding]:
    """The Nomad clients have no version with a fault that costs data or lets somebody in; none is ahead of servers."""
    agents = [(client.name, client.version) for client in facts.clients()]
    yield from _nomad(agents, is_client=True)
    builds = [str((one.get("Tags") or {}).get("build") or "") for one in facts.servers()]
    newest = max(map(_numbers, builds), default=())
    ahead = sorted(name for name, version in agents if newest and _numbers(version)[:2] > newest[:2])
    if ahead:
        what = f"client {listed(ahead)} is newer than every server"
        cure = "upgrade the servers first"
        yield warning(what, "Nomad supports clients of the servers' version or older", cure, _CHANGELOG)


def drivers(facts: Facts) -> Iterator[Finding]:
    """Every plugin runs the version of its driver that the settings pin, the same everywhere."""
    for plugin in facts.own_plugins():
        wanted = str(plugin.get("version") or driver_of(plugin).default_version)
        known = facts.plugin(str(plugin["id"])) or {}
        infos = [info for role in ("Controllers", "Nodes") for info in (known.get(role) or {}).values() if info]
        found = {str(info.get("ProviderVersion") or known.get("Version") or "") for info in infos} - {""}
        strange = sorted(version for version in found if not _is_same(version, wanted))
        if strange:
            what = f"plugin {plugin['id']} runs {listed(strange)} of its driver, the settings pin {wanted}"
            why = "its arguments and its IAM policy are those of the pinned version"
            yield warning(what, why, "pulumi up; where an image is pinned too, pin the same version", _DRIVER_CHANGELOG)


def docker(facts: Facts) -> Iterator[Finding]:
    """Docker on the clients has no version that is known not to run the plugins."""
    for client in facts.clients():
        version = client.attributes.get("driver.docker.version") or ""
        for fault in DOCKER:
            if version and fault.is_in(version):
                yield _told(fault, f"client {client.name}: docker {version}")


def _nomad(agents: list[tuple[str, str]], *, is_client: bool) -> Iterator[Finding]:
    for version in sorted({version for _, version in agents}):
        names = listed(sorted(name for name, known in agents if known == version))
        where = f"{'client' if is_client else 'server'} {names}: Nomad {version}"
        cure = f"upgrade to {versions.advised(version)} or newer, the servers first"
        for fault in versions.refusals(version, is_client=is_client):
            yield problem(f"{where}: {fault}", _WHY, cure, _issue(fault))
        for fault in versions.warnings(version, is_client=is_client):
            why = "it is published, and this version gets no fix" if "CVE-" in fault else "it strikes rarely"
            yield warning(f"{where}: {fault}", why, cure, _issue(fault))


def _told(fault: Fault, where: str) -> Finding:
    return Finding(fault.level, f"{where}: {fault.what}", fault.why, fault.cure, fault.link)


def _issue(fault: str) -> str:
    number = re.search(r"GH-(\d+)", fault)
    return f"https://github.com/hashicorp/nomad/issues/{number[1]}" if number else _CHANGELOG


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _is_same(version: str, wanted: str) -> bool:
    try:
        return parse_version(version) == parse_version(wanted)
    except ValueError:
        return True  # not a release, so nothing can be said
