"""Command line: `python -m operate verify|mysql|snapshot|snapshots|restore|status|recover`."""

import argparse
import sys

from botocore.exceptions import BotoCoreError, ClientError

from nomad_stateful.plugin_server.values import ProviderError
from operate import recover, restore, shell, snapshots, stack, status, verify
from operate.errors import OperateError

_EXPECTED = (OperateError, ProviderError, BotoCoreError, ClientError)

# Every other command changes something, or may.
_READ_ONLY = frozenset({"status", "snapshots"})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m operate", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text)
        made.add_argument("--stack", default="", help="the stack; by default PULUMI_STACK, or the only one there is")
        return made

    command("verify", "check that rows survive a purge of the job and a drain of its client")
    client = command("mysql", "open a MySQL client, with further arguments passed to it")
    client.add_argument("arguments", nargs="*")
    taken = command("snapshot", "take a snapshot of an EBS volume of the stack and print its id")
    taken.add_argument("volume", help="the volume's name in the stack")
    taken.add_argument("--description", default="", help="what the snapshot is for")
    taken.add_argument("--quiesce", action="store_true", help="block MySQL's writes while the snapshot starts")
    taken.add_argument("--timeout", type=float, default=3600, metavar="SECONDS", help="how long to wait for it")
    listed = command("snapshots", "list the snapshots of the stack's volumes, or of one")
    listed.add_argument("volume", nargs="?", default="", help="the name of a volume, which may be deleted")
    restored = command("restore", "restore MySQL from one of its dumps, and wait until it is done")
    restored.add_argument("dump", nargs="?", default="latest", help="name of the dump's file; by default the latest")
    restored.add_argument("--timeout", type=float, default=3600, metavar="SECONDS", help="how long to wait for it")
    command("status", "show what holds each volume: claims, clients, instances, attachments")
    freed = command("recover", "show what is wrong with the volumes, and the exact steps to fix it")
    freed.add_argument("volume", nargs="?", default="", help="the volume's name in the stack; by default all")
    freed.add_argument("--yes", action="store_true", help="run the steps marked safe; never force-detaches")
    freed.add_argument(
        "--fence", action="store_true", help="stop an instance that may still write, if that is the step"
    )
    return parser


def _acts(known: argparse.Namespace) -> bool:
    """Returns whether the command may change something."""
    return bool(known.yes or known.fence) if known.command == "recover" else known.command not in _READ_ONLY


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
        print(f"\n{verify.table(proof)}\n\nAll {len(proof.rows)} rows were read back after each step.")


def main() -> int:
    """Runs one command; returns 1 when it fails, with the reason on standard error."""
    known = _parser().parse_args()
    try:
        _run(known)
    except verify.RowsMissingError as error:
        print(f"\nDATA IS MISSING\n{error}", file=sys.stderr)
        return 1
    except _EXPECTED as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
