"""Nomad's task drivers on the clients: the ones that the plugins and consumers run with, set up as they need."""

from collections.abc import Iterator

from nomad_stateful.nomad.clients import Client
from nomad_stateful.operate.doctor.facts import Facts, driver_of, listed
from nomad_stateful.operate.doctor.finding import Finding, problem

_PAGE = "https://developer.hashicorp.com/nomad/docs/drivers/docker#plugin-options"


def offered(facts: Facts) -> Iterator[Finding]:
    """Every client offers the task drivers of the plugins and consumers, healthy."""
    for name in sorted(_wanted(facts)):
        lacking = [client.name for client in facts.clients() if name not in client.healthy_drivers]
        if not lacking:
            continue
        told = {_health(client, name) for client in facts.clients()} - {"Healthy"}
        what = f"task driver {name} is not healthy on {listed(lacking)} ({listed(sorted(told))})"
        why = "neither the plugin's node task nor a consumer starts there, and volumes of the zone may have no client"
        cure = "`nomad node status -verbose NODE` says why"
        yield problem(what, why, cure, f"https://developer.hashicorp.com/nomad/docs/drivers/{name}")


def privileged(facts: Facts) -> Iterator[Finding]:
    """The clients' docker allows privileged containers, and mounts of the client's folders, where plugins need them."""
    own = [(plugin, driver_of(plugin)) for plugin in facts.own_plugins()]
    needs = {
        "driver.docker.privileged.enabled": (
            "allow_privileged = true",
            [plugin for plugin, driver in own if driver.roles[driver.node_role].privileged],
            "a node plugin has to mount in the client's own mount namespace",
        ),
        "driver.docker.volumes.enabled": (
            "volumes { enabled = true }",
            [plugin for plugin, driver in own if plugin.get("hostMounts", driver.roles[driver.node_role].host_mounts)],
            "the node plugin sees folders of the client",
        ),
    }
    for attribute, (setting, plugins, why) in needs.items():
        refusing = [client.name for client in facts.clients() if plugins and not _allows(client, attribute)]
        if refusing:
            what = f"docker on {listed(refusing)} has no `{setting}`, which plugin {plugins[0].get('id')} needs"
            cure = (
                f'plugin "docker" {{ config {{ {setting} }} }} in the configuration of these clients, and restart them'
            )
            yield problem(what, f"{why}; without it the task does not start", cure, _PAGE)


def _wanted(facts: Facts) -> set[str]:
    consumers = {str(one.get("taskDriver") or "docker") for one in facts.settings.get("consumers") or []}
    return consumers | ({"docker"} if facts.own_plugins() or facts.database() else set())


def _health(client: Client, name: str) -> str:
    return str((client.drivers.get(name) or {}).get("HealthDescription") or "not there")


def _allows(client: Client, attribute: str) -> bool:
    # A client without docker is told of by the check before.
    return "docker" not in client.healthy_drivers or client.attributes.get(attribute, "").lower() in {"true", "1"}
