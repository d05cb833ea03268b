"""`python -m operate`: the earlier name of `nomad-stateful`, for one release."""

import sys

from nomad_stateful.operate.__main__ import run

if __name__ == "__main__":
    print("warning: `python -m operate` is `nomad-stateful` now, and goes with the next release", file=sys.stderr)
    run()
