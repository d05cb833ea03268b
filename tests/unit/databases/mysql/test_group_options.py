"""The options of a group's member."""

from nomad_stateful.databases.mysql.group import option_lines
from nomad_stateful.databases.server import Member


def test_a_new_primary_answers_once_it_has_executed_what_it_had_received() -> None:
    member = Member("db-1", ("db-2", "db-3"), port=13306, message_cache_mib=128)
    assert "loose-group_replication_consistency = BEFORE_ON_PRIMARY_FAILOVER" in option_lines(member, verified=False)
