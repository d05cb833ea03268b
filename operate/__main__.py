"""Command line: `python -m operate verify|mysql|snapshot|snapshots|restore|status|recover`."""

import argparse
import sys

from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful.plugin_server.values import ProviderError
from operate import recover, restore, shell, snapshots, stack, status, verify
from operate.cluster import WaitedTooLong
from operate.ownership import AnotherCluster
from operate.volumes import NoSuchVolume

_EXPECTED = (
    stack.StackError,
    snapshots.SnapshotError,
    recover.StillStuck,
    restore.RestoreError,
    NoSuchVolume,
    AnotherCluster,
    WaitedTooLong,
    ProviderError,
    BotoCoreError,
    ClientError,
    RuntimeError,
)


# What only looks; everything else changes something, or opens a door to what does.
_LOOKS = frozenset({"status", "snapshots"})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m operate", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text)
        made.add_argument("--stack", default="", help="the stack; left out, PULUMI_STACK, or the only one there is")
        return made

    command("verify", "prove that rows outlive a purge of the job and a drain of its client")
    client = command("mysql", "open a MySQL client; further arguments are passed to it")
    client.add_argument("arguments", nargs="*")
    taken = command("snapshot", "take a snapshot of an EBS volume of the stack and print its id")
    taken.add_argument("volume", help="the volume's name in the stack")
    taken.add_argument("--description", default="", help="what the snapshot is for")
    taken.add_argument("--quiesce", action="store_true", help="hold MySQL's writes back for the moment it is taken")
    taken.add_argument("--timeout", type=float, default=3600, metavar="SECONDS", help="how long to wait for it")
    listed = command("snapshots", "list the snapshots of the stack's volumes, or of one")
    listed.add_argument("volume", nargs="?", default="", help="the name of a volume, also of one that is deleted")
    restored = command("restore", "restore MySQL from one of its dumps, and wait for the end")
    restored.add_argument("dump", nargs="?", default="latest", help="name of the dump's file; the latest if left out")
    restored.add_argument("--timeout", type=float, default=3600, metavar="SECONDS", help="how long to wait for it")
    command("status", "what holds each volume: claims, clients, instances, attachments")
    freed = command("recover", "what is wrong with the volumes, and the exact steps to fix it")
    freed.add_argument("volume", nargs="?", default="", help="the volume's name in the stack; all if left out")
    freed.add_argument("--yes", action="store_true", help="do the steps marked safe; nothing is ever forced off")
    freed.add_argument("--fence", action="store_true", help="stop an instance that may still write, where that is it")
    return parser


def _acts(known: argparse.Namespace) -> bool:
    """Whether the command does more than look at the stack."""
    return bool(known.yes or known.fence) if known.command == "recover" else known.command not in _LOOKS


def _run(known: argparse.Namespace) -> None:
    stack.choose(known.stack, f"operate {known.command}", acts=_acts(known))
    if known.command == "mysql":
        shell.mysql(known.arguments)
    elif known.command == "snapshot":
        snapshots.take(known.volume, known.description, quiesce=known.quiesce, timeout_s=known.timeout)
    elif known.command == "snapshots":
        print(snapshots.table(known.volume))
    elif known.command == "restore":
        restore.restore(known.dump, known.timeout)
    elif known.command == "status":
        print(status.show())
    elif known.command == "recover":
        recover.recover(known.volume, recover.Permission(safe=known.yes, fence=known.fence))
    else:
        proof = verify.verify()
        print(f"\n{verify.table(proof)}\n\nEvery one of the {len(proof.rows)} rows came back, each time.")


def main() -> int:
    """Runs one command; 1 when it fails, with the reason on standard error."""
    known = _parser().parse_args()
    try:
        _run(known)
    except verify.RowsMissing as error:
        print(f"\nDATA IS MISSING\n{error}", file=sys.stderr)
        return 1
    except _EXPECTED as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
