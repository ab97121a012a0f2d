"""The part of constraints.txt that some distributions need, hashes included.

    python -m native.locked 'mqk[registry,spark]'

The environment in which this runs is asked what needs what, so everything must be installed there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from native.target import TOP

OWN = canonicalize_name("mqk")
"""Not in constraints.txt: it is what the others are for."""


def locked(wanted: Iterable[str], constraints: str) -> str:
    """Return the lines of constraints.txt for these requirements and all that they need.

    Raises LookupError with the names that constraints.txt lacks.
    """
    found: set[tuple[str, str]] = set()
    for text in wanted:
        requirement = Requirement(text)
        _add(requirement.name, requirement.extras, found)
    names = {name for name, _ in found} - {OWN}
    kept = {name: text for name, text in _blocks(constraints) if name in names}
    if missing := sorted(names - kept.keys()):
        raise LookupError(f"constraints.txt does not name {', '.join(missing)}")
    return "\n".join(kept.values()) + "\n"


def _add(name: str, extras: Iterable[str], found: set[tuple[str, str]]) -> None:
    """Add what a distribution needs, each with the extra that it is needed with."""
    for extra in ("", *extras):
        if (canonicalize_name(name), extra) in found:
            continue
        found.add((canonicalize_name(name), extra))
        for text in metadata.requires(name) or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                _add(needed.name, needed.extras, found)


def _blocks(constraints: str) -> Iterator[tuple[str, str]]:
    """Return name and lines of each pinned distribution."""
    for block in re.split(r"\n(?=[A-Za-z0-9])", constraints):
        name, pinned, _ = block.partition("==")
        if pinned:
            yield canonicalize_name(name), block.rstrip("\n")


def main() -> None:
    """Print it."""
    try:
        print(locked(sys.argv[1:], (TOP / "constraints.txt").read_text(encoding="utf-8")), end="")
    except LookupError as problem:
        sys.exit(f"native.locked: {problem}")


if __name__ == "__main__":
    main()
