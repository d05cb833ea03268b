"""What ends a command of the agent."""


class AgentError(Exception):
    """A command cannot do what it is asked for; the text says why, and what to do."""
