"""The program's policy without one of its grants, and a step of up, refresh or destroy that each grant is there for."""

import contextlib
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.nomad.consumer_job import ConsumerJob
from nomad_stateful.waiting import Context
from tests.providers.harness import PluginProcess, plugin_process
from tools.trial.running import Running

POLICY = Path(__file__).parents[2] / "nomad_stateful/program/nomad-policy.hcl"
ABSENT = "probe-absent"

_JOB = "nomad:index/job:Job"
_VARIABLE = "nomad:index/variable:Variable"
_REGISTRATION = "nomad:index/csiVolumeRegistration:CsiVolumeRegistration"
_HEALTH = "nomad-csi:index:PluginHealth"
_MYSQL = "nomad/jobs/mysql-server"

# No client has this id: the job is taken, and nothing of it runs.
_JOBSPEC = """
job "{name}" {{
  constraint {{
    attribute = "${{node.unique.id}}"
    value     = "none"
  }}
  group "probe" {{
    {group}
    task "probe" {{
      driver = "exec"
      config {{
        command = "/bin/true"
      }}
      {task}
    }}
  }}
}}
"""
_VOLUME = """
    volume "data" {
      type            = "csi"
      source          = "mysql"
      access_mode     = "single-node-writer"
      attachment_mode = "file-system"
    }
"""
_PLUGIN = """
      csi_plugin {
        id   = "probe"
        type = "node"
      }
"""


@dataclass(frozen=True)
class Plugins:
    """Both provider plugins, connected with one token."""

    nomad: PluginProcess
    csi: PluginProcess
    management: NomadApi
    """With every grant."""

    def use(self, token: str) -> None:
        """From now on they work with this token."""
        self.nomad.configure({"secretId": token})
        self.csi.configure({"secretId": token})

    def job(self, name: str, group: str = "", task: str = "") -> None:
        """Submits a job that is never placed, and purges it again."""
        inputs = {"jobspec": _JOBSPEC.format(name=name, group=group, task=task), "purgeOnDestroy": True}
        checked = self.nomad.check(_JOB, inputs).inputs.props
        made = self.nomad.create(_JOB, checked)
        ConsumerJob(self.management, "default", name).await_evaluated(Context())
        self.nomad.delete(_JOB, made.id, made.outputs.props)

    def variable(self) -> None:
        """Writes a variable, reads it, removes it."""
        inputs = {"path": f"nomad/jobs/{ABSENT}", "namespace": "default", "items": {"a": "b"}}
        made = self.nomad.create(_VARIABLE, inputs)
        self.nomad.delete(_VARIABLE, made.id, made.outputs.props)

    def refresh_variable(self) -> None:
        """Reads the variable of MySQL's job, as a refresh does."""
        known = {"path": _MYSQL, "namespace": "default", "items": {"a": "b"}}
        self.nomad.read(_VARIABLE, f"{_MYSQL}@default", known, known)

    def register(self) -> None:
        """Registers a volume of a plugin."""
        capability = {"accessMode": "single-node-writer", "attachmentMode": "file-system"}
        inputs = {"volumeId": ABSENT, "name": ABSENT, "pluginId": ABSENT, "externalId": "vol-0", "namespace": "default"}
        checked = self.nomad.check(_REGISTRATION, inputs | {"capabilities": [capability]}).inputs.props
        self.nomad.create(_REGISTRATION, checked, timeout_s=1)

    def health(self, plugin_id: str, timeout_s: int) -> None:
        """Waits for a CSI plugin."""
        inputs = {"pluginId": plugin_id, "controllers": 1, "zones": [], "zoneKeys": [], "timeoutS": timeout_s}
        self.csi.create(_HEALTH, inputs)


# What is refused without the grant, by the grant's name. Each runs with the whole policy, too.
STEPS: dict[str, Callable[[Plugins], object]] = {
    "submit-job": lambda plugins: plugins.job("probe-submit"),
    "read-job": lambda plugins: plugins.nomad.read(_JOB, "mysql-server@default"),
    "list-jobs": lambda plugins: plugins.health(ABSENT, 1),
    "csi-register-plugin": lambda plugins: plugins.job("probe-plugin", task=_PLUGIN),
    "csi-write-volume": Plugins.register,
    "csi-mount-volume": lambda plugins: plugins.job("probe-volume", group=_VOLUME),
    "variables read": Plugins.refresh_variable,
    "variables write": Plugins.variable,
    "variables destroy": Plugins.variable,
    "node": lambda plugins: plugins.csi.invoke("nomad-csi:index:getCluster"),
    "plugin": lambda plugins: plugins.health("aws-ebs0", 30),
}


def grants(policy: str) -> dict[str, str]:
    """Each single grant of a policy by its name: the policy without it."""
    code = re.sub(r"#.*", "", policy)
    found: dict[str, str] = {}
    for listed in re.finditer(r"capabilities = \[(.*?)\]", code, re.DOTALL):
        of = "variables " if "path" in code[: listed.start()].rpartition("\n\n")[2] else ""
        for one in re.finditer(r'"([a-z-]+)",?', listed[1]):
            start = listed.start(1)
            found[of + one[1]] = code[: start + one.start()] + code[start + one.end() :]
    for block in re.finditer(r'^(\w+) \{\s*policy = "\w+"\s*\}', code, re.MULTILINE):
        found[block[1]] = code[: block.start()] + code[block.end() :]
    return found


def token_for(management: NomadApi, policy: str) -> str:
    """A fresh token with just this policy."""
    name = f"probe-{secrets.token_hex(4)}"
    management.put(f"acl/policy/{name}", {"Name": name, "Rules": policy})
    made = management.put("acl/token", {"Name": name, "Type": "client", "Policies": [name]})
    return str(made["SecretID"])


@contextlib.contextmanager
def plugins_for(stack: Running, management: NomadApi, hidden: str = "NOMAD_TOKEN") -> Iterator[Plugins]:
    """The plugins that the stack uses, in its environment but for variables that begin so."""
    env = {name: value for name, value in stack.env.items() if not name.startswith(hidden)}
    (nomad,) = (stack.project / ".sandbox/pulumi-home/plugins").glob("resource-nomad-*/pulumi-resource-nomad")
    csi = stack.project / "nomad_stateful/provider/pulumi-resource-nomad-csi"
    with plugin_process(nomad, env) as first, plugin_process(csi, env) as second:
        yield Plugins(first, second, management)
