"""What a release is made of: notes of its version, and archives that say nothing of the machine."""

import gzip
import io
import tarfile

import pytest

from tools.release import changelog, files

CHANGELOG = """\
# Changelog

## Unreleased

- New.

## 1.2.0 - 2026-11-01

- Old.
- Older.

## 1.1.0 - 2026-10-01

- First.
"""


def test_the_notes_are_the_section_of_the_tags_version() -> None:
    assert files.notes(CHANGELOG, "1.2.0", "v1.2.0") == "- Old.\n- Older.\n"


def test_before_there_is_a_section_the_notes_are_what_is_unreleased() -> None:
    assert files.notes(CHANGELOG, "1.3.0", "") == "- New.\n"


@pytest.mark.parametrize(
    ("version", "tag", "said"),
    [("1.2.0", "v1.3.0", "the tag is v1.3.0, and"), ("1.3.0", "v1.3.0", "has no section 1.3.0: move Unreleased")],
)
def test_a_tag_that_is_not_the_version_or_has_no_notes_is_refused(version: str, tag: str, said: str) -> None:
    with pytest.raises(files.ReleaseRefusedError, match=said):
        files.notes(CHANGELOG, version, tag)


def test_a_changelog_in_its_form_has_no_fault() -> None:
    assert changelog.faults(CHANGELOG.replace("- New.", "### Added\n\n- New."), "1.2.0") == []


@pytest.mark.parametrize(
    ("edited", "said"),
    [
        (("## 1.2.0 - 2026-11-01", "## 1.2.1 - 2026-11-01"), "has no section 1.2.0: write `## 1.2.0 - YYYY-MM-DD`"),
        (("## Unreleased", "## 1.3.0 - 2026-12-01"), "has no section Unreleased: write `## Unreleased`"),
        (("- Old.", "- Old\n  goes on."), "CHANGELOG.md:10: '  goes on.' is no heading and no change"),
        (("- Old.", "### News"), "CHANGELOG.md:9: '### News' is no heading"),
        (("1.1.0 - 2026-10-01", "1.1.0"), "'## 1.1.0' is no heading"),
    ],
)
def test_a_changelog_without_a_section_or_with_another_line_is_at_fault(edited: tuple[str, str], said: str) -> None:
    (fault,) = changelog.faults(CHANGELOG.replace(*edited), "1.2.0")
    assert said in fault


def test_an_archive_depends_on_its_files_and_the_commits_time_alone() -> None:
    packed = files.archive({"b": b"#!2", "a": b"1"}, 1_700_000_000)
    assert packed == files.archive({"a": b"1", "b": b"#!2"}, 1_700_000_000)
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(packed))) as tar:
        entries = [(one.name, one.mtime, one.mode, one.uid, one.uname) for one in tar.getmembers()]
    assert entries == [(name, 1_700_000_000, mode, 0, "") for name, mode in (("a", 0o644), ("b", 0o755))]


def test_the_time_is_the_one_that_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert files.commit_time() == 1_700_000_000
