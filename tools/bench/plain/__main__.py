"""The same stack by pulumi_aws and pulumi_nomad alone, in plain dependency order.

What it consists of is read from parts.json, which the benchmark writes from our program's own state.
"""

import json
import secrets
from pathlib import Path

import pulumi
import pulumi_aws as aws
import pulumi_nomad as nomad

parts = json.loads(Path("parts.json").read_text(encoding="utf-8"))

# A volume that is still attached cannot be deleted: the provider's ten minutes would only make the failure later.
IMPATIENT = pulumi.ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(delete="30s"))


def job(name: str, depends_on: list[pulumi.Resource], *, detach: bool = True) -> nomad.Job:
    """A job file with its variables."""
    source = parts[name]
    return nomad.Job(
        name,
        jobspec=source["jobspec"],
        hcl2=nomad.JobHcl2Args(vars=source["variables"]),
        detach=detach,
        purge_on_destroy=True,
        opts=pulumi.ResourceOptions(depends_on=depends_on),
    )


policy = aws.iam.Policy("driver", policy=parts["policy"])
attachment = aws.iam.RolePolicyAttachment("driver", role=parts["role"], policy_arn=policy.arn)
volumes = {
    volume["name"]: aws.ebs.Volume(
        volume["name"],
        availability_zone=volume["zone"],
        size=volume["size_gib"],
        type=volume["type"],
        encrypted=volume["encrypted"],
        tags=volume["tags"],
        opts=IMPATIENT,
    )
    for volume in parts["volumes"]
}

controller = job("controller", [attachment])
node = job("node", [attachment])
plugin = nomad.get_plugin_output(
    plugin_id="aws-ebs0",
    wait_for_healthy=True,
    opts=pulumi.InvokeOutputOptions(depends_on=[controller, node]),
)

registrations = {
    volume["name"]: nomad.CsiVolumeRegistration(
        volume["name"],
        volume_id=volume["name"],
        name=volume["name"],
        plugin_id=plugin.plugin_id,
        external_id=volumes[volume["name"]].id,
        capabilities=[
            nomad.CsiVolumeRegistrationCapabilityArgs(access_mode="single-node-writer", attachment_mode="file-system")
        ],
        topology_request=nomad.CsiVolumeRegistrationTopologyRequestArgs(
            required=nomad.CsiVolumeRegistrationTopologyRequestRequiredArgs(
                topologies=[
                    nomad.CsiVolumeRegistrationTopologyRequestRequiredTopologyArgs(
                        segments={"topology.ebs.csi.aws.com/zone": volume["zone"]}
                    )
                ]
            )
        ),
        mount_options=nomad.CsiVolumeRegistrationMountOptionsArgs(fs_type="ext4"),
    )
    for volume in parts["volumes"]
}

password = nomad.Variable(
    "password",
    path="nomad/jobs/mysql-server",
    items=pulumi.Output.secret({"root_password": secrets.token_urlsafe(24)}),
    opts=pulumi.ResourceOptions(ignore_changes=["items"]),
)
job("mysql", [registrations["mysql"], password], detach=False)
