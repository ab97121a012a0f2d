"""How many modules of this installation are machine code, and how that is displayed.

A module that lies beside its source as an extension module runs compiled (docs/decisions/0009).
This module does not know which modules are compiled, nor how.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path


def count(
    folder: Path = Path(__file__).parents[1], suffixes: Sequence[str] = EXTENSION_SUFFIXES
) -> int:
    """Return how many modules in a folder this Python loads as machine code; 0: pure Python."""
    stems = (_stem(path.name, suffixes) for path in folder.rglob(f"*{suffixes[-1]}"))
    return sum(stem.isidentifier() for stem in stems)


def _stem(name: str, suffixes: Sequence[str]) -> str:
    """Return a module's name by its file; with a dot in it, the file is for another Python."""
    suffix = next(suffix for suffix in suffixes if name.endswith(suffix))
    return name.removesuffix(suffix)


def text(modules: int) -> str:
    """Say which code runs, by the number of compiled modules."""
    return f"compiled ({modules} modules)" if modules else "pure Python"
