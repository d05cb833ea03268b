"""What is written into an option file is what the server's own reader finds there."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from nomad_stateful.databases.catalogue import DATABASES

pytestmark = [pytest.mark.sandbox]

OPTIONS = DATABASES["mysql"].options
VALUES = st.text(st.sampled_from("ab #'\"\\ns;=[]!{}$%~é"), min_size=1, max_size=12)


@settings(max_examples=settings.default.max_examples)  # type: ignore[union-attr]
@given(values=st.lists(VALUES, min_size=1, max_size=40))
@example(values=["SET NAMES 'utf8'", "a#b", 'C:\\new "x"', "'quoted'", '"', "\\", " lead and trail "])
def test_an_options_value_is_read_as_it_was_configured(values: list[str], image: Path) -> None:
    assume(not any("{{" in value or value.isspace() for value in values))
    lines = [f"o{number} = {OPTIONS.text(value)}" for number, value in enumerate(values)]
    assert read(image, lines) == [f"--o{number}={value}" for number, value in enumerate(values)]


def read(image: Path, lines: list[str]) -> list[str]:
    (image / "options.cnf").write_text("\n".join(["[mysqld]", *lines, ""]), encoding="utf-8")
    reader = ["chroot", str(image), "my_print_defaults", "--defaults-file=/options.cnf", "mysqld"]
    done = subprocess.run(reader, capture_output=True, text=True, encoding="utf-8", check=True)
    return done.stdout.splitlines()
