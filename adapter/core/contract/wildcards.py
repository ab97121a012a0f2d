"""Patterns of names and texts in which * is any number of characters.

What stands between two * is looked for from the left, and where it was found first it stays, `(?>`:
to look further would find nothing else, and take as many times as long, for each *, as the text has
letters. So a text costs at most its length times that of the pattern, whatever the two are.
"""

from __future__ import annotations

import re
from typing import Final

ANY_LETTER: Final = "(?s:.)"


def expression_of(pattern: str, letter: str = ANY_LETTER, one: str = "?") -> str:
    r"""Return the regular expression of a pattern. letter: what wildcards stand for, an expression
    itself. one: what stands for one such letter; "" if nothing does.

    >>> bool(re.fullmatch(expression_of("A*C?"), "A\nCCD"))
    True
    >>> bool(re.fullmatch(expression_of("A*C?", one=""), "ABCD"))
    False
    """
    first, *others = (
        "".join(letter if sign == one else re.escape(sign) for sign in piece)
        for piece in re.split(r"\*+", pattern)
    )
    if not others:
        return first
    between = (f"(?>{letter}*?{piece})" for piece in others[:-1])
    return f"{first}{''.join(between)}{letter}*{others[-1]}"
