"""Which errors of Nomad's are transient, and for how long a request is retried after one."""

RETRY_LIMIT_S = 30.0
"""The plugins' limit: longer than an election and a server's restart."""
FIRST_ANSWER_S = 8.0
"""The limit for a server that has never answered: its address may be wrong."""
_TRANSIENT_STATUSES = frozenset({429, 502, 503, 504})
# Nomad also passes a driver's final refusal on as a 500: only these are about Nomad itself. It has no path to the
# client of a controller that it lost, until it calls that client down and asks another one.
_TRANSIENT_TEXTS = (
    "no cluster leader",
    "not the leader",
    "leadership lost",
    "no path to region",
    "no path to node",
    "failed to get conn",
    "rpc error: eof",
    "connection refused",
    "connection reset",
    "broken pipe",
    "i/o timeout",
    # Of the connections between agents: github.com/hashicorp/yamux.
    "stream closed",
    "session shutdown",
    "keepalive timeout",
    "connection write timeout",
    "i/o deadline reached",
)


def is_transient_answer(status: int, text: str) -> bool:
    """Returns whether an HTTP answer of Nomad tells of an election, a restarting server, or too many requests."""
    lowered = text.lower()
    return status in _TRANSIENT_STATUSES or (status == 500 and any(part in lowered for part in _TRANSIENT_TEXTS))
