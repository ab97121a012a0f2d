"""`python -m tests.strangers 200000 [SEED]`: so many attempts; says what came of them."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.strangers.onslaught import Onslaught, running

if __name__ == "__main__":
    count, seed = (*map(int, sys.argv[1:]), 1, 1)[:2] if sys.argv[2:] else (int(sys.argv[1]), 1)
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as site:
        print(Onslaught(site, seed).run(count))
