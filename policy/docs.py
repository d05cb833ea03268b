"""docs/policies.md, generated from the rules; `make fix` writes it."""

import json
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

A violation names the rule, the resource, the value and the remedy. With a mandatory rule preview and up fail,
with an advisory one they warn. `policies.json` sets level and settings by rule; the rest keeps its default:

```json
{
  "pinned-image": "advisory",
  "volume-protection": { "enforcementLevel": "mandatory", "sandboxStacks": ["dev", "try-*"] },
  "iam-resources": { "reasons": { "ListBuckets": "the backup job looks its bucket up by tag" } }
}
```

Levels are `advisory`, `mandatory` and `disabled`. Resource rules are checked before the resource is changed, stack
rules at the end. Rules about jobs read the job file with its variables through the `nomad` command line,
without a server. A job with values that are unknown at preview is reported by `job-readable`, and
checked by the update before it is submitted.
"""


def render() -> str:
    """Returns the whole page."""
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
