"""Text files of bounded length, for files that people name: they may name anything.

A device never ends, and a wrong file may be longer than memory. Files with secrets must be their
owner's alone, and what is shown of a text leaves secrets out. This module must not know what the
texts are.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

NOT_SHOWN = "(not shown)"
OTHERS = stat.S_IRWXG | stat.S_IRWXO
LOGIN = re.compile(r"(?<=://)[^/?#\s]*@")


class UnreadableTextError(Exception):
    """A file cannot be read as text; the text says why, without the file's name."""


def without_login(text: str) -> str:
    """Return a text without the user and the password of the URLs in it."""
    return LOGIN.sub(f"{NOT_SHOWN}@", text)


def why_not_private(path: Path) -> str:
    """Say what to do about a file with secrets that other accounts may use; "" if none may.

    A file that is not there is private.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return ""
    return f"others may read or write it: chmod 600 {path}" if mode & OTHERS else ""


def mark_of(path: Path) -> tuple[int, int]:
    """Return what changes when a file does. Raises OSError."""
    state = path.stat()
    return state.st_mtime_ns, state.st_size


def replace(path: Path, text: str, mode: int) -> None:
    """Write a file anew, whole or not at all. mode: the permissions that it gets."""
    beside = path.with_name(path.name + ".new")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    beside.replace(path)


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
