"""`python -m adapter.cli`: the mqk command where no script is installed."""

import sys

from adapter.cli.main import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
