"""The Nomad clients: task drivers, metadata service, configuration, and slots for volumes."""

from collections.abc import Iterator
from dataclasses import dataclass

from nomad_stateful.nomad.clients import Client
from nomad_stateful.nomad.deadlines import seconds
from nomad_stateful.operate.doctor.facts import Facts, Json, NotChecked, driver_of, listed
from nomad_stateful.operate.doctor.finding import Finding, problem, warning

_DOCKER = "https://developer.hashicorp.com/nomad/docs/drivers/docker#plugin-options"
_METADATA = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-options.html"
_CONTAINER_HOPS = 2
_CLIENT = "https://developer.hashicorp.com/nomad/docs/configuration/client"
_DEFAULT_MOST = "30s"
KILL_TIMEOUT = "30s"
"""The settings' default."""
_LIMITS = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/volume_limits.html"
_FEW = 2


def drivers_offered(facts: Facts) -> Iterator[Finding]:
    """Every client offers the task drivers of the plugins and consumers, healthy."""
    for name in sorted(_drivers_wanted(facts)):
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
            yield problem(what, f"{why}; without it the task does not start", cure, _DOCKER)


def _drivers_wanted(facts: Facts) -> set[str]:
    consumers = {str(one.get("taskDriver") or "docker") for one in facts.settings.get("consumers") or []}
    return consumers | ({"docker"} if facts.own_plugins() or facts.database() else set())


def _health(client: Client, name: str) -> str:
    return str((client.drivers.get(name) or {}).get("HealthDescription") or "not there")


def _allows(client: Client, attribute: str) -> bool:
    # A client without docker is told of by the check before.
    return "docker" not in client.healthy_drivers or client.attributes.get(attribute, "").lower() in {"true", "1"}


def reachable(facts: Facts) -> Iterator[Finding]:
    """The driver reaches the instances' metadata service, also from a container."""
    bridged = [str(plugin.get("id")) for plugin in facts.own_plugins() if driver_of(plugin).backend == "ebs"]
    for instance_id, instance in sorted(facts.instances().items()):
        options = instance.get("MetadataOptions") or {}
        command = f"aws ec2 modify-instance-metadata-options --instance-id {instance_id}"
        if options.get("HttpEndpoint", "enabled") != "enabled":
            why = "the driver does not learn its instance and zone, and does not start"
            what = f"the metadata service of {instance_id} is disabled"
            yield problem(what, why, f"{command} --http-endpoint enabled", _METADATA)
        hops = int(options.get("HttpPutResponseHopLimit") or _CONTAINER_HOPS)
        if bridged and hops < _CONTAINER_HOPS:
            what = f"the hop limit of {instance_id} is {hops}, and plugin {', '.join(bridged)} runs in containers"
            why = "the token's answer does not reach a container on a bridge: the driver gets no credentials"
            cure = f"{command} --http-put-response-hop-limit {_CONTAINER_HOPS}"
            yield problem(what, why, cure, _METADATA)


def wants_tokens(facts: Facts) -> Iterator[Finding]:
    """The instances' metadata services answer requests with a token only (IMDSv2)."""
    for instance_id, instance in sorted(facts.instances().items()):
        if (instance.get("MetadataOptions") or {}).get("HttpTokens", "required") != "required":
            what = f"the metadata service of {instance_id} answers without a token (IMDSv1)"
            why = "a task that can be made to fetch a URL gives away the role's credentials"
            cure = f"aws ec2 modify-instance-metadata-options --instance-id {instance_id} --http-tokens required"
            yield warning(what, why, cure, _METADATA)


def kill_timeouts(facts: Facts) -> Iterator[Finding]:
    """No client cuts the time that a consumer has to end (max_kill_timeout)."""
    wanted = _kill_timeouts(facts)
    if not wanted:
        return
    name, longest = max(wanted.items(), key=lambda one: seconds(one[1]))
    known, missing = _configurations(facts)
    short: dict[str, list[str]] = {}
    for client, config in known.items():
        most = str((config.get("Client") or {}).get("MaxKillTimeout") or _DEFAULT_MOST)
        if seconds(most) < seconds(longest):
            short.setdefault(most, []).append(client)
    for most, clients in short.items():
        what = f"{name}.killTimeout is {longest}, and max_kill_timeout of {listed(clients)} is {most}"
        why = "Nomad cuts it silently: the server is killed before it has written everything, and recovers longer"
        cure = f'client {{ max_kill_timeout = "{longest}" }} in their configuration, or lower {name}.killTimeout'
        yield warning(what, why, cure, f"{_CLIENT}#max_kill_timeout")
    _complain(missing)


def drain_on_shutdown(facts: Facts) -> Iterator[Finding]:
    """A client that is shut down drains itself first, so that its volumes are detached cleanly."""
    known, missing = _configurations(facts)
    without = sorted(client for client, config in known.items() if not _drains(config))
    if without:
        what = f"{listed(without)} does not drain when its instance shuts down"
        why = "a terminated or replaced instance leaves claims behind, and its consumers start elsewhere minutes later"
        cure = (
            "leave_on_terminate = true, leave_on_interrupt = true and client { drain_on_shutdown { "
            'deadline = "90s", ignore_system_jobs = true } } in their configuration: docs/clients.md'
        )
        yield warning(what, why, cure, f"{_CLIENT}#drain_on_shutdown-block")
    _complain(missing)


def _drains(config: Json) -> bool:
    leaves = config.get("LeaveOnTerm") or config.get("LeaveOnInt")
    return bool((config.get("Client") or {}).get("Drain") and leaves)


def _kill_timeouts(facts: Facts) -> dict[str, str]:
    found = {}
    if server := facts.database():
        kind, section = server
        found[kind.name] = str(section.get("killTimeout") or KILL_TIMEOUT)
    for consumer in facts.settings.get("consumers") or []:
        found[f"consumers.{consumer['name']}"] = str(consumer.get("killTimeout") or KILL_TIMEOUT)
    return found


def _configurations(facts: Facts) -> tuple[dict[str, Json], dict[str, str]]:
    """Returns the configuration by client, and why there is none."""
    agents = facts.agents()
    known = {name: config for name, config in agents.items() if not isinstance(config, str)}
    return known, {name: why for name, why in agents.items() if isinstance(why, str)}


def _complain(missing: dict[str, str]) -> None:
    if missing:
        name, why = next(iter(missing.items()))
        raise NotChecked(f"the agent of {listed(sorted(missing))} was not read from here ({name}: {why})")


@dataclass(frozen=True)
class Slots:
    """An instance's attachments, and the most that its type allows."""

    most: int
    volumes: frozenset[str]
    """The volumes that are attached."""

    @property
    def used(self) -> int:
        """How many volumes are attached."""
        return len(self.volumes)

    @property
    def free(self) -> int:
        """How many more volumes can be attached."""
        return max(0, self.most - self.used)


def slots_left(facts: Facts) -> Iterator[Finding]:
    """Every client's instance can have more volumes attached."""
    for client in facts.clients():
        slots = _slots(facts, client)
        if slots is not None and slots.free <= _FEW:
            kind = facts.instances()[client.instance_id]["InstanceType"]
            what = f"client {client.name} ({kind}) has {slots.used} of at most {slots.most} volumes attached"
            told = problem if slots.free == 0 else warning
            why = "beyond its limit EC2 refuses an attachment, and the consumer stays pending"
            yield told(what, why, "start another client in the zone, or a larger instance type", _LIMITS)


def slots_known_to_driver(facts: Facts) -> Iterator[Finding]:
    """No EBS plugin promises Nomad more volumes on a client than EC2 would attach."""
    for plugin in facts.plugins():
        if driver_of(plugin).backend != "ebs":
            continue
        # Of all namespaces Nomad lists no volumes by their plugin.
        own = {str(stub["ExternalID"]) for stub in facts.registered() if stub["PluginID"] == str(plugin["id"])}
        for client in facts.clients():
            slots = _slots(facts, client)
            promised = int(client.plugin_node(str(plugin["id"])).get("MaxVolumes") or 0)
            if slots is None or promised <= (most := slots.most - len(slots.volumes - own)):
                continue
            what = (
                f"plugin {plugin['id']} lets Nomad put {promised} volumes on {client.name}, where EC2 attaches {most}"
            )
            why = "Nomad places allocations there whose volumes EC2 then refuses to attach"
            cure = f"count what else is attached in reservedVolumeAttachments of plugin {plugin['id']}"
            yield warning(what, why, cure, _LIMITS)


def _slots(facts: Facts, client: Client) -> Slots | None:
    """Returns the slots of a client's instance; None where EC2 does not say."""
    instance = facts.instances().get(client.instance_id)
    if instance is None:
        return None
    answer = facts.ask("ec2", "describe_instance_types", InstanceTypes=[instance["InstanceType"]])
    kind: Json = next(iter(answer["InstanceTypes"]), {})
    limits = kind.get("EbsInfo") or {}
    most = int(limits.get("MaximumEbsAttachments") or 0)
    if not most:
        return None
    if limits.get("AttachmentLimitType") == "shared":
        # Further network interfaces and the disks of the instance store take slots too.
        disks = (kind.get("InstanceStorageInfo") or {}).get("Disks") or []
        most -= max(0, len(instance.get("NetworkInterfaces") or []) - 1) + sum(int(disk["Count"]) for disk in disks)
    attached = [(one.get("Ebs") or {}).get("VolumeId") for one in instance.get("BlockDeviceMappings") or []]
    return Slots(most, frozenset(filter(None, attached)))
