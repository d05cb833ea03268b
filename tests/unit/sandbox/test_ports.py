import os
import socket
from pathlib import Path

import pytest

from sandbox.machine.ports import Listener, listeners, refuse_taken
from sandbox.settings import SettingsError, parse_settings

SETTINGS = parse_settings({}, Path("/nowhere"))


def test_a_listening_socket_is_found_with_the_process_that_holds_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = [item for item in listeners() if item.port == port]
    assert [(item.address, item.pid) for item in found] == [("127.0.0.1", os.getpid())]
    assert "python" in found[0].command or "pytest" in found[0].command


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.173.86.1"])
def test_a_taken_port_is_refused_with_who_holds_it(address: str) -> None:
    holder = Listener(address, 4646, 77, "nomad agent -dev")
    with pytest.raises(SettingsError) as caught:
        refuse_taken(SETTINGS, ("ec2", "nomad_http"), [holder])
    assert str(caught.value) == (
        f"ports.nomad_http is 4646: nomad agent -dev (pid 77) listens on {address}:4646. "
        "Stop it, or set another port in sandbox.toml."
    )


def test_the_same_port_on_another_address_is_no_collision() -> None:
    refuse_taken(SETTINGS, ("nomad_http",), [Listener("127.0.0.1", 4646, 77, "nomad agent -dev")])
