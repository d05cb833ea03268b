"""Where the members of a group are, also when Nomad has forgotten it."""

from __future__ import annotations

from pathlib import Path

import pytest

from nomad_stateful.agent.membership.hosts import Hosts
from nomad_stateful.agent.server import ServerError


def test_a_member_is_where_it_was_registered_last(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("10.0.0.2 member-2\n\n")
    hosts = Hosts(file)
    assert hosts.address("member-2") == "10.0.0.2"
    with pytest.raises(ServerError, match="member-3 is registered nowhere"):
        hosts.address("member-3")
    file.write_text("10.0.0.3 member-3\n")
    assert (hosts.address("member-2"), hosts.address("member-3")) == ("10.0.0.2", "10.0.0.3")
    file.write_text("10.0.0.4 member-2\n")
    assert hosts.address("member-2") == "10.0.0.4"


def test_without_a_file_a_name_is_an_address() -> None:
    assert Hosts(None).address("member-2") == "member-2"
