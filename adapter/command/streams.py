"""Standard input and output of a command: they may be closed, a terminal, or without an end.

This module must not know what is read and written.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, TextIO

from adapter.command import failures

READ_BYTES = 256 * 1024
"""Of standard input at a time: it bounds how much of what has come is given at once."""


def is_terminal() -> bool:
    """Whether a person types standard input."""
    return sys.stdin is not None and sys.stdin.isatty()


def standard_input() -> TextIO:
    """Return standard input. Raises Failed if it is closed, as by `<&-`."""
    if sys.stdin is None:
        raise failures.Failed("standard input is closed: give a file or a pipe, or /dev/null")
    return sys.stdin


def standard_output() -> TextIO:
    """Return standard output, for what is lost if it is not written. Raises Failed if it is closed,
    as by `>&-`.
    """
    if sys.stdout is None:
        raise failures.Failed("standard output is closed: give a file or a pipe, or /dev/null")
    return sys.stdout


def text_lines(most: int) -> Iterator[str]:
    """Yield the lines of standard input with their ends, as they come. most: characters of a line.

    Raises Failed for a line that is longer, or no text.
    """
    source = standard_input()
    number = 0
    try:
        while line := source.readline(most + 1):
            number += 1
            if len(line) > most:
                text = f"line {number} of standard input has more than {most} characters"
                raise failures.Failed(f"{text}: nothing of it was read; see what is sent here")
            line.encode()  # in some locales Python lets bytes pass that are no text
            yield line
    except UnicodeEncodeError as problem:
        text = f"line {number} of standard input is not text in UTF-8"
        raise failures.Failed(text) from problem
    except UnicodeDecodeError as problem:
        raise failures.Failed(f"standard input is not text in UTF-8: {problem}") from problem


class LineTooLongError(Exception):
    """A line of standard input has more bytes than are accepted; the text says so."""


def byte_lines(most: int) -> Iterator[list[bytes]]:
    """Yield the lines of standard input without their ends, each time those that have come.

    most: bytes of a line. Raises LineTooLongError, and Failed if standard input is closed.
    """
    source: Any = standard_input().buffer
    pieces: list[bytes] = []  # of a line that has not ended: they are joined once
    length = 0
    while chunk := source.read1(READ_BYTES):
        first, *more = chunk.split(b"\n")
        pieces.append(first)
        length += len(first)
        if length > most + len(b"\r"):  # which may be at its end
            raise LineTooLongError(f"a line of standard input has more than {most} bytes")
        if more:
            *whole, rest = more
            yield [line.removesuffix(b"\r") for line in (b"".join(pieces), *whole)]
            pieces, length = [rest], len(rest)
    if length:
        yield [b"".join(pieces).removesuffix(b"\r")]
