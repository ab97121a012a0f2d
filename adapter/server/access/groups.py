"""Groups of users: a file that says who is in which, beside those of the operating system.

A line is GROUP:USER; empty lines and lines that begin with # are left out. `mqk group` writes the
file. A user is named as the queue manager knows it: of a certificate that is what tls_user says.
The file is looked at every few seconds. One that can no longer be read changes nothing, and is
reported: what a user had by a group would be gone otherwise while the file is written.

This module does not know what a group may do.
"""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from adapter.core.contract.authorities import ENTITY_LENGTH_MAX, EVERYONE
from adapter.errors import StartError
from adapter.host import texts, watched
from adapter.server.process.repeating import LastingFault

FILE_BYTES_MAX = 16 * 1024 * 1024
LOOK_S = 2.0
MODE = 0o640
COMMENT = "#"
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

Members = dict[str, list[str]]
"""Users by group, each once, in order."""
GroupsByUser = dict[str, tuple[str, ...]]

log = structlog.get_logger("mqk.listener")


class UserGroups:
    """The groups of one file. It is small, and read only when it has changed."""

    def __init__(self, path: Path | None) -> None:
        """path: None for no file. Raises StartError for one that is no such file, or not read."""
        self._path = path
        self._changes = texts.Changes(*([path] if path is not None else []))
        self._read: GroupsByUser = {}
        self._fault = LastingFault("the groups of users stay as they were")
        if path is not None:
            with self._changes.reading():
                self._read = by_user(read(path))
        self._watch: asyncio.Task[None] | None = None

    @property
    def groups(self) -> GroupsByUser:
        """The groups of each user, as far as the file could be read."""
        return self._read

    def has_changed(self) -> bool:
        """Read the file again if it is not as it was; whether groups are others now."""
        if self._path is None:
            return False
        before = self._read
        with self._fault.log(), self._changes.reading() as has_changed:
            if has_changed:
                self._read = by_user(read(self._path))
        return self._read != before

    def watch(self, know: Callable[[GroupsByUser], None], broke: Callable[[str], None]) -> None:
        """Have know called with the groups whenever they change, on this event loop, until stop().

        broke: called if that ends by an exception.
        """
        if self._path is not None:
            self._watch = watched.task("groups' watch", self._look(know), broke)

    def stop(self) -> None:
        """Look no more."""
        if self._watch is not None:
            self._watch.cancel()

    async def _look(self, know: Callable[[GroupsByUser], None]) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            if self.has_changed():
                log.info("groups of users read again", file=str(self._path))
                know(self._read)


def read(path: Path) -> Members:
    """Return who is in which group. Raises StartError."""
    try:
        text = texts.read(path, FILE_BYTES_MAX)
        mode = path.stat().st_mode
    except (OSError, texts.UnreadableTextError) as error:
        raise StartError(f"{path}, the file of groups, cannot be read: {error}") from error
    if mode & OTHERS_WRITE:
        raise StartError(
            f"{path}, the file of groups, may be written by other accounts: chmod go-w {path}"
        )
    members: Members = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith(COMMENT):
            continue
        group, _, user = line.partition(":")
        if problem_of_group(group) or problem(user):
            raise StartError(
                f"{path}, line {number}: GROUP:USER was expected, as `mqk group add` writes it"
            )
        users = members.setdefault(group, [])
        if user not in users:
            users.append(user)
    return members


def problem(name: str) -> str:
    """Say why a name cannot be that of a group or user; "" if it can."""
    if not 0 < len(name) <= ENTITY_LENGTH_MAX or not name.isprintable() or name != name.strip():
        return f"a group or user has 1 to {ENTITY_LENGTH_MAX} printable characters"
    if name == EVERYONE:
        return f"all clients are in the group {EVERYONE}"
    return ""


def problem_of_group(name: str) -> str:
    """Say why a name cannot be that of a group in the file; "" if it can."""
    if name.startswith(COMMENT):
        return f"{name} begins with {COMMENT}, as comments in the file do"
    return problem(name)


def by_user(members: Members) -> GroupsByUser:
    """Return the groups of each user.

    >>> by_user({"staff": ["ann", "bob"], "tills": ["ann"]})
    {'ann': ('staff', 'tills'), 'bob': ('staff',)}
    """
    found: dict[str, list[str]] = {}
    for group, users in sorted(members.items()):
        for user in users:
            found.setdefault(user, []).append(group)
    return {user: tuple(groups) for user, groups in found.items()}


def write(path: Path, members: Members) -> None:
    """Write the file anew, for its owner to change only, whole or not at all."""
    texts.replace(path, _text(members), MODE)


@contextmanager
def changing(path: Path) -> Iterator[Members]:
    """Give the members of the groups, and write what they are when the block is left without an
    error.

    Another process that changes the file meanwhile is waited for. Raises StartError, OSError.
    """
    with texts.changing(path, MODE) as write_text:
        members = read(path) if path.exists() else {}
        yield members
        write_text(_text(members))


def _text(members: Members) -> str:
    return "".join(f"{group}:{user}\n" for group in sorted(members) for user in members[group])
