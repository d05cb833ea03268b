"""`nomad-stateful-agent watch`: the failover watch, as a Nomad job runs it.

It reads Nomad's address from the environment (NOMAD_ADDR), the token from a file or from NOMAD_TOKEN, and AWS's
credentials from the usual places. It ends where it may not read what a failover needs to know.
"""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from nomad_stateful.agent.errors import AgentError
from nomad_stateful.ebs.ec2_client import AwsPlace
from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.nomad.api import NomadApi, NomadApiError, NomadError
from nomad_stateful.recovery.watcher import Watcher

_POLICY = (
    "The job reads Nomad by its own identity, which needs a policy: nomad acl policy apply -namespace NAMESPACE "
    "-job JOB NAME nomad_stateful/program/failover-policy.hcl (docs/failover.md)"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what the command takes."""
    parser.add_argument(
        "--volume", action="append", required=True, type=_volume, metavar="NAMESPACE/ID", help="a volume to watch"
    )
    parser.add_argument("--region", default="", help="the volumes' region; by default AWS's own configuration")
    parser.add_argument("--account", default="", help="the volumes' account; in another one nothing is done")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="where the token is, in place of NOMAD_TOKEN")
    parser.add_argument("--fence", action="store_true", help="stop an instance that may still write")


def run(known: argparse.Namespace) -> None:
    """Watches until it is ended. Raises ProviderError where it is refused something."""
    place = AwsPlace(known.region, known.account)
    try:
        nomad = NomadApi.from_env({"token": _token(known.token_file)})
        watcher = Watcher(nomad, EbsVolumes(place), known.fence, frozenset(known.volume))
        watcher.check(_own_job(os.environ))
    except NomadApiError as error:
        if error.status != 403:
            raise
        raise AgentError(f"{error}. {_POLICY}") from error
    watcher.watch()


def _token(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as error:
        remedy = "The job's task needs `identity { file = true }`"
        raise NomadError(f"--token-file {file}: {error.strerror or error}. {remedy}") from None


def _own_job(environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Returns namespace and id of the job that it runs in; nothing outside of Nomad."""
    namespace, job_id = environ.get("NOMAD_NAMESPACE", ""), environ.get("NOMAD_JOB_ID", "")
    return (namespace, job_id) if namespace and job_id else None


def _volume(text: str) -> tuple[str, str]:
    namespace, slash, volume_id = text.partition("/")
    if not (slash and namespace and volume_id):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAMESPACE/ID")
    return namespace, volume_id
