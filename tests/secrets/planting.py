"""Puts a secret into places of a running sandbox where it must not be."""

import base64
import os
import subprocess
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager

from tools.trial.running import Running, eventually

JOB = "leak"
KINDS = frozenset(
    {
        *("state", "job", "submission", "allocation", "task log", "nomad event"),
        *("log file", "command line", "environment"),
    }
)
"""The kinds of place that `planted` puts it into."""

_JOB_FILE = """
variable "secret" {{ type = string }}
job "{name}" {{
  type = "batch"
  group "{name}" {{
    restart {{
      attempts = 0
    }}
    reschedule {{
      attempts = 0
    }}
    task "{name}" {{
      driver = "exec"
      config {{
        command = "/bin/sh"
        args    = ["-c", "echo the password is $PASSWORD"]
      }}
      env {{
        PASSWORD = var.secret
      }}
      resources {{
        cpu    = 20
        memory = 32
      }}
    }}
  }}
}}
"""


@contextmanager
def planted(stack: Running, secret: str) -> Iterator[None]:
    """While the secret is in every kind of place, encoded in some."""
    log = stack.project / ".sandbox/log/planted.log"
    backup = stack.project / ".sandbox/pulumi/.pulumi/backups/planted.json"
    sleeper = subprocess.Popen(
        ["sh", "-c", "read line", f"--password={urllib.parse.quote(secret)}"],
        env={**os.environ, "PASSWORD": secret.encode().hex()},
        stdin=subprocess.PIPE,
    )
    try:
        log.write_text(f"logging in with {base64.b64encode(f'root:{secret}'.encode()).decode()}\n")
        backup.write_text(f'{{"password": "{secret}"}}')
        _run_job(stack, secret)
        yield
    finally:
        sleeper.communicate()
        log.unlink(missing_ok=True)
        backup.unlink(missing_ok=True)
        stack.nomad.delete(f"job/{JOB}", purge=True)


def _run_job(stack: Running, secret: str) -> None:
    file = stack.project / "leak.nomad.hcl"
    file.write_text(_JOB_FILE.format(name=JOB))
    operator = {"NOMAD_TOKEN": stack.env["NOMAD_OPERATOR_TOKEN"], "NOMAD_VAR_secret": secret}
    submitted = stack.run("nomad", "job", "run", "-detach", str(file), more_env=operator)
    file.unlink()
    assert submitted.returncode == 0, submitted.stdout + submitted.stderr

    def ended() -> bool | None:
        found = stack.nomad.get(f"job/{JOB}/allocations")
        return True if any(one["ClientStatus"] == "complete" for one in found) else None

    eventually(ended, 120, "the planted job runs to its end")
