"""`python -m tests.unit.tools.preview_report.scrub < PREVIEW > RECORDED`: a preview of no machine in particular.

Previews in `recorded/` were made by `pulumi preview --json --diff` in the sandbox, after a change to Pulumi.dev.yaml.
"""

import json
import sys
from typing import Any

_DROPPED = (
    *("created", "modified", "sourcePosition", "stackTrace", "provider"),
    *("dependencies", "propertyDependencies", "parent", "duration"),
)
_KEPT_CONFIG = ("aws:region",)


def scrub(value: Any) -> Any:
    """The same document with the machine's paths, times and random provider ids taken out."""
    if isinstance(value, dict):
        return {key: scrub(item) for key, item in value.items() if key not in _DROPPED or isinstance(item, bool)}
    return [scrub(item) for item in value] if isinstance(value, list) else value


def main() -> None:
    """Reads a preview from stdin, prints it scrubbed."""
    document = scrub(json.load(sys.stdin))
    document["config"] = {key: item for key, item in document.get("config", {}).items() if key in _KEPT_CONFIG}
    json.dump(document, sys.stdout, indent=1, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
