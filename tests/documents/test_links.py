"""No link of the documentation leads nowhere, and every page of it can be found from the README."""

from pathlib import Path

import pytest

from tests.documents.pages import TOP, anchors, dead_links, dead_mentions, files, links, pages, reachable

# GitHub shows templates by itself; what tests record is no page.
UNLINKED = (TOP / ".github", TOP / "tests")


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(TOP)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert dead_links(page) == []


def test_every_page_that_code_names_is_there() -> None:
    sources = [
        source for source in files("*.py", "*.hcl", "*.yaml", "*.yml", "*.sh") if TOP / "tests" not in source.parents
    ]
    dead = {str(source.relative_to(TOP)): dead_mentions(source.read_text(encoding="utf-8")) for source in sources}
    assert {name: found for name, found in dead.items() if found} == {}


def test_every_page_can_be_found_from_the_readme() -> None:
    found = reachable(TOP / "README.md")
    meant = [page for page in pages() if not any(page.is_relative_to(folder) for folder in UNLINKED)]
    assert [str(page.relative_to(TOP)) for page in meant if page.resolve() not in found] == []


def test_a_dead_link_and_a_dead_anchor_are_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# What `it` does, & why\n## Twice\n## Twice\n```\n# not a heading\n```\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[good](other.md#what-it-does--why) [second](other.md#twice-1) [web](https://example.com/x)\n"
        "[gone](gone.md) ![gone](gone.svg) [no](other.md#not-a-heading) [outside](../../etc/passwd) `[code](gone.md)`\n"
    )
    assert dead_links(page, tmp_path) == [
        "gone.md: no such file",
        "gone.svg: no such file",
        "other.md#not-a-heading: other.md has no such heading",
        "../../etc/passwd: no such file",
    ]


def test_a_link_within_a_page_leads_to_no_other(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# Page\n[here](#page) [there](linked.md)\n")
    (tmp_path / "linked.md").write_text("")
    (tmp_path / "orphan.md").write_text("")
    assert {page.name for page in reachable(tmp_path / "page.md")} == {"page.md", "linked.md"}


def test_a_dead_mention_is_found(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/page.md").write_text("# Page\n## A heading\n")
    said = '"see docs/page.md#a-heading, docs/page.md." # docs/gone.md, docs/page.md#another'
    assert dead_mentions(said, tmp_path) == ["docs/gone.md: no such file", "docs/page.md#another: no such heading"]


def test_links_with_brackets_and_parentheses_are_read_whole() -> None:
    assert list(links("[`a[0]` b](x.md) [w](https://en.wikipedia.org/wiki/X_(y))")) == [
        "x.md",
        "https://en.wikipedia.org/wiki/X_(y)",
    ]
    assert anchors("### `volumes[].snapshots`") == {"volumessnapshots"}


def test_every_page_of_the_documentation_is_in_its_index() -> None:
    index = TOP / "docs/README.md"
    listed = {(index.parent / link).resolve() for link in links(index.read_text(encoding="utf-8"))}
    assert [page.name for page in pages() if page.parent == index.parent and page not in {*listed, index}] == []
