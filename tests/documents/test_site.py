"""The site: what its sources are made of, and that its check finds what is broken."""

from pathlib import Path

import pytest

from nomad_stateful.operate.__main__ import COMMANDS
from tools.site import check, commands, source

PAGE = '<!doctype html><meta name="viewport" content="width=device-width"><title>t</title><body>'


def test_the_reference_has_every_command_with_its_options() -> None:
    text = commands.render()
    assert {command.name for command in COMMANDS if f"\n## nomad-stateful {command.name}\n" not in text} == set()
    assert "- `--folder DIR`: where to write it" in text
    assert "\n### nomad-stateful sandbox up\n" in text
    assert "(default: dev)" in text


def test_links_lead_to_what_the_site_has_and_code_stays_as_it_is(tmp_path: Path) -> None:
    staged = frozenset({"docs/a.md", "docs/b.md", "examples/README.md", "docs/decisions/x.md"})
    text = (
        "[b](b.md#part) [`b`](b.md) [up](../examples/) [room](../tools/site/) [why](decisions/) [out](https://x.y/)\n"
        "[pins](../tools/site/requirements.in) `[b](b.md)`\n```\n[b](../tools/)\n```\n"
    )
    assert source._with_links(text, "docs/a.md", staged, tmp_path) == (
        "[b](b.md#part) [`b`](b.md) [up](../examples/README.md) room [why](decisions/index.md) [out](https://x.y/)\n"
        "[pins](../tools/site/requirements.in) `[b](b.md)`\n```\n[b](../tools/)\n```\n"
    )
    assert (tmp_path / "tools/site/requirements.in").is_file(), "what is no page is in the site to be fetched"


def test_every_page_is_in_the_menu(tmp_path: Path) -> None:
    source.write(tmp_path)
    menu = (tmp_path / "README.md").read_text() + (tmp_path / source._OF_DECISIONS).read_text()
    listed = {line.removeprefix("/") for line in menu.splitlines() if line.startswith("/")}
    assert {*source.pages(), source._COMMANDS, source._OF_DECISIONS} - listed == {"README.md"}


@pytest.mark.nightly
def test_the_check_finds_what_is_broken(tmp_path: Path) -> None:
    (tmp_path / "good.html").write_text(f'{PAGE}<a href="#h">to</a><h1 id="h">t</h1><img src="dot.svg">')
    (tmp_path / "dot.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>')
    broken = '<a href="gone.html">a</a><a href="good.html#no">b</a><img src="gone.svg"><pre>' + "wide " * 99 + "</pre>"
    (tmp_path / "bad.html").write_text(PAGE + broken)
    problems = check.problems(tmp_path)
    assert [problem for problem in problems if problem.startswith("good.html")] == []
    for said in (
        "bad.html is ",
        "bad.html shows no picture: gone.svg",
        "bad.html links to nothing: gone.html",
        "bad.html links to no heading: good.html#no",
        "there is no search",
    ):
        assert [problem for problem in problems if problem.startswith(said)], (said, problems)
