"""Starts the program: what every run calls in AWS and Nomad is sent before the imports, which take as long."""

from nomad_stateful.garbage import collect_rarely
from nomad_stateful.program.prefetch import Prefetch


def launch() -> None:
    """Loads the settings, checks them against AWS and Nomad, and deploys. Raises SettingsError."""
    collect_rarely()
    prefetch = Prefetch()
    from nomad_stateful.program import registering, story
    from nomad_stateful.program.preflight import check, discovery

    settings = discovery.load(prefetch)
    environment = check.check(settings, prefetch)
    registering.await_resources()
    with registering.without_stack_traces():
        story.deploy(settings, environment)
