"""Users and their passwords: a file of names and argon2 hashes, and whether a password is right.

A line is NAME:HASH; empty lines and lines that begin with # are left out. `mqk user` writes the
file. It is read again whenever it has changed. This module does not know who must give a password.
"""

from __future__ import annotations

import hmac
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from adapter.errors import StartError
from adapter.host import texts

NAME = re.compile(r"[A-Za-z0-9._@-]{1,64}")
PASSWORD_BYTES_MAX = 256  # MQ_CSP_PASSWORD_LENGTH
FILE_BYTES_MAX = 16 * 1024 * 1024
"""Some hundred thousand users."""
MODE = 0o600
CHECKED_MAX = 10_000
"""Checks whose outcome is kept."""
_NOBODY = (
    "$argon2id$v=19$m=65536,t=3,p=4$MIIRqgvgQbgj220jfp0MPA"
    "$YfwJSVjtjSU0zzV/P3S9nnQ/USre2wvJMjfCIjrTQbg"
)
"""What a name that is not in the file is checked against: it takes as long."""


class Credentials:
    """One file of users. Blocking, for any thread."""

    def __init__(self, path: Path) -> None:
        """Raises StartError if the file cannot be read, or holds something else."""
        self._path = path
        self._hasher = PasswordHasher()
        self._changes = texts.Changes(path)
        self._hashes: dict[str, str] = {}
        self._lock = threading.Lock()
        self._key = secrets.token_bytes()
        self._checked: OrderedDict[bytes, bool] = OrderedDict()
        """Outcomes by a digest of user, hash and password, which cannot be computed without the
        key; that is in no file. A user with another hash is checked anew."""
        self._look()

    def is_right(self, user: str, password: str) -> bool:
        """Whether this is the user's password. Takes some 50 ms of CPU and 64 MiB on purpose."""
        given = password.encode(errors="surrogatepass")
        if len(given) > PASSWORD_BYTES_MAX:
            return False
        kept = self._hash_of(user)
        try:
            is_right: bool = self._hasher.verify(kept, given)
        except (VerificationError, InvalidHashError):
            is_right = False
        with self._lock:
            self._checked[self._digest(user, kept, given)] = is_right
            if len(self._checked) > CHECKED_MAX:
                self._checked.popitem(last=False)
        return is_right

    def known(self, user: str, password: str) -> bool | None:
        """What is_right() returned for this password, at once; None if it was not asked before."""
        given = password.encode(errors="surrogatepass")
        if len(given) > PASSWORD_BYTES_MAX:
            return False
        digest = self._digest(user, self._hash_of(user), given)
        with self._lock:
            found = self._checked.get(digest)
            if found is not None:
                self._checked.move_to_end(digest)
        return found

    def has(self, user: str) -> bool:
        """Whether the file has a line of this user."""
        with self._lock:
            self._look()
            return user in self._hashes

    def groups_of(self, user: str) -> tuple[str, ...]:
        """Return the groups of a user: the file knows none."""
        del user
        return ()

    def _hash_of(self, user: str) -> str:
        with self._lock:
            self._look()
            return self._hashes.get(user, _NOBODY)

    def _digest(self, user: str, kept: str, given: bytes) -> bytes:
        parts = (user.encode(errors="surrogatepass"), kept.encode(), given)
        return hmac.digest(self._key, b"".join(b"%d:%s" % (len(p), p) for p in parts), "sha256")

    def _look(self) -> None:
        """Read the file if it is not as it was. Raises StartError: then no client is admitted."""
        with self._changes.reading() as has_changed:
            if has_changed:
                self._hashes = read(self._path)


def read(path: Path) -> dict[str, str]:
    """Return the hashes by user. Raises StartError, also if other accounts may read them."""
    if why := texts.why_not_private(path):
        raise StartError(f"{path}, the file of users, holds hashes of passwords, and {why}")
    try:
        text = texts.read(path, FILE_BYTES_MAX)
    except texts.UnreadableTextError as error:
        raise StartError(f"{path}, the file of users, cannot be read: {error}") from error
    users = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, colon, hashed = line.partition(":")
        if not colon or not NAME.fullmatch(name) or not hashed.startswith("$argon2"):
            raise StartError(
                f"{path}, line {number}: NAME:HASH was expected, as `mqk user add` writes it"
            )
        users[name] = hashed
    return users


def hash_password(password: str) -> str:
    """Return what the file keeps of a password."""
    return PasswordHasher().hash(password)


def write(path: Path, users: dict[str, str]) -> None:
    """Write the file anew, readable by its owner only, whole or not at all."""
    texts.replace(path, _text(users), MODE)


@contextmanager
def changing(path: Path) -> Iterator[dict[str, str]]:
    """Give the hashes by user, and write what they are when the block is left without an error.

    Another process that changes the file meanwhile is waited for. Raises StartError, OSError.
    """
    with texts.changing(path, MODE) as write_text:
        users = read(path) if path.exists() else {}
        yield users
        write_text(_text(users))


def _text(users: dict[str, str]) -> str:
    return "".join(f"{name}:{kept}\n" for name, kept in sorted(users.items()))
