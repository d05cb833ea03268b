"""The pages of docs/ that are generated: `python -m tools.pages` writes them, --check only compares."""

import sys

from nomad_stateful.program.settings import docs as settings
from policy import docs as policy

PAGES = ((settings.PAGE, settings.render), (policy.PAGE, policy.render))


def main() -> int:
    """Writes the pages; with --check, 1 when one is out of date."""
    stale = [
        (page, text)
        for page, text in ((page, render()) for page, render in PAGES)
        if not page.exists() or page.read_text(encoding="utf-8") != text
    ]
    if "--check" in sys.argv:
        for page, _ in stale:
            print(f"docs/{page.name} is out of date: run `make fix`", file=sys.stderr)
        return int(bool(stale))
    for page, text in stale:
        page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
