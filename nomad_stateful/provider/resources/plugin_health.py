"""PluginHealth: exists once a CSI plugin is healthy in every zone that needs it."""

from collections.abc import Sequence

from nomad_stateful.errors import ProviderError
from nomad_stateful.nomad import clients, csi_diagnosis, csi_health, plugin_versions, redeployment
from nomad_stateful.nomad.api import NomadApi, NomadError
from nomad_stateful.nomad.clients import Zones
from nomad_stateful.nomad.csi_health import Health
from nomad_stateful.nomad.paths import plugin_path
from nomad_stateful.nomad.watching import watch
from nomad_stateful.plugin_server.plugin import UNKNOWN, Diff, Kind, Props, ReadResult, input_diff
from nomad_stateful.plugin_server.values import contains_unknown
from nomad_stateful.provider.declared import DeclaredResource, OnCluster, OnlyInState
from nomad_stateful.schema.jobs import PluginHealthProperties
from nomad_stateful.waiting import Context, Progress

# What a new version of the driver may change; topology keys it keeps, or its volumes would be lost.
_VOLATILE = frozenset({"providerVersion", "controllersHealthy", "nodesHealthy", "zonesHealthy"})
# What the registrations of volumes are made with: an unhealthy moment must not take it away.
_LASTING = frozenset({"provider", "topologyKey", "topologyKeys"})


# A plugin is healthy within some ten seconds, where nothing is wrong.
_SLOW_S = 15.0


class PluginHealth(OnlyInState, OnCluster, DeclaredResource):
    """Waits in create, and again in update when `triggers` or what is asked for changed."""

    table = PluginHealthProperties.table

    def diff(self, ctx: Context, id: str, state: Props, old_inputs: Props, news: Props) -> Diff:
        """Counts a plugin that a refresh found unhealthy as a difference too: the update waits until it is healthy."""
        detailed = input_diff(old_inputs, news, self.replace_on)
        if not detailed and state.get("controllersHealthy", 0) < news["controllers"]:
            detailed["controllersHealthy"] = Kind.UPDATE
        if not detailed and any(not (state.get("zonesHealthy") or {}).get(zone) for zone in news["zones"]):
            detailed["zonesHealthy"] = Kind.UPDATE
        if not detailed and state.get("nodesHealthy") == 0:
            detailed["nodesHealthy"] = Kind.UPDATE
        return Diff(detailed)

    def preview_create(self, ctx: Context, inputs: Props) -> Props:
        """Returns what is healthy already as known: a gate that is new to a stack changes nothing that hangs on it."""
        return super().preview_create(ctx, inputs) | self._healthy_now(inputs)

    def _healthy_now(self, inputs: Props) -> Props:
        """Returns the outputs that a wait would end with at once; {} where it would not."""
        if contains_unknown(inputs | {"triggers": {}}):
            return {}
        try:
            api = self._api()
            health = csi_health.assess(api.get(plugin_path(inputs["pluginId"])), inputs["zoneKeys"], Zones(api))
        except ProviderError:
            return {}
        return {} if health.missing(inputs["controllers"], inputs["zones"]) else _outputs(health)

    def create(self, ctx: Context, inputs: Props) -> tuple[str, Props]:
        return inputs["pluginId"], inputs | _outputs(self._wait(ctx, inputs))

    def preview_update(self, ctx: Context, id: str, state: Props, inputs: Props) -> Props:
        planned = super().preview_update(ctx, id, state, inputs) | dict.fromkeys(_VOLATILE, UNKNOWN)
        if state.get("topologyKey"):
            return planned
        # A refresh of an earlier release may have stored an unhealthy moment's.
        return planned | {key: value for key, value in self._healthy_now(inputs).items() if key in _LASTING}

    def update(self, ctx: Context, id: str, state: Props, old_inputs: Props, inputs: Props) -> Props:
        outputs = _outputs(self._wait(ctx, inputs, old_inputs.get("zones") or ()))
        return inputs | self._with_lost(state, inputs, outputs)

    def read(self, ctx: Context, id: str, inputs: Props, state: Props) -> ReadResult | None:
        """Returns the plugin's health now. One unknown to Nomad has none: the next update waits for it."""
        api = self._api()
        plugin = api.find(plugin_path(id))
        if plugin is None and not state:
            return None
        health = csi_health.assess(plugin, inputs.get("zoneKeys", []), Zones(api))
        if not inputs:
            zones = sorted(zone for zone in health.zones if zone)
            inputs = self.table.defaults | {"pluginId": id, "controllers": health.controllers, "zones": zones}
        outputs = self._with_lost(state, inputs, _outputs(health))
        unhealthy = bool(health.missing(inputs["controllers"], inputs["zones"]))
        kept = {key: state[key] for key in _LASTING if state.get(key) and (unhealthy or not outputs[key])}
        return ReadResult(id, inputs, inputs | outputs | kept)

    def _with_lost(self, state: Props, inputs: Props, outputs: Props) -> Props:
        """Returns the outputs with what was last healthy in zones that lost all clients: no update would cure them."""
        known, now = state.get("zonesHealthy") or {}, outputs["zonesHealthy"]
        bare = [zone for zone in inputs["zones"] if known.get(zone) and not now.get(zone)]
        if not bare:
            return outputs
        api = self._api()
        lost = lost_zones(api, bare, Zones(api))
        return outputs | {"zonesHealthy": now | {zone: known[zone] for zone in lost}}

    def _wait(self, ctx: Context, inputs: Props, before: Sequence[str] = ()) -> Health:
        """Waits for every zone, but for those that were healthy `before` and have lost all their clients."""
        api = self._api()
        limit_s = ctx.timeout_s or inputs["timeoutS"]
        progress = Progress(ctx, limit_s)
        zone_of_node = Zones(api)
        health, plugin, missing = Health(), None, list[str]()
        is_slow, behind = False, 0
        for plugin in watch(progress, api, plugin_path(inputs["pluginId"])):
            # Right after a change of the plugin's jobs, what is healthy still is the version before.
            older = plugin_versions.outdated(api, plugin or {})
            health = csi_health.assess(
                plugin and plugin_versions.without(plugin, older), inputs["zoneKeys"], zone_of_node
            )
            missing = health.missing(inputs["controllers"], inputs["zones"])
            bare = [zone for zone in before if zone in inputs["zones"] and not health.zones.get(zone)]
            if bare and (lost := lost_zones(api, bare, zone_of_node)):
                missing = health.missing(inputs["controllers"], [zone for zone in inputs["zones"] if zone not in lost])
                if not missing:
                    where = ", ".join(sorted(lost))
                    ctx.log("warning", f"{where} is not waited for: no Nomad client there is ready, so nothing can be")
            stands = bool(older) and plugin_versions.go_on(api, plugin or {}, older)
            if stands and len(older) < behind:
                progress.restart()
            behind = len(older)
            if older and (missing or stands):
                missing.append(f"{len(older)} of an older version of its jobs")
            if not missing:
                return health
            if not is_slow and progress.elapsed_s > _SLOW_S:
                is_slow = True
                _deploy_again(ctx, api, inputs["pluginId"])
            progress.report(f"waiting for CSI plugin {inputs['pluginId']}: {'; '.join(missing)}")
        raise ProviderError(
            _deadline_message(api, inputs, limit_s, f"{'; '.join(missing)} ({health.counts()})", plugin)
        )


def _deploy_again(ctx: Context, api: NomadApi, plugin_id: str) -> None:
    """Controllers whose deployment failed: Nomad places no more of them, also once clients came that could run them."""
    try:
        for job in csi_diagnosis.plugin_jobs(api, plugin_id):
            if job["Type"] == "service":
                redeployment.deploy_again(ctx, api, job)
    except NomadError as error:
        ctx.log("warning", f"whether the jobs of CSI plugin {plugin_id} have failed deployments is not known: {error}")


def lost_zones(api: NomadApi, zones: Sequence[str], zone_of_node: Zones) -> set[str]:
    """Returns those of the zones that Nomad knows clients in, of which none is ready. Raises NomadError."""
    by_zone: dict[str, set[bool]] = {}
    for stub in clients.listed(api):
        by_zone.setdefault(zone_of_node(stub.id), set()).add(stub.is_up)
    return {zone for zone in zones if by_zone.get(zone) == {False}}


def _outputs(health: Health) -> Props:
    return {
        "provider": health.provider,
        "providerVersion": health.provider_version,
        "topologyKey": health.topology_key,
        "topologyKeys": list(health.topology_keys),
        "controllersHealthy": health.controllers,
        "nodesHealthy": health.nodes,
        "zonesHealthy": dict(health.zones),
    }


def _deadline_message(
    api: NomadApi, inputs: Props, limit_s: float, missing: str, plugin: dict[str, object] | None
) -> str:
    details = "".join(f"\n  {line}" for line in csi_diagnosis.diagnose(api, inputs["pluginId"], plugin))
    return (
        f"CSI plugin {inputs['pluginId']} is not healthy after {limit_s:.0f} s: {missing}.{details}"
        f"\nSee `nomad plugin status -verbose {inputs['pluginId']}` and `nomad alloc logs -stderr <allocation>`, "
        "fix the cause, and run the same command again; a slow start needs a larger timeoutS"
    )
