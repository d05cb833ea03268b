"""Where a Prometheus that knows nothing of Nomad finds what to scrape, as its HTTP service discovery reads it.

https://prometheus.io/docs/prometheus/latest/http_sd/
"""

from typing import Any, Final
from urllib.parse import quote

from nomad_stateful.nomad import clients
from nomad_stateful.nomad.api import NomadApi

TAG = "prometheus"
"""Tag of the services that are scraped."""
LABELS: Final = ("plugin", "role", "server")
"""Tags that become labels. Any other key would let a service choose Prometheus' job, path or address."""


def targets(nomad: NomadApi, namespace: str) -> list[dict[str, Any]]:
    """Returns every service with the tag in the stack's namespace, and Nomad's agents."""
    return [*_services(nomad, namespace), *_agents(nomad)]


def _services(nomad: NomadApi, namespace: str) -> list[dict[str, Any]]:
    found = []
    for space in nomad.get("services", namespace=namespace) or []:
        for service in space["Services"] if space["Namespace"] == namespace else ():
            if TAG not in (service.get("Tags") or []):
                continue
            for one in nomad.get(f"service/{quote(service['ServiceName'], safe='')}", namespace=namespace) or []:
                tags = dict(tag.split("=", 1) for tag in one.get("Tags") or [] if "=" in tag)
                own = {key: tags[key] for key in LABELS if key in tags}
                labels = {"job": one["ServiceName"], "instance": one["Address"], **own}
                found.append({"targets": [f"{one['Address']}:{one['Port']}"], "labels": labels})
    return found


def _agents(nomad: NomadApi) -> list[dict[str, Any]]:
    shared = {"__metrics_path__": "/v1/metrics", "__param_format": "prometheus"}
    if str(nomad.address).startswith("https:"):
        shared["__scheme__"] = "https"
    server = str(nomad.address).partition("://")[2].rstrip("/")
    there = clients.read(nomad, [stub for stub in clients.listed(nomad) if stub.status != "down"])
    agents = [*(("nomad-client", one.name, one.http_address) for one in there), ("nomad-server", server, server)]
    return [
        {"targets": [address], "labels": {**shared, "job": job, "instance": instance}}
        for job, instance, address in agents
    ]
