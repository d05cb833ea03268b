"""Command line: `python -m operate verify|mysql|snapshot|snapshots|restore|status|recover`."""

import argparse
import sys

from botocore.exceptions import BotoCoreError, ClientError

from operate import recover, restore, shell, snapshots, stack, status, verify
from operate.cluster import WaitedTooLong
from operate.holdings import NoSuchVolume
from provider.rpc.values import ProviderError

_EXPECTED = (
    stack.StackError,
    snapshots.SnapshotError,
    recover.StillStuck,
    restore.RestoreError,
    NoSuchVolume,
    WaitedTooLong,
    ProviderError,
    BotoCoreError,
    ClientError,
    RuntimeError,
)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m operate", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("verify", help="prove that rows outlive a purge of the job and a drain of its client")
    client = commands.add_parser("mysql", help="open a MySQL client; further arguments are passed to it")
    client.add_argument("arguments", nargs="*")
    taken = commands.add_parser("snapshot", help="take a snapshot of an EBS volume of the stack and print its id")
    taken.add_argument("volume", help="the volume's name in the stack")
    taken.add_argument("--description", default="", help="what the snapshot is for")
    taken.add_argument("--quiesce", action="store_true", help="hold MySQL's writes back for the moment it is taken")
    taken.add_argument("--timeout", type=float, default=3600, metavar="SECONDS", help="how long to wait for it")
    listed = commands.add_parser("snapshots", help="list the snapshots of the stack's volumes, or of one")
    listed.add_argument("volume", nargs="?", default="", help="the name of a volume, also of one that is deleted")
    restored = commands.add_parser("restore", help="restore MySQL from one of its dumps, and wait for the end")
    restored.add_argument("dump", nargs="?", default="latest", help="name of the dump's file; the latest if left out")
    restored.add_argument("--timeout", type=float, default=3600, metavar="SECONDS", help="how long to wait for it")
    commands.add_parser("status", help="what holds each volume: claims, clients, instances, attachments")
    freed = commands.add_parser("recover", help="what is wrong with the volumes, and the exact way out")
    freed.add_argument("volume", nargs="?", default="", help="the volume's name in the stack; all if left out")
    freed.add_argument("--yes", action="store_true", help="do the steps marked safe; nothing is ever forced off")
    freed.add_argument("--fence", action="store_true", help="stop an instance that may still write, where that is it")
    return parser


def _run(known: argparse.Namespace) -> None:
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
