"""The sequences of changes of a seed: always the same, of every kind, and never settings that the program refuses."""

import itertools
import random
import shutil

import pytest

from nomad_stateful.program import settings as program
from sandbox.settings import STACK
from tools.faults.setting_changes import KINDS, Change, made, sequence
from tools.faults.stack_settings import StackSettings, with_server
from tools.trial.namespaces import with_namespace
from tools.trial.running import PROJECT
from tools.trial.servers import SERVERS

SEEDS = range(100)


@pytest.fixture(scope="module", params=list(SERVERS.values()), ids=list(SERVERS))
def stack(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> StackSettings:
    path = tmp_path_factory.mktemp("stack") / f"Pulumi.{STACK}.yaml"
    shutil.copy(PROJECT / path.name, path)
    with_server(path, request.param)
    return StackSettings.read(path)


def drawn(stack: StackSettings, seed: int, length: int = 5) -> list[Change]:
    return sequence(stack, random.Random(seed), length)


def accepted(stack: StackSettings) -> program.Settings:
    mine = {key.removeprefix("nomad-stateful:"): value for key, value in stack.config.items()}
    return program.parse({key: value for key, value in mine.items() if not key.startswith("aws:")})


@pytest.mark.parametrize("seed", SEEDS)
def test_the_program_accepts_the_settings_after_every_change(stack: StackSettings, seed: int) -> None:
    found = list(made(stack, drawn(stack, seed)))
    assert [number for number, _, at in found if accepted(at)] == [1, 2, 3, 4, 5]
    assert accepted(stack.back_from(found[-1][2]))
    assert all(one.config != two.config for (_, _, one), (_, _, two) in itertools.pairwise(found))


def test_a_seed_always_gives_the_same_sequence_with_the_same_settings(stack: StackSettings) -> None:
    for seed in SEEDS:
        one, two = ([at.config for _, _, at in made(stack, drawn(stack, seed))] for _ in range(2))
        assert one == two


def test_every_kind_of_change_is_drawn(stack: StackSettings) -> None:
    texts = [change.text for seed in SEEDS for change in drawn(stack, seed)]
    for words in (
        "scale",
        "rename",
        "remove",
        "switch",
        f"{stack.server.title} on volume",
        "sizeGib",
        "jobId",
        "plugin.id",
        "namespace",
    ):
        assert sum(words in text for text in texts) > 4, words
    assert len(KINDS) > 15


@pytest.mark.parametrize("left_out", range(1, 5))
def test_a_sequence_can_be_made_without_one_of_its_changes(stack: StackSettings, left_out: int) -> None:
    """And without those that change what it would have made."""
    numbers = [[number for number, _, _ in made(stack, drawn(stack, seed), frozenset({left_out}))] for seed in SEEDS]
    assert all(left_out not in found for found in numbers)
    assert max(map(len, numbers)) == 4


def test_the_settings_say_which_jobs_are_to_run(stack: StackSettings) -> None:
    at = stack.copy()
    at.placement["namespace"] = "shop"
    at.plugin.update(id="ebs1", jobIds={"controller": "ebs-c"}, controllers=1)
    at.database.update(jobId="db", backup={"volume": "dumps"})
    at.consumers.append({"name": "logs", "count": 2, "mounts": [{"volume": "set"}]})
    assert at.jobs(clients=3) == {
        "shop/ebs-c": 1,
        "shop/plugin-ebs1-node": 3,
        "shop/db": 1,
        f"shop/{stack.server.name}-backup": 0,
        f"shop/{stack.server.name}-backup-restore": 0,
        "shop/logs": 2,
    }
    assert at.used() == {stack.server.volume, "dumps", "set"}


def test_a_volume_under_another_name_gets_its_first_name_back(stack: StackSettings) -> None:
    at = stack.copy()
    at.rename(stack.server.volume, "orders")
    at.volume("orders").pop("renamedFrom")
    at.rename("orders", "shop")
    assert at.database["volume"] == "shop"
    assert at.volume("shop")["renamedFrom"] == "orders"
    back = stack.back_from(at)
    assert back.volume(stack.server.volume)["renamedFrom"] == "shop"
    assert "renamedFrom" not in back.volume("archive")


def test_a_policy_allows_in_another_namespace_what_it_allows_in_the_default_one() -> None:
    default = 'namespace "default" {\n  policy = "write"\n}\n'
    rules = with_namespace(f"{default}node {{\n}}\n", "shop")
    assert default in rules
    assert default.replace("default", "shop") in rules
    assert with_namespace(rules, "shop") == rules
