"""The stack's volumes: registered, and held by nothing that should not hold them."""

from collections.abc import Iterator

from nomad_stateful.operate import stack
from nomad_stateful.operate.doctor.facts import Facts, Json, NotChecked
from nomad_stateful.operate.doctor.finding import Finding, problem
from nomad_stateful.operate.doctor.usage import usage_of
from nomad_stateful.recovery.plan import recovery_plans

_PAGE = "docs/runbook.md#what-holds-a-volume"


def registered(facts: Facts) -> Iterator[Finding]:
    """Every volume of the stack is registered, under the id that the stack has of it."""
    for made in _made(facts):
        namespace = str(made.get("namespace") or "default")
        known = _known(facts, namespace).get(str(made["volumeId"]))
        if known is None:
            what = f"volume {made['volumeId']} is not registered in namespace {namespace}"
            why = "its consumers stay pending: missing CSI Volume"
            yield problem(what, why, "pulumi up --refresh", _PAGE)
        elif known["ExternalID"] != made["externalId"]:
            what = f"volume {made['volumeId']} is {known['ExternalID']} in Nomad, the stack's is {made['externalId']}"
            why = "its consumers get another volume than the stack's"
            yield problem(what, why, "check NOMAD_ADDR and --stack; then pulumi up --refresh", _PAGE)


def held(facts: Facts) -> Iterator[Finding]:
    """No volume is held by a claim or an attachment that should not be there."""
    for made in _made(facts):
        volume_id = str(made["volumeId"])
        usage = usage_of(facts, str(made.get("namespace") or "default"), volume_id, str(made["externalId"]))
        for plan in recovery_plans(usage, wanted_free=False):
            why = "until it is released, no other client can mount the volume"
            cure = f"`nomad-stateful recover` shows every step; next: {plan.steps[0]}"
            yield problem(f"volume {volume_id}: {plan.problem}", why, cure, _PAGE)


def _made(facts: Facts) -> list[Json]:
    made = facts.made(*stack.REGISTRATIONS)
    if not made:
        raise NotChecked("the stack has registered no volume yet")
    return made


def _known(facts: Facts, namespace: str) -> dict[str, Json]:
    stubs = facts.once(f"volumes in {namespace}", lambda: facts.nomad().get("volumes", type="csi", namespace=namespace))
    return {str(stub["ID"]): stub for stub in stubs or []}
