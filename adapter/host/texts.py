"""Text files of bounded length, for files that people name: they may name anything.

A device never ends, and a wrong file may be longer than memory. Files with secrets must be their
owner's alone, and what is shown of a text leaves secrets out. This module must not know what the
texts are.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from adapter.host.file_locks import lock_if_free

NOT_SHOWN = "(not shown)"
OTHERS = stat.S_IRWXG | stat.S_IRWXO
CHANGING_TIMEOUT_S, CHANGING_POLL_S = 30.0, 0.005
"""Another process reads and writes a small file meanwhile."""
LOGIN = re.compile(r"(?<=://)[^/?#\s]*@")


class UnreadableTextError(Exception):
    """A file cannot be read as text; the text says why, without the file's name."""


def without_login(text: str) -> str:
    """Return a text without the user and the password of the URLs in it."""
    return LOGIN.sub(f"{NOT_SHOWN}@", text)


def escape(text: str, kept: str = "") -> str:
    """Return a text without control characters: what others have chosen gives no orders to a
    terminal, and begins no line. kept: those that stay.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text
    )


def why_not_private(path: Path) -> str:
    """Say what to do about a file with secrets that other accounts may use; "" if none may.

    A file that is not there is private.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return ""
    return f"others may read or write it: chmod 600 {path}" if mode & OTHERS else ""


class Changes:
    """Whether files have changed since they were read without an error; not for two threads at
    once.
    """

    def __init__(self, *paths: Path) -> None:
        """No file has been read yet."""
        self._paths = paths
        self._read_as: list[Mark] | None = None

    @contextmanager
    def reading(self) -> Iterator[bool]:
        """Give whether a file is to be read. It counts as read when the block is left without an
        error: else it is to be read again, because what was wrong may not be in the file.
        """
        marks = [_mark_of(path) for path in self._paths]
        yield marks != self._read_as
        self._read_as = marks


Mark = tuple[int, int, int]
"""What changes when a file does, also within one tick of the clock if another file takes its
place."""


def _mark_of(path: Path) -> Mark:
    try:
        state = path.stat()
    except OSError:
        return 0, 0, 0  # it may come
    return state.st_mtime_ns, state.st_size, state.st_ino


def replace(path: Path, text: str, mode: int) -> None:
    """Write a file anew, whole or not at all. mode: the permissions of a new one."""
    with changing(path, mode) as write:
        write(text)


@contextmanager
def changing(path: Path, mode: int) -> Iterator[Callable[[str], None]]:
    """Hold a file against other processes that change it so, until it is read and written anew.

    Gives what writes it, whole or not at all. A file that is there keeps its owner, its group and
    its permissions, so that the accounts that could read it still can; mode: the permissions of a
    new one. A link stays a link, to the new file. Another process is waited for, within a bound.
    Raises OSError; TimeoutError is one.
    """
    real = Path(os.path.realpath(path))
    beside = real.with_name(real.name + ".new")
    is_written = False

    def write(text: str) -> None:
        nonlocal is_written
        file.truncate()
        file.write(text)
        file.flush()
        _make_alike(file.fileno(), real)
        os.fsync(file.fileno())  # a rename may outlive a power failure that the content does not
        beside.replace(real)
        is_written = True
        _sync_folder(real.parent)

    with os.fdopen(_lock(beside, mode), "w", encoding="utf-8") as file:
        try:
            yield write
        finally:
            if not is_written:
                beside.unlink(missing_ok=True)


def _make_alike(descriptor: int, path: Path) -> None:
    """Give an open file the owner, the group and the permissions of another, if that is there."""
    try:
        state = path.stat()
    except FileNotFoundError:
        return
    mine = os.fstat(descriptor)
    try:
        if (state.st_uid, state.st_gid) != (mine.st_uid, mine.st_gid):
            os.fchown(descriptor, state.st_uid, state.st_gid)
    except PermissionError as error:
        what = f"its owner and group cannot be kept: change it as its owner, uid {state.st_uid}"
        raise PermissionError(error.errno, what, str(path)) from error
    os.fchmod(descriptor, stat.S_IMODE(state.st_mode))


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk; not every folder may be read, nor every one be synced."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _lock(path: Path, mode: int) -> int:
    """Open a file and lock it, for as long as the descriptor is open."""
    until_s = time.monotonic() + CHANGING_TIMEOUT_S
    while (held := lock_if_free(path, os.O_WRONLY | os.O_CREAT, mode)) is None:
        if time.monotonic() > until_s:
            raise TimeoutError(errno.ETIMEDOUT, "another process is changing it", str(path))
        time.sleep(CHANGING_POLL_S)
    return held


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
