"""Commits whose files get a folder of their own."""

import pytest

from tools.trial import commit


@pytest.mark.parametrize("name", ["no-such-revision", "--all"])
def test_a_name_of_no_commit_is_refused_with_the_remedy(name: str) -> None:
    with pytest.raises(commit.CommitError, match=f"{name} is no commit here: fetch it"):
        commit.resolve(name)
