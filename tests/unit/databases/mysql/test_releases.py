"""Which version may follow on the files of which."""

import pytest

from nomad_stateful.databases.mysql import releases
from nomad_stateful.databases.mysql.releases import of_server, refuse_path, wanted
from nomad_stateful.databases.upgrades import UpgradeRefusedError, Version


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("8.0.40", "8.0.43"),
        ("8.0.40", "8.4.6"),
        ("8.0.40", "8.3.0"),
        ("8.1.0", "8.3.0"),
        ("8.3.0", "8.4.0"),
        ("8.4.4", "8.4.6"),
        ("8.4.4", "9.2.0"),
        ("8.4.4", "9.7.4"),
        ("9.1.0", "9.5.0"),
        ("9.1.0", "9.1.1"),
        ("9.6.0", "9.7.0"),
        ("9.7.0", "26.7.0"),
        ("26.7.0", "26.7.1"),
        ("26.7.1", "26.10.0"),
        ("26.10.0", "27.1.0"),
    ],
)
def test_mysqls_own_paths_are_taken(before: str, after: str) -> None:
    refuse_path(of_server(before), wanted(after))


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("8.0.40", "9.7.4", "goes to 8.4 first"),
        ("8.0.40", "9.0.0", "goes to 8.4 first"),
        ("8.3.0", "9.1.0", "goes to 8.4 first"),
        ("8.4.4", "26.7.0", "goes to 9.7 first"),
        ("9.3.0", "26.7.0", "goes to 9.7 first"),
        ("9.7.4", "8.4.6", "an older one does not start on its files"),
        ("9.5.0", "9.4.0", "restore a snapshot"),
        ("9.1.1", "9.1.0", "an older one does not start"),
        ("8.4.6", "8.4.4", "Within 8.4 MySQL allows it: set mysql.image"),
        ("5.7.44", "8.0.40", "a series that this release does not know"),
    ],
)
def test_no_way_back_and_no_long_term_series_is_skipped(before: str, after: str, why: str) -> None:
    with pytest.raises(UpgradeRefusedError) as refused:
        refuse_path(of_server(before), wanted(after))
    assert why in str(refused.value)
    assert refused.value.exit_status == 4


def test_within_a_series_whose_patches_are_no_steps_back_nothing_is_offered() -> None:
    with pytest.raises(UpgradeRefusedError) as refused:
        refuse_path(Version((9, 1, 1)), Version((9, 1, 0)))
    assert "MySQL allows it" not in str(refused.value)


@pytest.mark.parametrize("given", ["8.4", "latest", "v8.4.6", "8.4.6-oracle", "8.4.6.1", "", "8.4.x", "1e3.4.5"])
def test_what_is_no_whole_version_is_refused(given: str) -> None:
    with pytest.raises(UpgradeRefusedError, match="must be a whole version"):
        wanted(given)


@pytest.mark.parametrize("given", ["8.5.0", "9.8.0", "10.0.0", "11.4.2", "26.6.0", "26.13.0", "26.0.1", "7.0.0"])
def test_a_series_that_never_was_is_refused(given: str) -> None:
    with pytest.raises(UpgradeRefusedError, match="MySQL has no series"):
        wanted(given)


def test_a_server_says_its_version_with_what_its_builder_adds() -> None:
    assert of_server("9.7.4-2") == Version((9, 7, 4))
    assert str(of_server("8.0.40-0ubuntu0.24.04.1")) == "8.0.40"


@pytest.mark.parametrize("said", ["10.11.19-MariaDB-0+deb12u1", "5.5.5-10.11.6-MariaDB"])
def test_mariadb_is_refused(said: str) -> None:
    with pytest.raises(UpgradeRefusedError, match="the server is MariaDB"):
        of_server(said)


def test_a_server_without_a_version_is_refused() -> None:
    with pytest.raises(UpgradeRefusedError, match="no release of MySQL"):
        releases.of_server("unknown")
