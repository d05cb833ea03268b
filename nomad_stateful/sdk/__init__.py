"""The provider's classes for Pulumi programs in Python."""

from nomad_stateful.sdk.cluster import Cluster, ClusterNode, ClusterServer, get_cluster
from nomad_stateful.sdk.generated_secret import GeneratedSecret
from nomad_stateful.sdk.health import JobHealth, PluginHealth
from nomad_stateful.sdk.ownership import Ownership
from nomad_stateful.sdk.service import Service, get_service_output
from nomad_stateful.sdk.volume_guards import CsiVolumeGuard, VolumeGuard, VolumeProtection
from nomad_stateful.sdk.volume_use import VolumeGrowth, VolumeRelease

__all__ = [
    "Cluster",
    "ClusterNode",
    "ClusterServer",
    "CsiVolumeGuard",
    "GeneratedSecret",
    "JobHealth",
    "Ownership",
    "PluginHealth",
    "Service",
    "VolumeGrowth",
    "VolumeGuard",
    "VolumeProtection",
    "VolumeRelease",
    "get_cluster",
    "get_service_output",
]
