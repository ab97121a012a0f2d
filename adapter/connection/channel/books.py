"""The books of one connection: what it has open and unanswered. Threads or tasks wait for it.

Threads (channel.py) and tasks (adapter/aio) wait in their own ways, and use these books alike.
Nothing here waits. This module knows no verb.
"""

from __future__ import annotations

import itertools
import os
import threading
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from adapter.connection.channel.answers import problem_of
from adapter.connection.channel.conversation import Introduction
from adapter.connection.channel.deferred import DeferredPuts, join_puts
from adapter.connection.channel.dropped import warn_of_dropped
from adapter.connection.channel.link.port import NoLink, OnLink
from adapter.connection.channel.requests import Handle, Pending, UnitOnWire, note_queue
from adapter.connection.channel.state import ChannelState
from adapter.connection.channel.timeouts import Timeouts
from adapter.core.contract.results import ConsumerState, Done, Opened, Refused, Subscribed
from adapter.errors import ConnectionClosed, Error

ResultT = TypeVar("ResultT")


class ChannelBooks:
    """Requests and answers of one client.

    It is no ABC, because weak references to objects of a compiled class with a base that is not
    compiled are not cleared when the object goes.
    """

    def __init__(self, introduction: Introduction, timeouts: Timeouts) -> None:
        self._introduction = introduction
        introduction.wanted_heartbeat_ms = round(timeouts.heartbeat_s * 1000)
        self._state = ChannelState(timeouts)
        self._outstanding = self._state.outstanding
        self._lock = self._state.lock
        self._closing = self._state.closing
        self.keeping: dict[bytes, tuple[UnitOnWire, DeferredPuts]] = {}
        """Deferred puts that have not been sent, and their unit, by its id."""
        self.entered: dict[bytes, str] = {}
        """Units in with statements, by the thread or task that entered each, for the hint that
        another one works outside them: is_hinted."""
        self.is_hinted = False
        self._message_ids = itertools.count(1)
        self._message_id_prefix = b"MQK " + os.urandom(12)

    @property
    def queue_manager(self) -> str:
        """The name of the queue manager."""
        return self._introduction.queue_manager

    @property
    def introduction(self) -> Introduction:
        """What it says of itself on each new link."""
        return self._introduction

    @property
    def kafka(self) -> str:
        """Where its Kafka is reached; "" without one."""
        return self._introduction.kafka

    @property
    def is_closed(self) -> bool:
        """Whether close() has been called."""
        return self._closing.is_set()

    @property
    def is_connected(self) -> bool:
        """Whether there is a link, as far as is known."""
        return self._state.link is not None

    @property
    def takes_one_way(self) -> bool:
        """Whether operations without an answer can be sent now: there is a link, and the queue
        manager at its other end knows them."""
        return self._state.link is not None and self._state.one_way

    @property
    def takes_continues(self) -> bool:
        """Whether the queue manager, as far as is known, knows the option CONTINUES."""
        return self._state.continues

    @property
    def caller(self) -> str:
        """The thread or task that calls, as the log names it."""
        return f"thread {threading.current_thread().name}"

    def check_process(self) -> None:
        """Raise ConnectionClosed in a forked child: the connection is its parent's."""
        if self._state.is_inherited:
            raise ConnectionClosed(self._state.why_closed)

    @property
    def no_link(self) -> NoLink | None:
        """Why no link was made in time; None as long as it is tried, and if there is one."""
        return self._state.no_link

    def on_link(self, call: OnLink) -> None:
        """Have this called, see OnLink.

        Any thread may call it. It must return at once, and call nothing here.
        """
        self._state.on_link = call

    @abstractmethod
    def submit(self, requests: list[Pending], unit: UnitOnWire | None = None) -> None:
        """Number requests and send them in one frame, in order; do not wait."""

    def submit_behind(
        self, deferred: DeferredPuts, requests: list[Pending], unit: UnitOnWire
    ) -> None:
        """Send a unit's requests in one frame, its deferred puts before them; do not wait."""
        try:
            puts = deferred.take_all()
            try:
                self.submit([*join_puts(puts), *requests], unit)
            except Error:
                deferred.take_back(puts)  # nothing was sent
                raise
            self.keeping.pop(unit.ident, None)
        except BaseException as error:
            if self.was_interrupted(error):  # whether the puts were sent is not known
                unit.is_broken = True
                self.give_back([unit])
            raise
        if unit.is_dropped:  # meanwhile, when it had not begun
            self.let_go_of([unit])

    @abstractmethod
    def abandon(self, requests: Sequence[Pending]) -> None:
        """Wait for those of these no longer that have no answer."""

    @abstractmethod
    def was_interrupted(self, error: BaseException) -> bool:
        """Whether a call has failed by something that is no refusal, and came from elsewhere."""

    def send_deferred(self) -> None:
        """Send every deferred put, because a handle is to be closed."""
        for unit, deferred in list(self.keeping.values()):
            with suppress(Error):  # the unit's commit will say it
                self.submit_behind(deferred, [], unit)

    @abstractmethod
    def renew_by_itself(self) -> None:
        """Show new tokens from now on before the one before ends, if they come from where newer
        ones come from. Any thread or task of the connection may call it, and again.
        """

    @abstractmethod
    def new_handle(self, queue: str, modes: int) -> Handle:
        """Draw a handle number."""

    @abstractmethod
    def give_back(self, units: Iterable[UnitOnWire]) -> None:
        """Have units backed out, and do not wait for it."""

    @abstractmethod
    def let_go_of(self, units: Iterable[UnitOnWire]) -> None:
        """Have units backed out, and do not wait for it. Takes no lock: the garbage collector
        calls it at any moment, in any thread."""

    def enlist(self, *, ahead: bool = False) -> UnitOnWire:
        """Draw a unit id; the unit is begun, ahead or not, with its first verb."""
        return self._outstanding.enlist(ahead=ahead)

    def forget_unit(self, unit: UnitOnWire) -> None:
        """The unit has ended."""
        self._outstanding.units.pop(unit.ident, None)

    def holds(self, unit: UnitOnWire) -> bool:
        """Whether a unit that has begun is still there, as far as is known."""
        return self._outstanding.holds(unit)

    def new_message_id(self) -> bytes:
        """Draw a message id of the same form as those that the queue manager draws."""
        return self._message_id_prefix + next(self._message_ids).to_bytes(8, "big")

    def keep_handle(self, handle: Handle) -> None:
        """Open this handle again whenever the TCP connection was lost, until it is dropped."""
        handle.is_open, handle.refused = True, None
        self._outstanding.keep(handle, is_linked=self._state.link is not None)

    def let_go(self, handles: dict[int, Handle]) -> None:
        """Have these closed with what is asked next. Takes no lock: the garbage collector calls it
        at any moment."""
        self._outstanding.let_go.extend(handles.values())

    def drop_handle(self, handle: Handle) -> None:
        """Open it no more."""
        handle.is_open = False
        self._outstanding.handles.pop(handle.number, None)

    def result(
        self,
        request: Pending,
        kind: type[ResultT],
        unit: UnitOnWire | None = None,
        after: Pending | None = None,
    ) -> ResultT:
        """Return the answer if it is of this kind; raise the error that it is otherwise.

        after: the open that went before it in the same exchange; its refusal explains the other's.
        """
        answer = request.answer
        if after is not None:
            note_queue(after)
            # Without an answer the open says nothing of the request: that may have been done.
            if isinstance(after.answer, Refused) and not isinstance(answer, kind):
                self.check_opened(after)
        if isinstance(answer, kind):
            return answer
        raise problem_of(request, unit, self._outstanding.session_problem)

    def check_opened(self, request: Pending) -> None:
        """Raise the error that the answer to an open is; under another name it is open too."""
        if not isinstance(request.answer, Done | Opened | Subscribed | ConsumerState):
            raise problem_of(request, None, self._outstanding.session_problem)
        note_queue(request)

    def _warn_unclosed(self) -> None:
        """Say that the garbage collector takes a connection which was not closed."""
        warn_of_dropped(
            f"the connection to queue manager {self.queue_manager} was dropped and not closed: "
            "close it, or use it in a with statement",
            self,
        )

    def _figures(self) -> dict[str, Any]:
        """Return the figures since it was made. bytes_received: over links that are closed.

        address: where it is connected, which is not where the program connected to if a standby has
        led it to the owner; "" while it is not connected.
        """
        outstanding, state = self._outstanding, self._state
        link = state.link
        return {
            **state.traffic.figures(),
            "requests": outstanding.requests,
            "numbered": outstanding.session.issued,
            "unanswered": len(outstanding.pending),
            "handles": len(outstanding.handles),
            "units": len(outstanding.units),
            "connections_lost": outstanding.epoch,
            "connected": link is not None,
            "address": link.peer if link is not None else "",
        }
