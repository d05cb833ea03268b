"""The components as a package for Pulumi programs in other languages; the engine starts this."""

import sys


def run() -> None:
    """Serves until the engine is done."""
    from package.host import serve  # noqa: PLC0415

    serve(sys.argv[1:])


if __name__ == "__main__":
    if not __package__:
        # Started as a folder, by PulumiPlugin.yaml: the components lie beside it.
        from pathlib import Path

        sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    run()
