"""Command line: `python -m operate verify|mysql`."""

import argparse
import sys

from operate import shell, stack, verify
from operate.cluster import WaitedTooLong
from provider.rpc.values import ProviderError


def main() -> int:
    """Runs one command; 1 when it fails, with the reason on standard error."""
    parser = argparse.ArgumentParser(prog="python -m operate", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("verify", help="prove that rows outlive a purge of the job and a drain of its client")
    client = commands.add_parser("mysql", help="open a MySQL client; further arguments are passed to it")
    client.add_argument("arguments", nargs="*")
    known = parser.parse_args()
    try:
        if known.command == "mysql":
            shell.mysql(known.arguments)
        else:
            proof = verify.verify()
            print(f"\n{verify.table(proof)}\n\nEvery one of the {len(proof.rows)} rows came back, each time.")
    except verify.RowsMissing as error:
        print(f"\nDATA IS MISSING\n{error}", file=sys.stderr)
        return 1
    except (stack.StackError, WaitedTooLong, ProviderError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
