"""What ends a call, a command or a program with a sentence for whoever runs it."""


class ProviderError(Exception):
    """A failure told to the user as its message alone, without a traceback."""
