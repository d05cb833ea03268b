"""What getJob takes and returns."""

from nomad_stateful.schema import rules
from nomad_stateful.schema.fields import ObjectType, boolean, integer, objects, text, texts
from nomad_stateful.schema.tables import FunctionTable

TASK = ObjectType(
    "JobTask",
    "One task of a job.",
    {
        "name": text("The task's name."),
        "image": text("Its image; empty where its driver runs none."),
        "args": texts("Its arguments."),
        "volumes": texts("Sources of the volumes it mounts, sorted."),
    },
)
FAILING_RUN = ObjectType(
    "FailingRun",
    "A run of a periodic job that has failed and not succeeded since.",
    {
        "jobId": text("Id of the run's own job."),
        "failures": integer("Allocations of it that failed."),
        "since": text("When it was launched, in UTC."),
        "allocationId": text("The newest allocation that failed."),
        "task": text("The task that failed in it; empty where none was started."),
        "reason": text("What that one's task ended with."),
        "again": boolean("Whether Nomad tries again."),
    },
)
GET_JOB = FunctionTable(
    "getJob",
    "What a job runs as it is registered, and which of its periodic runs fail.",
    inputs={
        "jobId": text("Id of the job.", required=True, rule=rules.required_text("name the job")),
        "namespace": text("The job's Nomad namespace.", default="default"),
    },
    outputs={
        "registered": boolean("Whether there is such a job."),
        "tasks": objects(TASK, "Its tasks; none while it is stopped."),
        "failingRuns": objects(
            FAILING_RUN,
            "Runs of a periodic job that have failed and not succeeded since, as long as Nomad knows them.",
        ),
    },
)
