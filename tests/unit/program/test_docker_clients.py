"""What a plugin's containers need of the clients is refused at preview where no client gives it."""

from typing import Any

import preflight
import settings
from provider.sdk import Cluster, ClusterNode


def node(zone: str, *, privileged: bool = True, volumes: bool = True) -> ClusterNode:
    return ClusterNode(
        "1", "a", "1.11.3", zone, "ready", "eligible", "dc1", "default", ("docker",), privileged, volumes
    )


def problems(plugin: dict[str, Any], *nodes: ClusterNode) -> list[str]:
    volume = {"name": "data", "plugin": plugin["id"], **plugin.pop("volume")}
    known = settings.parse({"clientRole": "nomad-client", "plugins": [plugin], "volumes": [volume]})
    cluster = Cluster("1.11.3", (), nodes, tuple(node.zone for node in nodes))
    return [str(problem) for problem in preflight._clients_unfit_for_docker(known, cluster)]


def ebs() -> dict[str, Any]:
    return {"id": "aws-ebs0", "driver": "ebs", "volume": {"zone": "us-west-2a", "sizeGib": 1}}


def efs() -> dict[str, Any]:
    volume = {"provision": "existing", "externalId": "fs-1", "accessMode": "multi-node-multi-writer", "fsType": ""}
    return {"id": "aws-efs0", "driver": "efs", "volume": volume}


def test_a_zone_needs_one_client_that_allows_privileged_containers() -> None:
    assert problems(ebs(), node("us-west-2a", privileged=False), node("us-west-2a")) == []
    (refused,) = problems(ebs(), node("us-west-2a", privileged=False), node("us-west-2b"))
    assert refused.startswith("plugins.aws-ebs0.taskDriver is docker: no Nomad client in us-west-2a allows privileged")
    assert "allow_privileged = true" in refused


def test_a_plugin_that_is_bound_to_no_zone_is_checked_too() -> None:
    assert problems(efs(), node("us-west-2b")) == []
    (refused,) = problems(efs(), node("us-west-2a", privileged=False))
    assert "no Nomad client allows privileged containers" in refused


def test_a_plugin_with_folders_of_the_client_needs_volumes_enabled_and_the_folders() -> None:
    (refused,) = problems(efs(), node("us-west-2a", volumes=False))
    assert "volumes { enabled = true }" in refused
    assert "/var/run/efs, /var/amazon/efs, /etc/amazon/efs" in refused
    assert problems(ebs(), node("us-west-2a", volumes=False)) == []
    assert problems(efs() | {"hostMounts": []}, node("us-west-2a", volumes=False)) == []


def test_a_plugin_without_docker_needs_nothing_of_it() -> None:
    assert problems(ebs() | {"taskDriver": "raw_exec"}, node("us-west-2a", privileged=False, volumes=False)) == []
