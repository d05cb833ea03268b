"""Entry point of the policy pack, which the Pulumi engine runs."""

import sys
from pathlib import Path

from pulumi_policy import PolicyPack

HERE = Path(__file__).resolve().parent
# The engine puts this folder on the path, where its modules would hide others of the same name.
sys.path[:] = [str(HERE.parent), *(entry for entry in sys.path if Path(entry).resolve() != HERE)]

from policy.catalogue import NAME, RULES  # noqa: E402

PolicyPack(name=NAME, policies=[rule.policy() for rule in RULES])
