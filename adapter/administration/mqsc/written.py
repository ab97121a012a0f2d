"""A command of MQSC as a script has it: one parameter a line, and what cannot be written at all.

This module knows no object.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from adapter.administration.mqsc.text import COMMAND_LENGTH_MAX, quote

INDENT = "   "


class Problem(Struct, frozen=True):
    """Something that the script lacks. text: what and why."""

    text: str


def is_one_line(written: str) -> bool:
    """Whether a text has no line break of any kind."""
    return len(f".{written}.".splitlines()) == 1


def comment(text: str) -> str:
    """Write a comment. A name in it ends no line: what stands behind it would be a command."""
    parts = (one if one.isprintable() else ascii(one)[1:-1] for one in text)
    return f"* {''.join(parts)}"


def left_out(problem: str) -> Iterator[str | Problem]:
    """Write that something is left out, and report it."""
    yield comment(f"left out: {problem}")
    yield Problem(problem)


def command(of: str, lines: list[str]) -> Iterator[str | Problem]:
    """Write a command, each part of it on a line. of: what it defines, for the problem."""
    if sum(map(len, lines)) + len(INDENT) * len(lines) > COMMAND_LENGTH_MAX:
        yield from left_out(f"{of} has more characters than a command may have")
        return
    last = len(lines) - 1
    for at, line in enumerate(lines):
        yield ("" if not at else INDENT) + line + ("" if at == last else " +")


def write_list(keyword: str, values: list[str]) -> str:
    """Write a parameter with several texts."""
    return f"{keyword}({', '.join(map(quote, values))})"
