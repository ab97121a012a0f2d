"""Warnings of what programs have dropped without ending it: where they did.

The line that a warning names is the first one outside this package. It is found by the names of
modules, and not by a number of calls: compiled ones are no frames. This module does not know what
was dropped.
"""

from __future__ import annotations

import sys
import warnings
from typing import Final

OWN: Final = __name__.partition(".")[0]


def warn_of_dropped(text: str, dropped: object) -> None:
    """Warn of something that the garbage collector takes. Any thread may call it, at any moment."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__")):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, ResourceWarning, stacklevel=level, source=dropped)


def _is_own(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == OWN
