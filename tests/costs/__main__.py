"""Searches for the costliest inputs: `python -m tests.costs 60`, or only some: `... 60 like xml`.

The number is how many seconds of CPU time each search has. Says what each has found, and ends with
status 1 if an input is too costly.
"""

import sys
import time
from random import Random

from tests.costs.climbing import Found, climb
from tests.costs.targets import TARGETS


def told(name: str, found: Found) -> str:
    """Write what a search has found."""
    verdict = "TOO COSTLY" if found.is_too_costly else "within bounds"
    return (
        f"{name}: {found.cost_s * 1000:.1f} ms for {len(found.given)} bytes, "
        f"{found.per_byte_s * 1e6:.2f} us a byte, {verdict}: {found.given[:120]!r}"
    )


if __name__ == "__main__":
    budget_s = float(sys.argv[1])
    names = sys.argv[2:] or list(TARGETS)
    found = {name: climb(TARGETS[name], budget_s, Random(time.time_ns())) for name in names}
    for name, one in found.items():
        print(told(name, one), flush=True)
    sys.exit(any(one.is_too_costly for one in found.values()))
