"""Where the token comes from that a client shows: a text, a file, or a function of the program.

A token ends, so that it is asked for anew whenever a connection is made. What is wrong with one is
said without it. This module does not know what a token says.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from adapter.connection.channel.arguments import plain_text, shown_error
from adapter.connection.wire.frames import TOKEN_LENGTH_MAX
from adapter.errors import Error, InvalidOption, InvalidType

TOKEN_FILE = "MQK_TOKEN_FILE"  # noqa: S105 -- the name of a variable
"""A variable of the environment, for programs that say nothing of tokens; mqk has an option."""

Token = str | os.PathLike[str] | Callable[[], str]
"""What connect() takes as token=."""


class TokenSource:
    """Returns the token of the moment."""

    def __init__(self, given: object) -> None:
        """Raises InvalidType."""
        if not isinstance(given, str | os.PathLike) and not callable(given):
            kind = type(given).__name__
            raise InvalidType(f"token is a text, a path or a function, not of the type {kind}")
        self._given: Token = given

    @property
    def is_renewable(self) -> bool:
        """Whether another token may come from there later: it is no text."""
        return not isinstance(self._given, str)

    def current(self) -> str:
        """Return the token. Raises InvalidOption, InvalidType, or what the function raises."""
        given = self._given
        if isinstance(given, str):
            return check_token(given, "token")
        if isinstance(given, os.PathLike):
            path = Path(given)
            try:
                with path.open(encoding="utf-8") as file:
                    text = file.read(TOKEN_LENGTH_MAX + 2)
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) else "it is not text"
                raise InvalidOption(f"token: {path} cannot be read: {why}") from error
            return check_token(text, f"token: {path}")
        return check_token(given(), "token: the function's result")

    def said(self) -> str | Error:
        """Return the token, or the error that says what is wrong, whatever a function raises."""
        try:
            return self.current()
        except Error as error:
            return error
        except Exception as error:  # noqa: BLE001 -- it is the program's function
            return InvalidOption(f"token: the function raised {shown_error(error)}")


def source_of(given: Token | None, *, has_password: bool = False) -> TokenSource | None:
    """Return the source that connect(token=) means; None for no token.

    None: the file that MQK_TOKEN_FILE names, unless the program gives a password. Raises
    InvalidType, InvalidOption.
    """
    if given is not None:
        if has_password:
            raise InvalidOption("a password and a token were given: give one of them")
        return TokenSource(given)
    named = "" if has_password else os.environ.get(TOKEN_FILE, "")
    return TokenSource(Path(named)) if named else None


def check_token(token: object, what: str) -> str:
    """Return a token without blanks around it. Raises InvalidType, InvalidOption."""
    if not isinstance(token, str):
        raise InvalidType(f"{what} is not a text, but of the type {type(token).__name__}")
    token = plain_text(token).strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidOption(f"{what} is no JSON Web Token")
    if len(token) > TOKEN_LENGTH_MAX:
        raise InvalidOption(f"{what} has more than {TOKEN_LENGTH_MAX} characters")
    return token
