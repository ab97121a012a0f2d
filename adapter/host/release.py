"""Which release of mqk is installed.

What finds it out takes longer to import than the rest of a client: so that is done when the release
is asked for.
"""

from __future__ import annotations

from functools import cache


@cache
def find_installed() -> str:
    """Return the release of the distribution that is installed, mqk or mqk-client."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    for distribution in ("mqk", "mqk-client"):
        try:
            return version(distribution)
        except PackageNotFoundError:
            continue
    return "0+unknown"  # a copy of the sources that was never installed
