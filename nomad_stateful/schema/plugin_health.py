"""The fields of PluginHealth."""

from nomad_stateful.schema import rules, timeouts
from nomad_stateful.schema.fields import integer, mapping, text, texts
from nomad_stateful.schema.properties import Integer, Properties, RequiredText, TextMap, Texts, computed


class PluginHealthProperties(Properties):
    """Exists once a CSI plugin is healthy: its controllers, and a node plugin in every zone."""

    plugin_id: RequiredText = text(
        "Id of the CSI plugin, as in its jobs' csi_plugin blocks.",
        required=True,
        replaces=True,
        rule=rules.name("aws-ebs"),
    )
    controllers: Integer = integer(
        "Healthy controllers to wait for; 0 for a driver without a controller.",
        default=1,
        rule=rules.whole_number(0, 100, "0 is for a driver without a controller"),
    )
    zones: Texts = texts(
        "Availability zones in each of which at least one node plugin must be healthy; empty: one anywhere.",
        rule=rules.unique_names('For example ["us-west-2a"]'),
    )
    zone_keys: Texts = texts(
        "Topology keys in which the driver names a node's zone, the preferred one first.",
        rule=rules.unique_names('For example ["topology.ebs.csi.aws.com/zone"]'),
    )
    timeout_s: Integer = timeouts.seconds("Seconds to wait before failing.", 300)
    triggers: TextMap = mapping("Any values; when one changes, the plugin's health is waited for again.")
    provider = computed(text("Name the driver reports."))
    provider_version = computed(text("Version the driver reports."))
    topology_key = computed(
        text("First of zoneKeys that every healthy node reports; empty when the driver reports none.")
    )
    topology_keys = computed(texts("All topology keys the healthy nodes report, sorted."))
    controllers_healthy = computed(integer("Healthy controllers."))
    nodes_healthy = computed(integer("Healthy node plugins."))
    zones_healthy = computed(mapping("Healthy node plugins by availability zone.", "integer"))


PLUGIN_HEALTH = PluginHealthProperties.table
