"""What ends a command of the agent."""

from nomad_stateful.errors import ProviderError


class AgentError(ProviderError):
    """A command cannot do what it is asked for; the text says why, and what to do."""
