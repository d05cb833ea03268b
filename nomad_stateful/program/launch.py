"""Starts the program: what every run calls in AWS and Nomad is sent before the imports, which take as long."""

import pulumi

from nomad_stateful.garbage import collect_rarely
from nomad_stateful.program.prefetch import Prefetch


def launch() -> None:
    """Loads the settings, checks them against AWS and Nomad, and deploys. Raises RunError, which has no stack trace."""
    collect_rarely()
    prefetch = Prefetch()
    from nomad_stateful.program import plan, registering, story
    from nomad_stateful.program.preflight import check, discovery, stack_state
    from nomad_stateful.program.settings import SettingsError
    from nomad_stateful.program.wiring.values import Values

    try:
        settings = discovery.load(prefetch)
        planned = plan.of(settings, stack_state.name())
        environment = check.check(settings, planned, prefetch)
    except SettingsError as error:
        raise pulumi.RunError(str(error)) from None
    registering.await_resources()
    with registering.without_stack_traces():
        story.deploy(planned, Values(settings, environment))
