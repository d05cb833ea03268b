"""The pages that messages name, docs/…: a wheel puts them beside the package (pyproject.toml)."""

import re
import sys
from pathlib import Path

_FOLDER = "share/doc/nomad-stateful/docs"
_PAGE = re.compile(r"(?<![\w/.-])docs/(?=[\w/-][\w/.-]*\.md)")


def located(text: str) -> str:
    """Returns a text with the pages' whole paths where a wheel has brought them; a clone has them by their names."""
    folder = Path(sys.prefix) / _FOLDER
    return _PAGE.sub(lambda _: f"{folder}/", text) if folder.is_dir() else text
