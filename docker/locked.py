"""Print the part of constraints.txt that mqk needs with the extras that are named, hashes included.

    python docker/locked.py registry spark

It asks the environment in which it runs what needs what, so everything must be installed there.
"""

import re
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TOP = Path(__file__).parents[1]


def needed(name: str, extras: Iterable[str], found: set[tuple[str, str]]) -> None:
    """Add to found what a distribution needs, each with the extra that it is needed with."""
    for extra in ("", *extras):
        if (canonicalize_name(name), extra) in found:
            continue
        found.add((canonicalize_name(name), extra))
        for text in metadata.requires(name) or ():
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
                needed(wanted.name, wanted.extras, found)


def blocks(text: str) -> Iterable[tuple[str, str]]:
    """Give name and lines of each pinned distribution."""
    for block in re.split(r"\n(?=[A-Za-z0-9])", text):
        name, pinned, _ = block.partition("==")
        if pinned:
            yield canonicalize_name(name), block


def main() -> None:
    """Print it."""
    found: set[tuple[str, str]] = set()
    needed("mqk", sys.argv[1:], found)
    names = {name for name, _ in found} - {"mqk"}
    kept = {
        name: text for name, text in blocks((TOP / "constraints.txt").read_text()) if name in names
    }
    if missing := sorted(names - kept.keys()):
        sys.exit(f"docker/locked.py: constraints.txt does not name {', '.join(missing)}")
    print("\n".join(kept.values()))


if __name__ == "__main__":
    main()
