import pytest

from nomad_stateful.databases.postgres import POSTGRES
from nomad_stateful.databases.postgres.options import OWN_OPTIONS, Options

OPTIONS = Options()


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("data_directory", "/elsewhere", "postgres.dataDir sets this"),
        ("port", "1", "postgres.port sets this"),
        ("ssl", "off", "postgres.tls sets this"),
        ("hba_file", "/tmp/pg_hba.conf", "the program reserves hba_file"),
        ("include", "more.conf", "postgres.config sets this"),
        ("fsync", "off", "a crash, a snapshot or a bad page can lose what was committed"),
        ("synchronous_commit", "OFF", "can lose what was committed"),
        ("synchronous_commit", "0", "can lose what was committed"),
        ("ignore_invalid_pages", "on", "can lose what was committed"),
        ("shared_preload_libraries", "pg_stat_statements,/srv/own.so", "by its name alone"),
        ("a b", "1", "not a valid option name"),
        ("work_mem", "1\n", "line breaks"),
    ],
)
def test_an_option_that_the_program_decides_or_that_endangers_data_is_refused(name: str, value: str, rule: str) -> None:
    problem = OPTIONS.option(name, value, "/srv")
    assert problem is not None
    assert rule in problem.rule


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_connections", "200"),
        ("synchronous_commit", "local"),
        ("shared_preload_libraries", "pg_stat_statements, pgaudit"),
        ("pg_stat_statements.max", "1000"),
        ("log_line_prefix", "%m 'x' {{ env \"NOMAD_ALLOC_ID\" }} "),
    ],
)
def test_other_options_are_taken(name: str, value: str) -> None:
    assert OPTIONS.option(name, value, "/srv") is None


@pytest.mark.parametrize("name", sorted(OWN_OPTIONS))
def test_no_argument_sets_what_the_file_may_not(name: str) -> None:
    for written in (name, name.upper(), name.replace("_", "-")):
        assert OPTIONS.argument(f"--{written}=x", "/srv") is not None


@pytest.mark.parametrize("argument", ["--single", "-C", "-c fsync=off", "--describe-config", "postgres", "--help"])
def test_an_argument_is_one_option_with_its_value(argument: str) -> None:
    assert OPTIONS.argument(argument, "/srv") is not None


def test_a_value_stands_in_quotes_and_its_templates_as_they_are() -> None:
    assert OPTIONS.text("it's \\n {{ env \"A'B\" }}") == "'it''s \\\\n {{ env \"A'B\" }}'"


@pytest.mark.parametrize(
    ("image", "rule"),
    [
        ("mysql:9.7", "not an image of PostgreSQL"),
        ("registry.example/x/mariadb-galera:11", "not an image of PostgreSQL"),
        ("postgres:15.9", "older than PostgreSQL 16"),
        ("docker.io/library/postgres:9.6-alpine@sha256:0", "older than PostgreSQL 16"),
    ],
)
def test_an_image_of_another_server_or_of_an_old_one_is_refused(image: str, rule: str) -> None:
    problem = POSTGRES.image_problem(image)
    assert problem is not None
    assert rule in problem.rule


@pytest.mark.parametrize(
    "image", ["postgres:18", "postgis/postgis:17-3.5", "timescale/timescaledb:2.17-pg16", "x@sha256:0"]
)
def test_other_images_are_taken(image: str) -> None:
    assert POSTGRES.image_problem(image) is None


@pytest.mark.parametrize(
    ("version", "files", "other"), [((18,), (17, 2), True), ((17, 2), (18, 1), True), ((18, 1), (18, 2), False)]
)
def test_each_major_version_has_files_of_its_own(
    version: tuple[int, ...], files: tuple[int, ...], *, other: bool
) -> None:
    assert (POSTGRES.files_problem(version, files) is not None) == other
