"""What a release is made of: notes of its version, and archives that say nothing of the machine."""

import gzip
import io
import tarfile

import pytest

from tools.release import files

CHANGELOG = (
    "# Changelog\n\n## Unreleased\n\n- New.\n\n## 1.2.0 - 2026-11-01\n\n- Old.\n- Older.\n\n## 1.1.0\n\n- First.\n"
)


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


def test_an_archive_depends_on_its_files_and_the_commits_time_alone() -> None:
    packed = files.archive({"b": b"2", "a": b"1"}, 1_700_000_000)
    assert packed == files.archive({"a": b"1", "b": b"2"}, 1_700_000_000)
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(packed))) as tar:
        entries = [(one.name, one.mtime, one.mode, one.uid, one.uname) for one in tar.getmembers()]
    assert entries == [(name, 1_700_000_000, 0o644, 0, "") for name in ("a", "b")]


def test_the_time_is_the_one_that_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert files.commit_time() == 1_700_000_000
