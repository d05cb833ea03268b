"""What is written into an option file is what the server's own reader finds there."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from nomad_stateful.databases.catalogue import DATABASES

OPTIONS = DATABASES["mysql"].options
READER = shutil.which("my_print_defaults") or ""
VALUES = st.text(st.sampled_from("ab #'\"\\ns;=[]!{}$%~é"), min_size=1, max_size=12)


@pytest.mark.skipif(not READER, reason="needs my_print_defaults of the database's packages")
@settings(max_examples=settings.default.max_examples)  # type: ignore[union-attr]
@given(values=st.lists(VALUES, min_size=1, max_size=40))
@example(values=["SET NAMES 'utf8'", "a#b", 'C:\\new "x"', "'quoted'", '"', "\\", " lead and trail "])
def test_an_options_value_is_read_as_it_was_configured(
    values: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    assume(not any("{{" in value or value.isspace() for value in values))
    lines = [f"o{number} = {OPTIONS.text(value)}" for number, value in enumerate(values)]
    assert read(tmp_path_factory.getbasetemp() / "options.cnf", lines) == [
        f"--o{number}={value}" for number, value in enumerate(values)
    ]


def read(path: Path, lines: list[str]) -> list[str]:
    path.write_text("\n".join(["[mysqld]", *lines, ""]), encoding="utf-8")
    done = subprocess.run(
        [READER, f"--defaults-file={path}", "mysqld"], capture_output=True, text=True, encoding="utf-8", check=True
    )
    return done.stdout.splitlines()


def test_a_template_in_a_value_stays_one() -> None:
    assert OPTIONS.text('{{ env "X" }}') == '"{{ env "X" }}"'
    assert OPTIONS.text('a "b" {{ key "c" }}\\') == '"a \\"b\\" {{ key "c" }}\\\\"'
    assert OPTIONS.text("{{ .size }}") == "{{ .size }}"
