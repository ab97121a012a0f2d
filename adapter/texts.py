"""Text files of bounded length, for files that people name: they may name anything.

A device never ends, and a wrong file may be longer than memory. This module must not know what the
texts are.
"""

from __future__ import annotations

from pathlib import Path


class UnreadableTextError(Exception):
    """A file cannot be read as text; the text says why, without the file's name."""


def read(path: Path, bytes_max: int) -> str:
    """Return a file's text in UTF-8. Raises UnreadableError."""
    content = read_bytes(path, bytes_max)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UnreadableTextError("it is not text") from error


def read_bytes(path: Path, bytes_max: int) -> bytes:
    """Return a file's content. Raises UnreadableError."""
    try:
        with path.open("rb") as file:
            content = file.read(bytes_max + 1)
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        reason = error.strerror if isinstance(error, OSError) else None
        raise UnreadableTextError(reason or str(error)) from error
    if len(content) > bytes_max:
        raise UnreadableTextError(f"it has more than {bytes_max} bytes")
    return content
