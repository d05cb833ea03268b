"""What ends a call, a command or a program with a sentence for whoever runs it."""


class ProviderError(Exception):
    """A failure told to the user as its message alone, without a traceback."""


def unsendable(what: str, secret: str) -> str:
    """Returns why no header of a request can have a secret, by what it is called and without it; "" where one can."""
    if secret.isascii() and secret.isprintable() and secret == secret.strip():
        return ""
    return (
        f"{what} is a value that is not shown: it has to be printable ASCII characters, and no white space around "
        "them. Set it anew without what follows it, such as a line's end"
    )
