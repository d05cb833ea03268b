"""`python -m sandbox up|down|status|env|ctl`, or `nomad-stateful sandbox …`: the sandbox's command line."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nomad_stateful.errors import ProviderError
from sandbox.settings import STACK, SandboxError, SandboxSettings, load_settings
from sandbox.stack.plugin_home import CHOICES
from tools.packages import PackageError
from tools.toolchain.errors import ToolchainError

DESCRIPTION = "AWS and Nomad on this machine."


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(prog="python -m sandbox", description=DESCRIPTION)
    add_commands(parser)
    return run(parser.parse_args(argv))


def run(arguments: argparse.Namespace) -> int:
    """Runs one command; errors that the user can fix are one message on stderr and exit status 1."""
    # What must be private is made so on purpose; what an instance's users read must not depend on the caller's mask.
    os.umask(0o022)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return _run(arguments, load_settings())
    except (SandboxError, ToolchainError, PackageError, ProviderError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read our output has gone, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("interrupted; run it again to go on", file=sys.stderr)
        return 130
    except Exception as error:
        if not _is_of_aws(error):
            raise
        print(f"error: the cloud did not do what it was asked: {error}\nRun it again to go on.", file=sys.stderr)
        return 1


def _is_of_aws(error: Exception) -> bool:
    """Whether it is one of botocore's, which is slow to import: whoever raised it has done so."""
    botocore = sys.modules.get("botocore.exceptions")
    return botocore is not None and isinstance(error, (botocore.ClientError, botocore.BotoCoreError))


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Adds the commands and their options."""
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start the sandbox and deploy the stack; a second time changes nothing")
    up.add_argument("--plugins", choices=CHOICES, default="auto", help="which Pulumi plugins to use")
    up.add_argument("--official", type=Path, metavar="DIR", help="folder of official release archives to use")
    up.add_argument("--stack", default=STACK, help="the stack to deploy (default: %(default)s)")
    up.add_argument(
        "--tls", action="store_true", help="have Nomad speak TLS and ask for certificates, as tls = true does"
    )
    up.add_argument(
        "--all-images", action="store_true", help="have the images too that a stack seldom names (sandbox/README.md)"
    )
    up.add_argument(
        "--image",
        action="append",
        default=[],
        metavar="NAME",
        help="have this image too, as the stack that names it has",
    )
    up.add_argument("--no-stack", action="store_true", help="start the sandbox only")
    down = commands.add_parser("down", help="destroy the stack and remove the sandbox")
    down.add_argument("--stack", default=STACK, help="the stack to destroy (default: %(default)s)")
    how = down.add_mutually_exclusive_group()
    how.add_argument("--force", action="store_true", help="drop the sandbox without destroying the stack first")
    how.add_argument("--keep-sandbox", action="store_true", help="destroy the stack alone; the sandbox runs on")
    images = commands.add_parser("images", help="pull and build all images, as `up --all-images` would")
    images.add_argument("--official", type=Path, metavar="DIR", help="folder of official release archives to use")
    commands.add_parser("status", help="show what there is")
    commands.add_parser("env", help="print what a shell evaluates to work with the sandbox")
    # No word is an option here: all of them are read by what they are passed on to.
    ctl = commands.add_parser(
        "ctl", help="cut, kill, stop or enter an instance (ctl --help)", add_help=False, prefix_chars="\0"
    )
    ctl.add_argument(
        "words",
        nargs=argparse.REMAINDER,
        help="kill, cut, heal, stop, start, enter, list, notice, fault or clock, and its options",
    )
    ctl.set_defaults(prog=ctl.prog)


def _run(arguments: argparse.Namespace, settings: SandboxSettings) -> int:
    # Each command imports what it needs: `env` must not wait for boto3.
    match arguments.command:
        case "up":
            from sandbox.commands import up

            settings = replace(settings, tls=settings.tls or arguments.tls)
            stack = "" if arguments.no_stack else arguments.stack
            named = (*arguments.image, *([""] if arguments.all_images else []))
            options = up.Options(arguments.plugins, stack, arguments.official, named)
            return up.run(settings, options)
        case "down":
            from sandbox.commands import down

            keep = arguments.keep_sandbox
            force = arguments.force or (not keep and os.environ.get("FORCE") == "1")
            return down.run(settings, down.Options(arguments.stack, force=force, keep_sandbox=keep))
        case "images":
            from sandbox.commands import images

            return images.run(settings, arguments.official)
        case "status":
            from sandbox.commands import status

            return status.run(settings)
        case "ctl":
            from sandbox.cloud import ctl

            return ctl.main(arguments.words, arguments.prog)
        case _:
            from sandbox.commands import env

            return env.run(settings)


if __name__ == "__main__":
    sys.exit(main())
