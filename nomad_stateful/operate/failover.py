"""Failover without Nomad's wait: watches for lost clients, and asks EC2 whether they can still write."""

from argparse import ArgumentParser, Namespace
from contextlib import closing

from nomad_stateful.ebs.volumes import EbsVolumes
from nomad_stateful.nomad.api import NomadApi
from nomad_stateful.operate import ownership, stack
from nomad_stateful.operate.cluster import connect
from nomad_stateful.operate.command import at_least_0
from nomad_stateful.operate.errors import OperateError
from nomad_stateful.operate.frame import Frame, framed
from nomad_stateful.operate.zone_change.change import Wanted
from nomad_stateful.operate.zone_change.command import CHECKS, add_options, change
from nomad_stateful.recovery.watcher import Watcher


def watch(*, fence: bool) -> None:
    """Looks once a second, for ever. Raises OperateError and ProviderError only before its first look."""
    with closing(connect()) as nomad:
        of_stack(nomad, fence=fence).watch()


def of_stack(nomad: NomadApi, *, fence: bool) -> Watcher:
    """Returns the watcher of the stack's volumes. Raises OperateError and ProviderError."""
    known = stack.outputs().get("volumes") or {}
    found = ownership.required(nomad)
    volumes = frozenset((namespace, str(known[name]["nomadId"])) for name, namespace in found.items())
    return Watcher(nomad, EbsVolumes(stack.aws_place()), fence, volumes)


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("volume", nargs="?", default="", help="with --zone: the volume whose zone is lost")
    parser.add_argument("--zone", default="", help="the zone that the volume and what uses it go to, from a snapshot")
    parser.add_argument("--snapshot", default="", metavar="ID", help="restore this one; by default the newest")
    parser.add_argument("--max-loss", type=at_least_0, metavar="MINUTES", help="refuse an older snapshot than that")
    add_options(parser)
    parser.add_argument(
        "--fence", action="store_true", help="stop the instance of a lost client that runs and has the volume attached"
    )


def _of_a_volume(known: Namespace) -> list[str]:
    """Returns the options that were given and mean nothing to a watch."""
    given = {
        "--dry-run": known.dry_run,
        "--json": known.json,
        "--snapshot": known.snapshot,
        "--max-loss": known.max_loss is not None,
        "--yes": known.yes,
    }
    return [name for name, value in given.items() if value]


def _run(frame: Frame, known: Namespace) -> None:
    if not known.volume and not known.zone:
        if given := _of_a_volume(known):
            raise OperateError(
                f"{', '.join(given)} is for `nomad-stateful failover VOLUME --zone ZONE`: without a volume this is "
                "a watch, which acts until it is ended. Name both, or leave it out. Nothing was changed"
            )
        watch(fence=known.fence)
        return
    if not known.volume or not known.zone or known.fence:
        raise OperateError(
            "`nomad-stateful failover VOLUME --zone ZONE` brings one volume into another zone; without both it is "
            "a watch, which alone takes --fence"
        )
    wanted = Wanted(
        known.volume,
        known.zone,
        lost=True,
        snapshot_id=known.snapshot,
        max_loss_min=known.max_loss,
        timeout_s=known.timeout,
    )
    change(frame, wanted)


COMMAND = framed(
    "failover",
    "watch for lost clients, and start their jobs elsewhere as soon as EC2 says that they cannot write; with VOLUME "
    "and --zone: its zone is lost, go on in another one from its newest snapshot",
    _run,
    _arguments,
    checks=CHECKS,
)
