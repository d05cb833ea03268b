"""Two stacks in one namespace with the same ids: the second overwrites and purges nothing of the first."""

from collections.abc import Iterator

import pytest

from tests.sandbox.owners import (
    FIRST,
    JOBS,
    OWNERSHIP,
    assert_untouched,
    claims,
    deploy_first,
    edit_state,
    pulumi,
    running_jobs,
    two_stacks,
)
from tools.trial.running import Running

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with two_stacks(tmp_path_factory.mktemp("owners")) as running:
        yield running


@pytest.fixture(scope="module")
def first(place: Running) -> str:
    """The first stack, deployed after both were previewed; the allocation that runs its MySQL."""
    for stack in ("second", "first"):
        assert "to create" in pulumi(place, "preview", "--stack", stack)
    return deploy_first(place)


def test_both_previews_were_green_and_the_second_up_takes_nothing(place: Running, first: str) -> None:
    assert claims(place) == dict.fromkeys(JOBS, FIRST)
    for words in (("preview",), ("up", "--yes", "--skip-preview")):
        said = pulumi(place, *words, "--stack", "second", fails=True)
        assert "nothing was created" in said
        assert (
            "mysql.jobId is mysql-server: the job of this id in namespace default belongs to another stack, "
            "organization/nomad-stateful/first. Choose another id, or another placement.namespace."
        ) in said
        assert "plugins.aws-ebs0.jobIds.node is plugin-aws-ebs0-node: the job of this id" in said
        assert "volumes.mysql.name is mysql: namespace default has such a volume" in said
    pulumi(place, "destroy", "--yes", "--skip-preview", "--stack", "second")
    assert_untouched(place, first)
    pulumi(place, "preview", "--expect-no-changes", "--stack", "first")
    pulumi(place, "preview", "--expect-no-changes", "--refresh", "--stack", "first")


def test_a_state_that_has_the_firsts_jobs_purges_nothing_of_it(place: Running, first: str) -> None:
    """As two stacks of a release without claims could come to be; and where a claim is told of, it counts."""
    edit_state(place, "first", "second", lambda one: one["type"] != OWNERSHIP and "aws:" not in f"{one['type']}:")
    said = pulumi(place, "destroy", "--yes", "--skip-preview", "--stack", "second", fails=True)
    assert (
        "job mysql-server (namespace default) belongs to the stack organization/nomad-stateful/first, so this stack "
        "does not stop or purge it"
    ) in " ".join(said.split())
    assert_untouched(place, first)
    assert "belongs to another stack" in pulumi(place, "preview", "--stack", "second", fails=True)


def test_once_the_first_is_destroyed_its_ids_are_free(place: Running, first: str) -> None:
    pulumi(place, "destroy", "--yes", "--skip-preview", "--stack", "first")
    assert claims(place) == {}
    assert running_jobs(place) == {}
    edit_state(place, "second", "second", lambda one: one["type"] == "pulumi:pulumi:Stack")
    assert "to create" in pulumi(place, "preview", "--stack", "second")
