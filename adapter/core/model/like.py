"""SQL's LIKE: % is any text, _ any character; ESCAPE makes the next one stand for itself.

What lies between two % is looked for from left to right, once: no pattern takes longer than the
length of the pattern times that of the text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

TEXT_MAX: Final = 32_768
"""Longer texts match no pattern: a message must not keep a queue busy."""

_ANY_ONE: Final = ""
"""In a piece: any character."""

Piece = list[str]


def like(pattern: str, escape: str = "") -> Callable[[str], bool]:
    """Return a function that says whether a text matches; ValueError if it is invalid."""
    first, *rest = _pieces(pattern, escape)

    def matches(text: str) -> bool:
        if len(text) > TEXT_MAX or not _is_at(first, text, 0):
            return False
        if not rest:
            return len(text) == len(first)
        at = len(first)
        for piece in rest[:-1]:
            found = _find(piece, text, at)
            if found < 0:
                return False
            at = found + len(piece)
        tail = len(text) - len(rest[-1])
        return tail >= at and _is_at(rest[-1], text, tail)

    return matches


def _pieces(pattern: str, escape: str) -> list[Piece]:
    """Split a pattern at each %."""
    pieces: list[Piece] = [[]]
    characters = iter(pattern)
    for character in characters:
        if escape and character == escape:
            following = next(characters, "")
            if following not in ("%", "_", escape):
                raise ValueError("ESCAPE stands before %, _ or itself")
            pieces[-1].append(following)
        elif character == "%":
            pieces.append([])
        else:
            pieces[-1].append(_ANY_ONE if character == "_" else character)
    return pieces


def _find(piece: Piece, text: str, at: int) -> int:
    if _ANY_ONE not in piece:
        return text.find("".join(piece), at)
    last = len(text) - len(piece)
    return next((start for start in range(at, last + 1) if _is_at(piece, text, start)), -1)


def _is_at(piece: Piece, text: str, at: int) -> bool:
    if len(text) - at < len(piece):
        return False
    return all(one in ("", text[at + index]) for index, one in enumerate(piece))
