"""Runs searches: `python -m tests.search`, or only some: `python -m tests.search races stops`."""

import gc
import sys

from tests.search.searching import SEARCHES, Search, told

if __name__ == "__main__":
    gc.disable()
    for name in sys.argv[1:] or SEARCHES:
        print(told(name, Search(SEARCHES[name]).run()), flush=True)
