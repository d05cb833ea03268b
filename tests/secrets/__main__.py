"""`python -m tests.secrets`: scans the stack that the environment leads to; 1 when a secret is found."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.secrets import known
from tests.secrets.places import Places
from tests.secrets.scan import Finding, Scanner


def scan(
    env: dict[str, str], project: Path, token: str = "", logs: tuple[Path, ...] = ()
) -> tuple[list[Finding], Counter[str]]:
    """What is found, and how many pieces of each kind were looked through."""
    exported = subprocess.run(
        ["pulumi", "stack", "export", "--show-secrets"], cwd=project, env=env, capture_output=True, check=True
    )
    secrets = [*known.of_state(exported.stdout.decode()), *known.of_environment(env)]
    for folder in logs:
        secrets += known.of_folder(folder)
    looked: Counter[str] = Counter()
    findings: list[Finding] = []
    scanner = Scanner(secrets)
    for piece in Places(env, project, token, logs).all():
        if piece.content:
            looked[piece.kind] += 1
            findings += scanner.findings([piece])
    return findings, looked


def main() -> int:
    """Scans, with what the sandbox keeps where there is one."""
    env = dict(os.environ)
    home = Path(env.get("NOMAD_STATEFUL_SANDBOX_HOME", ".sandbox"))
    management = home / "nomad" / "management.token"
    token = management.read_text().strip() if management.is_file() else env["NOMAD_TOKEN"]
    findings, looked = scan(env, Path.cwd(), token, (home,) if home.is_dir() else ())
    for finding in findings:
        print(finding)
    print(f"looked through {dict(looked)}: {len(findings) or 'no'} secrets found")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
