"""The one name that the packages have in a wheel."""

from pathlib import Path

import pytest

from package.wheel.rename import renamed, shipped

TOP = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from components.mysql import A\n", "from nomad_stateful.components.mysql import A\n"),
        ("from jobs import spec\n", "from nomad_stateful.jobs import spec\n"),
        ("import jobs\n", "from nomad_stateful import jobs\n"),
        ("def f():\n    from provider.sdk import A\n", "def f():\n    from nomad_stateful.provider.sdk import A\n"),
    ],
)
def test_an_import_of_a_part_gets_the_prefix(source: str, expected: str) -> None:
    assert renamed(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "import json\n",
        "from jobs_of_others import x\n",
        "import pulumi.provider\n",
        'text = """\nfrom jobs import x\n"""\n',
        "provider = jobs\n",
        "raise ValueError from provider\n",
        "from pulumi.provider import main\n",
        "from pulumi import provider\n",
    ],
)
def test_everything_else_stays(source: str) -> None:
    assert renamed(source) == source


def test_an_import_that_would_bind_another_name_is_refused_with_a_remedy() -> None:
    with pytest.raises(ValueError, match=r"line 1: .*Write `from \.\.\. import \.\.\.`"):
        renamed("import provider.sdk\n")


def test_a_wheel_has_the_job_files_and_nothing_of_the_sandbox() -> None:
    names = [name for name, _ in shipped(TOP)]
    assert {path.name for path in (TOP / "jobs").glob("*.nomad.hcl")} == {
        Path(name).name for name in names if name.endswith(".hcl")
    }
    assert [name for name in names if not name.startswith("nomad_stateful/")] == []
    assert [name for name in names if name.split("/")[1] in ("sandbox", "tests", "settings", "operate")] == []
