"""What an object in S3 says of a binary log."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomad_stateful.databases.mysql.archive import Facts, facts
from nomad_stateful.databases.mysql.gtids import Gtid
from tests.unit.databases.mysql.test_binlog import AT, before, gtid, log, rotated, stopped
from tests.unit.databases.mysql.test_gtids import of, transactions

FLAGS = st.booleans()


@given(transactions, transactions, FLAGS, FLAGS)
def test_its_metadata_says_what_the_log_does(some: list[Gtid], own: list[Gtid], opened: bool, closed: bool) -> None:
    known = Facts(of(some), of(own), AT, opened, closed)
    metadata = known.metadata()
    assert sum(len(name) + len(value) for name, value in metadata.items()) < 2048
    assert not metadata or Facts.of_metadata(metadata) == known


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"sha256": "x"},
        {"gtids-before": "x", "gtids": "", "whole": AT.isoformat(), "rotations": "11"},
        {"gtids-before": "", "gtids": "", "whole": "soon", "rotations": "11"},
        {"gtids-before": "", "gtids": "", "whole": AT.isoformat(), "rotations": "111"},
    ],
)
def test_what_no_copier_wrote_says_nothing(metadata: Mapping[str, str]) -> None:
    assert Facts.of_metadata(metadata) is None


def test_a_log_is_whole_up_to_its_last_transaction_or_its_end() -> None:
    killed = facts("log", log(before(), gtid(1, AT), started=True))
    assert (killed.whole, killed.opened_by_rotation, killed.closed_by_rotation) == (AT, False, False)
    later = AT.replace(second=30, microsecond=0)
    assert facts("log", log(before(), gtid(1, AT), stopped(later))).whole == later
    assert facts("log", log(before(), rotated(later))).closed_by_rotation
