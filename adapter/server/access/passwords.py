"""Who knows whether a password is right: the file of users, a directory, or both.

A user of the file is one of the file only, so that a directory cannot take over the name.
Everything blocks, for a thread of its own. This module does not know who must give a password.
"""

from __future__ import annotations

from typing import Protocol

from adapter.server.access.credentials import Credentials


class UsersUnavailable(Exception):  # noqa: N818 -- an event; the text is for the log
    """It cannot be said whether a password is right: what knows it does not answer."""


class PasswordCheck(Protocol):
    """Knows users and their passwords."""

    def known(self, user: str, password: str) -> bool | None:
        """Whether a password was right when it was asked about lately; None: is_right() says it."""

    def is_right(self, user: str, password: str) -> bool:
        """Whether this is the user's password. Raises UsersUnavailable, StartError."""

    def groups_of(self, user: str) -> tuple[str, ...]:
        """Return the groups of a user whose password was right."""


class FileThenDirectory:
    """Users of a file, and those of a directory that the file does not name."""

    def __init__(self, file: Credentials, directory: PasswordCheck) -> None:
        self._file = file
        self._directory = directory

    def known(self, user: str, password: str) -> bool | None:
        return self._of(user).known(user, password)

    def is_right(self, user: str, password: str) -> bool:
        return self._of(user).is_right(user, password)

    def groups_of(self, user: str) -> tuple[str, ...]:
        return self._of(user).groups_of(user)

    def _of(self, user: str) -> PasswordCheck:
        return self._file if self._file.has(user) else self._directory
