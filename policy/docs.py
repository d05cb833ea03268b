"""docs/policies.md, generated from the rules: `python -m policy.docs` writes it, with --check it only compares."""

import json
import sys
from pathlib import Path

from policy.catalogue import RULES
from policy.rule import Rule, StackRule

PAGE = Path(__file__).parent.parent / "docs" / "policies.md"
INTRODUCTION = """# Policies

Generated from `policy/`; change a rule there, then run `make fix`.

```console
$ pulumi preview --policy-pack policy
$ pulumi up --policy-pack policy --policy-pack-config policies.json
```

A violated rule is named with the resource, the value found and the remedy. A mandatory one makes preview and up fail,
an advisory one warns. `policies.json` sets level and settings by rule; what it leaves out keeps its default:

```json
{
  "pinned-image": "advisory",
  "volume-protection": { "enforcementLevel": "mandatory", "sandboxStacks": ["dev", "try-*"] },
  "iam-resources": { "reasons": { "ListBuckets": "the backup job looks its bucket up by tag" } }
}
```

Levels are `advisory`, `mandatory` and `disabled`. Rules about a resource are asked before it is touched, rules about
the stack once the rest is done. Rules about jobs read the job file with its variables through the `nomad` command line,
without a server. A job with values that only the update will tell is named by `job-readable` in the preview, and
checked in the update before it is submitted.
"""


def render() -> str:
    """The whole page."""
    rows = [f"| `{rule.name}` | {rule.level.value} | {_about(rule)} | {rule.sentence} |" for rule in RULES]
    table = ["| rule | default level | about | what holds |", "| --- | --- | --- | --- |", *rows]
    return (
        "\n".join(
            [INTRODUCTION, "## Rules", "", *table, "", *(line for rule in RULES for line in _details(rule))]
        ).rstrip("\n")
        + "\n"
    )


def _about(rule: Rule) -> str:
    return "stack" if isinstance(rule, StackRule) else "resource"


def _details(rule: Rule) -> list[str]:
    remedy = f"{rule.remedy[0].upper()}{rule.remedy[1:]}"
    lines = [f"### {rule.name}", "", rule.sentence, "", f"Remedy: {remedy}", ""]
    if rule.settings:
        lines += ["| setting | default | what it is |", "| --- | --- | --- |"]
        lines += [
            f"| `{key}` | `{json.dumps(schema['default'])}` | {schema['description']} |"
            for key, schema in rule.settings.items()
        ]
        lines.append("")
    return lines


def main() -> int:
    """Writes the page; with --check, 1 when it is out of date."""
    page = render()
    if "--check" not in sys.argv:
        PAGE.write_text(page, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page:
        return 0
    print("docs/policies.md is out of date: run `make fix`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
