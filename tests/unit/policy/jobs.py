"""Small jobs for the rules about jobs, written as a person would."""

from typing import Any

from nomad_stateful.resource_types import NOMAD_JOB
from policy.resource import Resource

SERVER = """
job "db" {
  update {
    canary = 0
  }
  %(job)s
  group "db" {
    count = 1
    %(group)s
    volume "data" {
      type            = "csi"
      source          = "data"
      access_mode     = "single-node-writer"
      attachment_mode = "file-system"
      %(volume)s
    }
    task "db" {
      driver = "docker"
      config {
        image = "mysql:8.4.6"
      }
    }
  }
}
"""

PLUGIN = """
job "plugin" {
  type = "%(type)s"
  %(job)s
  group "nodes" {
    task "plugin" {
      driver = "%(driver)s"
      config {
        image = "driver:v1"
      }
      csi_plugin {
        id   = "aws-ebs0"
        type = "%(role)s"
      }
    }
  }
}
"""


def server(job: str = "", group: str = "", volume: str = "") -> str:
    """A server on the volume data, with more lines in some of its blocks."""
    return SERVER % {"job": job, "group": group, "volume": volume}


def plugin(job: str = "", driver: str = "docker", role: str = "node", type_: str = "system") -> str:
    """A CSI plugin's job."""
    return PLUGIN % {"job": job, "driver": driver, "role": role, "type": type_}


def job(jobspec: str, **variables: Any) -> Resource:
    """A Job resource."""
    return Resource(NOMAD_JOB, "job", {"jobspec": jobspec, "hcl2": {"vars": variables}}, urn="urn:job")
