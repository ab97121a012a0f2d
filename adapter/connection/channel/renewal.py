"""When a connection shows a new token by itself, so that it outlives the one that it was made with.

A token that comes from a file or a function can be asked for again. It is once three quarters of
the time are over that the token had left when it was shown; if there is no newer one yet, again
and again until there is. A token without an end, and one that is a text, is shown once: for what
comes from there is nothing to do. A connection that is lost meanwhile shows the newest token when
it is made again.

Threads and tasks wait, and show a token, in their own ways; what is decided is decided here. This
module checks no token: the queue manager does.
"""

from __future__ import annotations

import base64
import logging
import time
from collections.abc import Callable
from typing import Any, Final

import msgspec

from adapter.connection.channel import requests as rq
from adapter.connection.channel.conversation import Introduction
from adapter.connection.channel.requests import Pending
from adapter.connection.wire.frames import RenewToken
from adapter.core.contract.results import Done, Refused
from adapter.errors import Error

LOOK_S: Final = 10.0
"""It is looked at so often whether a token is due: another one may have been shown meanwhile."""
AGAIN_S: Final = 1.0
"""The shortest time between two attempts; it is a quarter of what is left, if that is more."""
LATE_S: Final = 60.0
"""The time between two attempts once a token is over and the connection goes on all the same."""
SHARE: Final = 0.75

log = logging.getLogger("adapter.client")


class TokenSchedule:
    """What one connection knows of the token that it has shown last."""

    def __init__(self, introduction: Introduction, clock: Callable[[], float] = time.time) -> None:
        """clock: the time in seconds since 1970."""
        self._introduction = introduction
        self._clock = clock
        self._known = ""
        """The token that the times below are of."""
        self._end_s = 0.0
        self._due_s = 0.0
        self._refused = ""
        """A newer one that the queue manager does not accept: it is shown once."""
        self._why = ""

    @property
    def is_possible(self) -> bool:
        """Whether the token comes from where a newer one may come from."""
        source = self._introduction.token_source
        return source is not None and source.is_renewable

    def wait_s(self) -> float:
        """Return how long to wait before it is looked at whether a token is due."""
        now_s = self._clock()
        self._know(self._introduction.token, now_s)
        if not self._end_s or not self.is_possible:
            return LOOK_S
        return min(max(self._due_s - now_s, 0.0), LOOK_S)

    def request(self) -> Pending | None:
        """Return what shows a newer token, if that is due and there is one.

        It asks the program's function. What is wrong with a token is logged, without it.
        """
        now_s = self._clock()
        self._know(self._introduction.token, now_s)
        source = self._introduction.token_source
        if source is None or not self.is_possible or not self._end_s or now_s < self._due_s:
            return None
        left_s = self._end_s - now_s
        self._due_s = now_s + (max(left_s * (1 - SHARE), AGAIN_S) if left_s > 0 else LATE_S)
        token = source.said()
        if isinstance(token, Error):
            self._warn(token.text)
            return None
        if token in (self._known, self._refused):
            return None
        return Pending(RenewToken(token), rq.FROM_START)

    def note(self, request: Pending) -> None:
        """Know what came of a request; of one whose connection was lost nothing came."""
        answer = request.answer
        if isinstance(answer, Done):
            assert isinstance(request.command, RenewToken), "it is what request() has made"
            self._introduction.token = request.command.token
            self._know(request.command.token, self._clock())
        elif isinstance(answer, Refused):
            assert isinstance(request.command, RenewToken), "it is what request() has made"
            self._refused = request.command.token
            self._warn(f"the queue manager refuses the new one: {answer.detail}")

    def failed(self, error: Error) -> None:
        """Know that a request could not be sent, or got no answer."""
        self._warn(error.text)

    def _warn(self, why: str) -> None:
        """Log why there is no new token, once while that stays the reason."""
        if why != self._why:
            self._why = why
            log.warning("the token of the connection is not renewed: %s", why)

    def _know(self, token: str, now_s: float) -> None:
        if token != self._known:
            self._known, self._refused, self._why = token, "", ""
            self._end_s = end_of(token)
            self._due_s = now_s + max((self._end_s - now_s) * SHARE, AGAIN_S)


def end_of(token: str) -> float:
    """Return when a token ends, in seconds since 1970, as it says itself; 0: it does not say."""
    claims = token.split(".")[1:2]
    try:
        said: Any = msgspec.json.decode(base64.urlsafe_b64decode(f"{claims[0]}==="))
        end = said.get("exp", 0)
        return float(end) if isinstance(end, int | float) else 0.0
    except (IndexError, ValueError, AttributeError, OverflowError):
        return 0.0


def warn_of_end(why: str) -> None:
    """Say that the thread or task that renews tokens has ended unexpectedly."""
    log.warning("tokens of a connection are no longer renewed: %s", why)
