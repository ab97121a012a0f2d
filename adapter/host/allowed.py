"""Which programs a service may start, and as whom: directories that an administrator has named.

Users of a queue manager may name programs: in process definitions, and as procedures of queues.
With a list of directories only what is in them is started, without a shell; a service that runs as
root starts it as an account that is named too. A directory that other accounts may write to is
refused, for they could put programs into it. This module does not know who names a program, nor
why.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from adapter.errors import Error, InvalidOption
from adapter.host import launch

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
SYNTAX = frozenset("();<>|&")
"""What separates words in a shell, where it is not quoted."""


class ProgramNotAllowed(Error):  # noqa: N818 -- it says what happened
    """A program is in none of the directories, or cannot be executed."""

    def __str__(self) -> str:
        return self.text


class AllowedPrograms:
    """The programs in some directories, and below them.

    directories: absolute paths. run_as: the account that starts them; "" is that of this process,
    unless it is root's: then the account must be named. Raises InvalidOption.
    """

    def __init__(self, directories: Iterable[str | os.PathLike[str]], run_as: str = "") -> None:
        self._directories = [_directory(Path(one)) for one in directories]
        if not self._directories:
            raise InvalidOption("no directory is named: name those of the programs", "directories")
        if not run_as and os.geteuid() == 0:
            raise InvalidOption(
                "this service runs as root: name the account that its programs run as", "run_as"
            )
        self._account = _account(run_as) if run_as else None

    def start(
        self, arguments: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> launch.Child:
        """Start a program without a shell. environment: None is that of this process.

        arguments: the program first: a path, or a name that is looked up in the directories and not
        on PATH. Raises ProgramNotAllowed, and OSError if no process can be created.
        """
        found = self.find(arguments[0])
        account = self._account
        if account is None:
            return launch.start([found, *arguments[1:]], output=None, environment=environment)
        names = {"HOME": account.pw_dir, "LOGNAME": account.pw_name, "USER": account.pw_name}
        return launch.start(
            [found, *arguments[1:]],
            output=None,
            environment={**(os.environ if environment is None else environment), **names},
            account=launch.Account(account.pw_uid, account.pw_gid, _groups(account)),
        )

    def find(self, program: str) -> Path:
        """Return the path of a program. Raises ProgramNotAllowed."""
        named = Path(program)
        if named.name != program:  # it has a directory
            found = [named] if named.is_absolute() else []
        else:
            found = [one / program for one in self._directories]
        for path in found:
            # Links among the directories are followed; the program itself may be a link: who may
            # write to an allowed directory may put any program there.
            folder = Path(os.path.realpath(path.parent))
            is_in = any(folder.is_relative_to(one) for one in self._directories)
            if is_in and path.is_file() and os.access(path, os.X_OK):
                return folder / path.name
        where = ", ".join(map(str, self._directories))
        raise ProgramNotAllowed(
            f"{program} is not started: it is no program in {where}, where programs have to be"
        )


def words_of(command: str) -> list[str]:
    """Split a command as a shell does, quotes and backslashes taken, and nothing else.

    Raises ProgramNotAllowed for what only a shell could do: pipes, redirections, several commands.
    """
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError as error:
        raise ProgramNotAllowed(f"{command} is not started: {str(error).lower()}") from error
    if any(word and SYNTAX.issuperset(word) for word in words):
        raise ProgramNotAllowed(
            f"{command} is not started: programs of an allowed directory are started without a "
            "shell, which alone knows ; & | < > ( ): write a script, and name it"
        )
    return words


def _directory(path: Path) -> Path:
    if not path.is_absolute():
        raise InvalidOption(f"{path} is not an absolute path: name the directory in full", "")
    found = Path(os.path.realpath(path))
    try:
        mode = found.stat().st_mode
    except OSError as error:
        raise InvalidOption(
            f"{path} cannot be used: {error.strerror or error}", str(path)
        ) from error
    if not stat.S_ISDIR(mode):
        raise InvalidOption(f"{path} is not a directory: name that of the programs", str(path))
    if mode & OTHERS_WRITE:
        raise InvalidOption(
            f"others may write to {path}, and so put programs into it: chmod go-w {path}", str(path)
        )
    return found


def _account(name: str) -> Any:
    """Return an account of the operating system, as pwd has it."""
    import pwd  # noqa: PLC0415 -- Windows has none, and no services that start programs as others

    try:
        found = pwd.getpwnam(name)
    except KeyError:
        raise InvalidOption(f"there is no account {name}: name one that exists", name) from None
    if os.geteuid() not in (0, found.pw_uid):
        raise InvalidOption(
            f"programs cannot run as {name}: only a service that runs as root can do that", name
        )
    return found


def _groups(account: Any) -> list[int]:
    import grp  # noqa: PLC0415 -- as above

    return [
        group.gr_gid
        for group in grp.getgrall()
        if account.pw_name in group.gr_mem or group.gr_gid == account.pw_gid
    ]
