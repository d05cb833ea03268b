"""Where a job answers."""

from dataclasses import dataclass
from typing import Any

import pulumi

from nomad_stateful.schema.functions import GET_SERVICE


@dataclass(frozen=True)
class Service:
    """Where a job answers now; empty strings and 0 while it does not run."""

    allocation_id: str
    node_name: str
    host: str
    port: int


def get_service_output(
    *,
    job_id: pulumi.Input[str],
    group: pulumi.Input[str],
    port_label: pulumi.Input[str],
    namespace: pulumi.Input[str] | None = None,
    parent: pulumi.Resource | None = None,
) -> pulumi.Output[Service]:
    """Asks Nomad, at each update, where the newest running allocation of a job's group answers."""
    args = GET_SERVICE.wire(job_id=job_id, group=group, port_label=port_label, namespace=namespace)
    options = pulumi.InvokeOutputOptions(parent=parent)
    result: pulumi.Output[dict[str, Any]] = pulumi.runtime.invoke_output(GET_SERVICE.token, args, options)
    return result.apply(lambda found: Service(**GET_SERVICE.read(found)))
