"""What a command ends with, as a message to the operator."""


class OperateError(Exception):
    """A command cannot do its work; the text is the whole message."""

    exit_status = 1


class TimedOutError(OperateError):
    """A deadline passed."""
