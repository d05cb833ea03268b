"""All rules, in the order of docs/policies.md."""

from policy import encryption, iam, images, plugin_jobs, protection, readable_jobs, snapshots, tags, writers, zones
from policy.rule import Rule

NAME = "nomad-stateful"
RULES: list[Rule] = [
    *encryption.RULES,
    *protection.RULES,
    *snapshots.RULES,
    *tags.RULES,
    *iam.RULES,
    *writers.RULES,
    *zones.RULES,
    *plugin_jobs.RULES,
    *images.RULES,
    *readable_jobs.RULES,
]
