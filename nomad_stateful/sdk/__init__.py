"""The provider's classes for Pulumi programs in Python."""

from nomad_stateful.sdk.cluster import Cluster, ClusterNode, ClusterServer, get_cluster
from nomad_stateful.sdk.provider import Provider
from nomad_stateful.sdk.resources import (
    CsiVolumeGuard,
    GeneratedSecret,
    JobHealth,
    Ownership,
    PluginHealth,
    ReplicationGroup,
    VolumeGrowth,
    VolumeGuard,
    VolumeProtection,
    VolumeRelease,
)
from nomad_stateful.sdk.service import Service, get_service_output

__all__ = [
    "Cluster",
    "ClusterNode",
    "ClusterServer",
    "CsiVolumeGuard",
    "GeneratedSecret",
    "JobHealth",
    "Ownership",
    "PluginHealth",
    "Provider",
    "ReplicationGroup",
    "Service",
    "VolumeGrowth",
    "VolumeGuard",
    "VolumeProtection",
    "VolumeRelease",
    "get_cluster",
    "get_service_output",
]
