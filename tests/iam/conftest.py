"""Without Node.js nothing can judge a policy."""

import pytest

from tests.iam import evaluator


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves the tests out where the evaluator cannot run, with the reason."""
    lacking = evaluator.missing()
    for item in items:
        if lacking and "tests/iam" in item.nodeid:
            item.add_marker(pytest.mark.skip(reason=f"missing here: {lacking}; `make test` installs them as root"))
