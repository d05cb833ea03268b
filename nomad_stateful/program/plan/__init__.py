"""What the stack will be, as data: made of the settings alone, and read by preflight, the story and tests."""

from dataclasses import replace

from nomad_stateful.program.plan import jobs
from nomad_stateful.program.plan.database import buckets, database
from nomad_stateful.program.plan.model import Plan
from nomad_stateful.program.plan.plugins import csi_plugin
from nomad_stateful.program.plan.programs import container, failover_watch, volume_metrics
from nomad_stateful.program.plan.volumes import schedules, volumes
from nomad_stateful.program.settings import Settings, driver_policy


def of(settings: Settings, stack: str) -> Plan:
    """Returns the plan of a stack's settings; `stack` is PROJECT/STACK."""
    places = list(buckets(settings, stack))
    copies = {bucket.role: bucket.copies for bucket in places}
    policies = {
        "ebs": driver_policy.of_ebs(settings.plugins, settings.volumes_of("ebs")),
        "efs": driver_policy.of_efs(settings.plugins, settings.volumes_of("efs")),
    }
    plan = Plan(
        client_role=settings.client_role,
        plugins={plugin.id: csi_plugin(settings, plugin) for plugin in settings.plugins},
        drivers={plugin.id: plugin.driver for plugin in settings.plugins},
        policies={driver: policy for driver, policy in policies.items() if policy is not None},
        volumes=list(volumes(settings, stack)),
        schedules=schedules(settings, stack),
        database=database(settings, copies),
        volume_metrics=volume_metrics(settings),
        consumers={consumer.name: container(settings, consumer) for consumer in settings.consumers},
        earlier_consumers={one.name: one.renamed_from for one in settings.consumers if one.renamed_from},
        failover=failover_watch(settings),
        buckets=places,
        jobs=[],
        namespace=settings.placement.namespace,
        job_keys={job: key for key, job in settings.jobs},
        taken_over=settings.adopt,
    )
    return replace(plan, jobs=list(jobs.of(settings, plan)))
