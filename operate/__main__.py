"""Command line: `python -m operate verify|mysql|snapshot|snapshots`."""

import argparse
import sys

from operate import shell, snapshots, stack, verify
from operate.cluster import WaitedTooLong
from provider.rpc.values import ProviderError


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
    return parser


def _run(known: argparse.Namespace) -> None:
    if known.command == "mysql":
        shell.mysql(known.arguments)
    elif known.command == "snapshot":
        snapshots.take(known.volume, known.description, quiesce=known.quiesce, timeout_s=known.timeout)
    elif known.command == "snapshots":
        print(snapshots.table(known.volume))
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
    except (stack.StackError, snapshots.SnapshotError, WaitedTooLong, ProviderError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
