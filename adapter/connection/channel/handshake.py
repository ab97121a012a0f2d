"""The start of a connection: find a queue manager that answers, and ask a few things of it.

What happens here happens in one thread, before the connection carries requests of others. What is
said is in conversation.py; this module waits for it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import TypeVar

from adapter.connection.channel.conversation import (
    Conversation,
    Introduction,
    frames_of,
    why_none,
)
from adapter.connection.channel.link.pipe import PEER
from adapter.connection.channel.link.port import Dialer, Link, LinkLost
from adapter.connection.channel.places import ManagerPlaces
from adapter.connection.channel.token_source import TokenSource
from adapter.connection.wire.frames import ServerFrame

LOOK_UP_S = 0.25
BACK_OFF_FIRST_S = 0.02
BACK_OFF_MAX_S = 1.0
NO_ANSWER = "{}: the queue manager does not answer"

ResultT = TypeVar("ResultT")


class Handshake(Introduction):
    """Opens links to one queue manager. Its name is fixed by the first welcome."""

    def __init__(
        self,
        dialers: Sequence[Dialer],
        queue_manager: str,
        application: str,
        user: str = "",
        password: str = "",
        channel: str = "",
        token: TokenSource | None = None,
    ) -> None:
        super().__init__(queue_manager, application, user, password, channel, token)
        self.places = ManagerPlaces(dialers)
        self._dialing: Dialer | None = None
        self._taken_up: Link | None = None
        """What is being opened, and the link that is made ready for use: interrupt() ends both."""
        self._is_interrupted = False

    @property
    def leaves_process(self) -> bool:
        """Whether the queue manager may be another process."""
        return any(one.place != PEER for one in self.places.given)

    def another(self) -> Handshake:
        """Return one for another connection to the same queue manager."""
        return self.elsewhere(self.places.given, self.queue_manager)

    def elsewhere(self, dialers: Sequence[Dialer], queue_manager: str) -> Handshake:
        """Return one for a connection to another queue manager, of the same program and user."""
        who = self.application, self._user, self._password, self._channel, self.token_source
        return Handshake(dialers, queue_manager, *who)

    def open_any(self, timeout_s: float) -> Link:
        """Return a welcomed link to the first place that gives one; LinkLost says why not.

        interrupt() ends that link too, until its taker calls placed() or let_go().
        """
        attempts = self.places.attempts()
        while (dialer := attempts.next()) is not None:
            try:
                link = self._open(dialer, timeout_s)
            except LinkLost as lost:
                attempts.failed(dialer, lost)
                continue
            self.places.reached(dialer)
            return link
        raise why_none(attempts.problems, self.queue_manager)

    def interrupt(self) -> None:
        """End what open_any() waits for and what is said on its link, now and later; from another
        thread.
        """
        self._is_interrupted = True
        dialing, taken_up = self._dialing, self._taken_up
        if dialing is not None:
            dialing.interrupt()
        if taken_up is not None:
            taken_up.shutdown()

    def placed(self) -> None:
        """Leave the link of open_any() to the channel, which ends it from now on."""
        self._taken_up = None

    def let_go(self) -> None:
        """Close the link of open_any(), which is of no use; nothing, if it was placed."""
        taken_up, self._taken_up = self._taken_up, None
        if taken_up is not None:
            taken_up.close()

    def disown(self) -> None:
        """Forget what another thread of the parent was opening when this child was forked."""
        taken_up, self._dialing, self._taken_up = self._taken_up, None, None
        if taken_up is not None:
            taken_up.disown()

    def _open(self, dialer: Dialer, timeout_s: float) -> Link:
        deadline_s = time.monotonic() + timeout_s
        try:
            self._dialing = dialer
            self._taken_up = link = dialer.dial(self.places.limit_s(dialer.place, timeout_s))
            self._dialing = None
            if self._is_interrupted:  # while there was nothing yet that could be shut down
                link.shutdown()
            limit_s = self.places.limit_s(link.peer, timeout_s)
            self._welcomed(link, min(deadline_s, time.monotonic() + limit_s))
        except BaseException:
            self._dialing = None
            self.let_go()
            raise
        return link

    def _welcomed(self, link: Link, deadline_s: float) -> None:
        link.look_up_every(LOOK_UP_S)
        converse(link, self.greeting(link, self.token_to_show()), deadline_s)


def receive_until(link: Link, deadline_s: float) -> list[ServerFrame]:
    """Return the next frames; LinkLost if none comes in time, or if one says goodbye.

    What comes in time may be no more than signs of life: see converse.
    """
    while True:
        payloads = link.receive()
        if payloads:
            return frames_of(payloads, link.peer)
        if time.monotonic() > deadline_s:
            raise LinkLost(NO_ANSWER.format(link.peer))


def converse(link: Link, conversation: Conversation[ResultT], deadline_s: float) -> ResultT:
    """Have a conversation on a link that no other thread uses yet. Raises LinkLost.

    deadline_s: when it ends, whatever comes: another end that only says that it lives would keep
    the thread for ever.
    """
    try:
        say = next(conversation)
        while True:
            if say:
                link.send(say)
            say = conversation.send(receive_until(link, deadline_s))
            if time.monotonic() > deadline_s:
                raise LinkLost(NO_ANSWER.format(link.peer))
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def back_off_s(attempts: int) -> float:
    """Say how long to wait before another attempt: longer each time, and cut by chance.

    Chance keeps the clients of a queue manager that comes back from all coming at once.
    """
    if not attempts:
        return 0.0
    longest_s = min(BACK_OFF_FIRST_S * float(1 << min(attempts - 1, 20)), BACK_OFF_MAX_S)
    return longest_s * random.uniform(0.5, 1.0)
