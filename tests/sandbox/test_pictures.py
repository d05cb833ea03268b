"""The pictures of the operators' commands show what the commands print today; `make pictures` draws them anew."""

import html
import re
from pathlib import Path

import pytest

from tests.sandbox.whole_stack import whole_stack
from tools.pictures import FIGURES, PROJECT
from tools.trial.running import ended_well

pytestmark = [pytest.mark.sandbox, pytest.mark.engine, pytest.mark.nomad, pytest.mark.nightly]

# Of each run alone: ids, which of a zone's clients has MySQL, and how full its volume is.
_OF_A_RUN = re.compile(r"\b((?:i|vol)-)?[0-9a-f]{8,17}\b|(?<=client-)\d|\d+(?=% used|%)")
# What follows in the doctor's picture is of the version of Nomad.
_BEFORE_VERSIONS = "there is one Nomad server"


def shown(picture: str) -> str:
    """The words of a picture."""
    words = " ".join(html.unescape(re.sub(r"<[^>]*>", " ", picture)).split())
    return _OF_A_RUN.sub("…", words).partition(_BEFORE_VERSIONS)[0]


def test_the_pictures_show_what_the_commands_print(tmp_path: Path) -> None:
    with whole_stack(tmp_path / "project") as stack:
        ended_well(stack.run(stack.python, "-m", "tools.pictures", timeout_s=600))
        drawn = stack.project / FIGURES.relative_to(PROJECT)
        figures = sorted(path.name for path in FIGURES.glob("operate-*.svg"))
        assert figures == sorted(path.name for path in drawn.glob("operate-*.svg"))
        changed = [name for name in figures if shown((FIGURES / name).read_text()) != shown((drawn / name).read_text())]
        assert changed == [], "run `make up pictures`"
