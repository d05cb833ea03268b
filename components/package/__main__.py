"""The components as a package for Pulumi programs in other languages; the engine starts this."""

import sys
from pathlib import Path


def run() -> None:
    """Serves until the engine is done."""
    if __package__:
        from nomad_stateful.components.package.host import serve
    else:
        # Started as a folder, by PulumiPlugin.yaml: the repository is not on the path.
        sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
        from nomad_stateful.components.package.host import serve

    serve(sys.argv[1:])


if __name__ == "__main__":
    run()
