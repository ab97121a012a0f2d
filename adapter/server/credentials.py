"""Users and their passwords: a file of names and argon2 hashes, and whether a password is right.

A line is NAME:HASH; empty lines and lines that begin with # are left out. `mqk user` writes the
file. It is read again whenever it has changed. This module does not know who must give a password.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from adapter.errors import StartError

NAME = re.compile(r"[A-Za-z0-9._@-]{1,64}")
PASSWORD_BYTES_MAX = 256  # MQ_CSP_PASSWORD_LENGTH
FILE_BYTES_MAX = 16 * 1024 * 1024
"""Some hundred thousand users."""
_NOBODY = (
    "$argon2id$v=19$m=65536,t=3,p=4$MIIRqgvgQbgj220jfp0MPA"
    "$YfwJSVjtjSU0zzV/P3S9nnQ/USre2wvJMjfCIjrTQbg"
)
"""What a name that is not in the file is checked against: it takes as long."""


class Credentials:
    """One file of users. Blocking, for one thread at a time."""

    def __init__(self, path: Path) -> None:
        """Raises StartError if the file cannot be read, or holds something else."""
        self._path = path
        self._hasher = PasswordHasher()
        self._read_as: tuple[int, int] = (0, 0)
        self._hashes: dict[str, str] = {}
        self._look()

    def is_right(self, user: str, password: str) -> bool:
        """Whether this is the user's password. Takes some 50 ms of CPU and 64 MiB on purpose."""
        self._look()
        if len(password.encode()) > PASSWORD_BYTES_MAX:
            return False
        try:
            return self._hasher.verify(self._hashes.get(user, _NOBODY), password)
        except (VerificationError, InvalidHashError):
            return False

    def _look(self) -> None:
        """Read the file if it is not as it was; what cannot be read lets nobody in."""
        try:
            state = self._path.stat()
            mark = state.st_mtime_ns, state.st_size
            if mark != self._read_as:
                self._hashes = read(self._path)
                self._read_as = mark
        except OSError as error:
            self._hashes = {}
            raise StartError(f"{self._path}, the file of users, cannot be read: {error}") from error


def read(path: Path) -> dict[str, str]:
    """Return the hashes by user. Raises StartError, OSError."""
    if path.stat().st_size > FILE_BYTES_MAX:
        raise StartError(f"{path} has more than {FILE_BYTES_MAX} bytes: it is no file of users")
    users = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, colon, hashed = line.partition(":")
        if not colon or not NAME.fullmatch(name) or not hashed.startswith("$argon2"):
            raise StartError(
                f"{path}, line {number}: NAME:HASH was expected, as `mqk user add` writes it"
            )
        users[name] = hashed
    return users


def hashed(password: str) -> str:
    """Return what the file keeps of a password."""
    return PasswordHasher().hash(password)


def write(path: Path, users: dict[str, str]) -> None:
    """Write the file anew, readable by its owner only, whole or not at all."""
    text = "".join(f"{name}:{kept}\n" for name, kept in sorted(users.items()))
    beside = path.with_name(path.name + ".new")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    beside.replace(path)
