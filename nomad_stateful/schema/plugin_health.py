"""The fields of PluginHealth."""

from nomad_stateful.schema import rules
from nomad_stateful.schema.fields import integer, mapping, text, texts
from nomad_stateful.schema.tables import ResourceTable
from nomad_stateful.schema.timeouts import timeout_s

PLUGIN_HEALTH = ResourceTable(
    "PluginHealth",
    "Exists once a CSI plugin is healthy: its controllers, and a node plugin in every zone.",
    inputs={
        "pluginId": text(
            "Id of the CSI plugin, as in its jobs' csi_plugin blocks.",
            required=True,
            replaces=True,
            rule=rules.name("aws-ebs"),
        ),
        "controllers": integer(
            "Healthy controllers to wait for; 0 for a driver without a controller.",
            default=1,
            rule=rules.whole_number(0, 100, "0 is for a driver without a controller"),
        ),
        "zones": texts(
            "Availability zones in each of which at least one node plugin must be healthy; empty: one anywhere.",
            rule=rules.unique_names('For example ["us-west-2a"]'),
        ),
        "zoneKeys": texts(
            "Topology keys in which the driver names a node's zone, the preferred one first.",
            rule=rules.unique_names('For example ["topology.ebs.csi.aws.com/zone"]'),
        ),
        "timeoutS": timeout_s("Seconds to wait before failing.", 300),
        "triggers": mapping("Any values; when one changes, the plugin's health is waited for again."),
    },
    outputs={
        "provider": text("Name the driver reports."),
        "providerVersion": text("Version the driver reports."),
        "topologyKey": text("First of zoneKeys that every healthy node reports; empty when the driver reports none."),
        "topologyKeys": texts("All topology keys the healthy nodes report, sorted."),
        "controllersHealthy": integer("Healthy controllers."),
        "nodesHealthy": integer("Healthy node plugins."),
        "zonesHealthy": mapping("Healthy node plugins by availability zone.", "integer"),
    },
)
