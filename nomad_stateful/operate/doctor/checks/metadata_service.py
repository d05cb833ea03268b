"""The instance metadata service of the clients, where the driver learns its instance and gets its credentials."""

from collections.abc import Iterator

from nomad_stateful.operate.doctor.facts import Facts, driver_of
from nomad_stateful.operate.doctor.finding import Finding, problem, warning

_PAGE = "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-options.html"
_CONTAINER_HOPS = 2


def reachable(facts: Facts) -> Iterator[Finding]:
    """The driver reaches the instances' metadata service, also from a container."""
    bridged = [str(plugin.get("id")) for plugin in facts.own_plugins() if driver_of(plugin).backend == "ebs"]
    for instance_id, instance in sorted(facts.instances().items()):
        options = instance.get("MetadataOptions") or {}
        command = f"aws ec2 modify-instance-metadata-options --instance-id {instance_id}"
        if options.get("HttpEndpoint", "enabled") != "enabled":
            why = "the driver does not learn its instance and zone, and does not start"
            what = f"the metadata service of {instance_id} is disabled"
            yield problem(what, why, f"{command} --http-endpoint enabled", _PAGE)
        hops = int(options.get("HttpPutResponseHopLimit") or _CONTAINER_HOPS)
        if bridged and hops < _CONTAINER_HOPS:
            what = f"the hop limit of {instance_id} is {hops}, and plugin {', '.join(bridged)} runs in containers"
            why = "the token's answer does not reach a container on a bridge: the driver gets no credentials"
            cure = f"{command} --http-put-response-hop-limit {_CONTAINER_HOPS}"
            yield problem(what, why, cure, _PAGE)


def wants_tokens(facts: Facts) -> Iterator[Finding]:
    """The instances' metadata services answer requests with a token only (IMDSv2)."""
    for instance_id, instance in sorted(facts.instances().items()):
        if (instance.get("MetadataOptions") or {}).get("HttpTokens", "required") != "required":
            what = f"the metadata service of {instance_id} answers without a token (IMDSv1)"
            why = "a task that can be made to fetch a URL gives away the role's credentials"
            cure = f"aws ec2 modify-instance-metadata-options --instance-id {instance_id} --http-tokens required"
            yield warning(what, why, cure, _PAGE)
