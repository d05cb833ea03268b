"""What getService takes and returns."""

from nomad_stateful.schema import rules
from nomad_stateful.schema.fields import integer, text
from nomad_stateful.schema.tables import FunctionTable

_NAMED = rules.required_text("name the job, its group and its port")

GET_SERVICE = FunctionTable(
    "getService",
    "Where a job answers right now.",
    inputs={
        "jobId": text("Id of the job.", required=True, rule=_NAMED),
        "group": text("The job's group.", required=True, rule=_NAMED),
        "portLabel": text("Label of the group's port.", required=True, rule=_NAMED),
        "namespace": text("The job's Nomad namespace.", default="default"),
    },
    outputs={
        "allocationId": text("The newest running allocation; empty while none runs."),
        "nodeName": text("The client it runs on."),
        "host": text("Address of the port."),
        "port": integer("Number of the port; 0 while none runs."),
    },
)
