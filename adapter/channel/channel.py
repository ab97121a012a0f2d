"""Requests out, answers in: one client connection, shared by threads, across lost TCP connections.

There is no reader thread. A thread that waits for an answer reads the socket itself, for everybody:
it leads. The others follow: each sleeps until the leader brings its answer, or until the leader has
its own and hands the lead over. Whoever leads also connects again when the TCP connection is lost;
then every unanswered request goes out again under its old number (see outstanding.py), and the
session makes that harmless. This module knows no verb.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, NoReturn, TypeVar

from msgspec import Struct

from adapter.channel import requests as rq
from adapter.channel.handshake import Handshake, Rejected, back_off_s, exchange, refusal_among
from adapter.channel.link.port import Link, LinkLost
from adapter.channel.outstanding import Outstanding, UnitOnWire
from adapter.channel.requests import Handle, Operations, Pending
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import ConsumerState, Done, Opened, Refused, Subscribed
from adapter.errors import ConnectionClosed, Error, LimitReached, UnexpectedAnswer
from adapter.errors.refusals import refusal
from adapter.wire.frames import (
    AnyReplies,
    AskServer,
    Goodbye,
    Payload,
    ProtocolError,
    Welcome,
    decode_server_frame,
)

SILENT_LOOKS_MAX = 30
"""A thread that reads looks up so often while nothing comes, before it takes the link for lost."""
FOLLOW_S = 2.0
"""A follower looks up this often, in case the thread that was handed the lead died of it."""
BUFFER_BYTES_MAX = 4 * 1024 * 1024
"""What a longer frame took is given back when it is sent."""
CLOSE_S = 5.0
"""Closing waits this long for the queue manager to take note."""
UNTOLD_BYTES_MAX = 1024 * 1024
"""What has arrived is told with the next request, but at once if it is more than this: the queue
manager keeps it until then, and gives no more messages when it keeps too much."""
RESENT_MAX = 5
"""A command that the queue manager refuses on connection after connection is not sent again."""
NOT_NOW = (Reason.QUEUE_MANAGER_STOPPING, Reason.QUEUE_MANAGER_NOT_AVAILABLE)
"""Refusals that say nothing about the command itself: it is sent again on a new connection."""

ResultT = TypeVar("ResultT")


class Timeouts(Struct, frozen=True, kw_only=True):
    """How long a connection waits for what. silence_s: for any byte while something is asked."""

    connect_timeout_s: float = 5.0
    reconnect_timeout_s: float = 60.0
    silence_s: float = 30.0


class Channel:
    """Requests and answers of one client. Every method may be called from any thread."""

    def __init__(self, handshake: Handshake, timeouts: Timeouts) -> None:
        self._handshake = handshake
        self._timeouts = timeouts
        self._lock = threading.Lock()  # numbers are given out and frames sent under it
        self._reading = threading.Lock()  # held by the thread that leads
        self._closing = threading.Event()
        self._outstanding = Outstanding()
        self._followers: dict[int, Pending] = {}
        self._buffer = bytearray()
        self._dead: list[Link] = []
        self._lost_s = 0.0  # when, or 0.0
        self._why_lost = ""
        self._attempts = 0  # to connect again, since something was last answered
        self._silent_looks = 0
        self._untold_bytes = 0  # received since the queue manager was told what has arrived
        self._look_up_s = timeouts.silence_s / SILENT_LOOKS_MAX
        self._counts = dict.fromkeys(
            (
                "frames_sent",
                "frames_received",
                "bytes_sent",
                "bytes_received",
                "reconnects",
                "resent",
                "led",
                "followed",
            ),
            0,
        )
        self.on_link: Callable[[bool], None] = lambda _: None
        """Called with False when the TCP connection is lost, with True when there is a new one, by
        any thread. It must return at once, and call nothing here."""
        self._link: Link | None = self._first_link()

    # -- what the rest of the SDK uses

    @property
    def queue_manager(self) -> str:
        """The name of the queue manager."""
        return self._handshake.queue_manager

    @property
    def kafka(self) -> str:
        """Where its Kafka is reached; "" without one."""
        return self._handshake.kafka

    @property
    def is_closed(self) -> bool:
        """Whether close() has been called."""
        return self._closing.is_set()

    @property
    def is_connected(self) -> bool:
        """Whether there is a TCP connection, as far as is known."""
        return self._link is not None

    def pause(self, seconds: float) -> bool:
        """Sleep, but not beyond close(); return whether that came."""
        return self._closing.wait(seconds)

    def enlist(self) -> UnitOnWire:
        """Draw a unit id; the unit is begun with its first verb."""
        return self._outstanding.enlist()

    def forget_unit(self, unit: UnitOnWire) -> None:
        """The unit has ended."""
        self._outstanding.units.pop(unit.ident, None)

    def new_handle(self, queue: str, modes: int) -> Handle:
        """Draw a handle number."""
        with self._lock:
            return self._outstanding.new_handle(queue, modes)

    def keep_handle(self, handle: Handle) -> None:
        """Open this handle again whenever the TCP connection was lost, until it is dropped."""
        handle.is_open, handle.refused = True, None
        self._outstanding.handles[handle.number] = handle

    def let_go(self, handles: dict[int, Handle]) -> None:
        """Have these closed with what is asked next. Takes no lock: the garbage collector calls it
        at any moment."""
        self._outstanding.let_go.extend(handles.values())

    def drop_handle(self, handle: Handle) -> None:
        """Open it no more."""
        handle.is_open = False
        self._outstanding.handles.pop(handle.number, None)

    def ask(self, requests: list[Pending], unit: UnitOnWire | None = None) -> None:
        """Send requests in one frame and wait until each has an answer."""
        self.submit(requests, unit)
        self.await_all(requests)

    def submit(self, requests: list[Pending], unit: UnitOnWire | None = None) -> None:
        """Number requests and send them in one frame, in order; do not wait.

        With the first durable request goes the opening of the session, with the first of a unit
        its beginning. Raises what is wrong with the arguments, BackedOut if the unit is gone, and
        ConnectionClosed. While there is no TCP connection requests are kept to be sent later.
        """
        with self._lock:
            if self._closing.is_set():
                raise ConnectionClosed("the connection is closed: connect again")
            if self._outstanding.let_go:
                self._send(self._outstanding.closes(), None)
            self._send(requests, unit)

    def await_all(self, requests: Sequence[Pending]) -> None:
        """Wait until each of these submitted requests has an answer."""
        try:
            for request in requests:
                if request.answer is None:
                    self._await(request)
        except BaseException:
            self.abandon(requests)
            raise

    def result(
        self, request: Pending, kind: type[ResultT], unit: UnitOnWire | None = None
    ) -> ResultT:
        """Return the answer if it is of this kind; raise the error that it is otherwise."""
        answer = request.answer
        if isinstance(answer, kind):
            return answer
        raise self._problem(request, unit)

    def check_opened(self, request: Pending) -> None:
        """Raise the error that the answer to an open is; under another name it is open too."""
        if not isinstance(request.answer, Done | Opened | Subscribed | ConsumerState):
            raise self._problem(request, None)
        note_queue(request)

    def abandon(self, requests: Sequence[Pending]) -> None:
        """Wait for these no longer, because the waiting thread was interrupted.

        The TCP connection goes with them: bytes may have been read and lost by the interruption,
        and a get that waits at the queue manager must not take a message for nobody.
        """
        link = self._link
        with self._lock:
            self._outstanding.abandon(requests)
        if link is not None:
            self._lose(link, "a thread that waited was interrupted")
        self._hand_over()

    def close(self, abrupt: bool = False) -> None:
        """End the connection; every thread that waits gets ConnectionClosed.

        Open units are backed out and handles closed before it returns, and what is durable is
        answered, if the queue manager is there. abrupt: without a word, as when a program dies.
        """
        last: list[Pending] = []
        with self._lock:
            if self._closing.is_set():
                return
            self._closing.set()
            self._outstanding.leave(abrupt)
            if self._link is not None and not abrupt:
                farewell = self._outstanding.farewell()
                with suppress(LimitReached):
                    if farewell:
                        self._send(farewell, None)
                last = list(self._outstanding.pending.values())
        self._handshake.interrupt()
        self._await_last(last)
        link = self._link
        if link is not None:
            if not abrupt:
                self._tell_seen()
            self._lose(link, "closed")
        with self._lock:
            self._outstanding.give_up("it was closed meanwhile", ConnectionClosed)
        if self._reading.acquire(timeout=CLOSE_S):
            self._close_dead()
            self._reading.release()

    def _tell_seen(self) -> None:
        """Say which outcomes have arrived since the last request, messages that were got among
        them: the queue manager would keep them for long, for a client that may come back.
        """
        with self._lock:
            if self._link is not None and self._outstanding.session.has_seen:
                self._send([], None)

    def _await_last(self, last: list[Pending]) -> None:
        """Wait for the last answers, within bounds; another thread may be leading."""
        deadline_s = time.monotonic() + CLOSE_S
        while time.monotonic() < deadline_s and any(r.answer is None for r in last):
            if not self._reading.acquire(timeout=0.05):
                continue
            try:
                if any(request.answer is None for request in last):
                    self._read()
            finally:
                self._reading.release()

    def statistics(self) -> dict[str, Any]:
        """Figures of this connection since it was made."""
        outstanding, link = self._outstanding, self._link
        live = [*self._dead, *([link] if link else [])]
        received = self._counts["bytes_received"] + sum(one.bytes_received for one in live)
        return self._counts | {
            "bytes_received": received,
            "requests": outstanding.requests,
            "numbered": outstanding.session.issued,
            "unanswered": len(outstanding.pending),
            "handles": len(outstanding.handles),
            "units": len(outstanding.units),
            "connections_lost": outstanding.epoch,
            "connected": self._link is not None,
        }

    # -- sending (under the lock)

    def _send(
        self, requests: list[Pending], unit: UnitOnWire | None, leading: bool = False
    ) -> None:
        link = self._link
        batch = self._outstanding.prepare(requests, unit)
        self._encode(batch.operations, sending=link is not None)
        self._outstanding.register(batch, sent=link is not None)
        if link is not None:
            self._transmit(link, leading)

    def _encode(self, operations: Operations, sending: bool) -> None:
        session = self._outstanding.session
        seen = session.take_seen() if sending else []
        self._untold_bytes = 0
        try:
            rq.encode_into(self._buffer, operations, seen)
        except Error:
            session.give_back(seen)
            raise

    def _transmit(self, link: Link, leading: bool) -> None:
        """Send what is in the buffer; a failure shows to whoever reads next."""
        read = self._receive if leading else self._read_for_room
        self._counts["frames_sent"] += 1
        self._counts["bytes_sent"] += len(self._buffer)
        try:
            link.send(self._buffer, read)
        except LinkLost:
            self._buffer = bytearray()
            link.shutdown()
        if len(self._buffer) > BUFFER_BYTES_MAX:
            self._buffer = bytearray()

    def _read_for_room(self, link: Link) -> bool:
        """Read while the other end takes nothing, unless another thread reads already."""
        if not self._reading.acquire(blocking=False):
            return False
        try:
            return self._receive(link)
        finally:
            self._reading.release()
            self._hand_over()

    # -- waiting

    def _await(self, request: Pending) -> None:
        if self._reading.acquire(blocking=False) or self._follow(request):
            self._counts["led"] += 1
            try:
                while request.answer is None:
                    self._read()
            finally:
                self._reading.release()
                self._hand_over()

    def _follow(self, request: Pending) -> bool:
        """Wait for the answer or for the lead; return whether it is the lead."""
        request.wake = wake = SimpleQueue[None]()
        self._followers[request.request] = request
        self._counts["followed"] += 1
        try:
            while request.answer is None:
                if self._reading.acquire(blocking=False):
                    return True
                try:
                    wake.get(timeout=FOLLOW_S)
                except Empty:
                    continue
            return False
        finally:
            self._followers.pop(request.request, None)

    def _hand_over(self) -> None:
        """Wake one follower to take the lead."""
        if not self._followers:
            return
        for number in list(self._followers):
            follower = self._followers.get(number)
            if follower is not None and follower.answer is None and follower.wake is not None:
                follower.wake.put(None)
                return

    # -- reading (by the thread that leads)

    def _read(self) -> None:
        link = self._link
        if link is None:
            self._reconnect()
            return
        try:
            if not self._receive(link):
                self._mind_silence(link)
        except LinkLost as lost:
            self._lose(link, str(lost))

    def _receive(self, link: Link) -> bool:
        """Read once and give the answers to those who wait; return whether there were any bytes."""
        payloads = link.receive()
        if payloads is None:
            return False
        self._silent_looks = 0
        for payload in payloads:
            self._dispatch(payload)
            self._untold_bytes += len(payload)
        if self._untold_bytes > UNTOLD_BYTES_MAX:
            self._tell_much(link)
        return True

    def _tell_much(self, link: Link) -> None:
        """Say at once what has arrived, unless a thread is sending: then with what arrives next."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            if link is self._link and self._outstanding.session.has_seen:
                self._send([], None, leading=True)
            self._untold_bytes = 0
        finally:
            self._lock.release()

    def _dispatch(self, payload: Payload) -> None:
        try:
            frame = decode_server_frame(payload)
        except ProtocolError as error:
            raise LinkLost(f"a frame that is none: {error}") from error
        if not isinstance(frame, AnyReplies):
            _refuse_frame(frame)
        self._counts["frames_received"] += 1
        outstanding = self._outstanding
        pending = outstanding.pending
        for answer in frame.answers:
            request = pending.get(answer.request)
            if request is None:
                continue
            result = answer.result
            if type(result) is Refused:
                if result.reason == Reason.QUEUE_MANAGER_QUIESCING:
                    request.not_now = result  # until the link is lost, others may end their units
                    continue
                self._check_refusal(request, result)
            outstanding.answered(request, result)
        self._attempts = 0

    def _check_refusal(self, request: Pending, refused: Refused) -> None:
        """LinkLost if the command is to be sent again on another connection."""
        reason = refused.reason
        out_of_order = (
            reason == Reason.OUT_OF_ORDER
            and request.resent < RESENT_MAX
            and not self._session_problem()
        )
        if reason in NOT_NOW:
            request.not_now = refused  # it was not done: nothing about it is in doubt
        if reason in NOT_NOW or out_of_order:
            raise LinkLost(refused.detail or Reason(reason).name)
        if reason == Reason.MALFORMED_REQUEST and request.number:
            # It was refused before its number was counted; only a resumption gets past that.
            self._outstanding.answered(request, refused)
            raise LinkLost("a numbered command was malformed")

    def _session_problem(self) -> Refused | None:
        opening = self._outstanding.session.opening
        answer = opening.answer if opening is not None else None
        return answer if isinstance(answer, Refused) else None

    def _mind_silence(self, link: Link) -> None:
        """Ask for a sign of life when nothing has come for long; take none for a lost link."""
        self._silent_looks += 1
        if self._silent_looks >= SILENT_LOOKS_MAX:
            raise LinkLost(f"{link.peer}: nothing came for {self._timeouts.silence_s:.0f} s")
        if self._silent_looks == SILENT_LOOKS_MAX // 2 and self._lock.acquire(blocking=False):
            try:
                self._send([Pending(AskServer(), rq.FORGOTTEN)], None, leading=True)
            finally:
                self._lock.release()

    def _problem(self, request: Pending, unit: UnitOnWire | None) -> Error:
        """Make an error of an answer that is none of those expected."""
        answer = request.answer
        if isinstance(answer, Error):
            return answer
        if not isinstance(answer, Refused):
            return UnexpectedAnswer(
                f"{type(answer).__name__} came in answer to a {type(request.command).__name__}"
            )
        cause = answer
        if answer.reason == Reason.HANDLE_NOT_OPEN and request.handle is not None:
            cause = request.handle.refused or answer
        elif answer.reason == Reason.OUT_OF_ORDER:
            cause = self._session_problem() or answer
        elif (
            answer.reason == Reason.BACKED_OUT
            and unit is not None
            and unit.beginning is not None
            and isinstance(unit.beginning.answer, Refused)
        ):
            cause = self._session_problem() or unit.beginning.answer
        return refusal(cause.reason, cause.name, cause.detail)

    # -- losing the TCP connection, and connecting again

    def _first_link(self) -> Link:
        try:
            link = self._handshake.open_any(self._timeouts.connect_timeout_s)
        except Rejected as lost:
            raise lost.error from None
        link.look_up_every(self._look_up_s)
        return link

    def _lose(self, link: Link, why: str) -> None:
        """The TCP connection is gone: settle what went with it, keep what is sent again."""
        link.shutdown()  # first: a thread that is sending holds the lock
        with self._lock:
            if self._link is not link:
                return
            self._link = None
            self._dead.append(link)
            self._why_lost = why
            self._silent_looks = 0
            if not self._attempts:
                self._lost_s = time.monotonic()
            self._outstanding.lost(why)
        self.on_link(False)

    def _close_dead(self) -> None:
        while self._dead:
            link = self._dead.pop()
            self._counts["bytes_received"] += link.bytes_received
            link.close()

    def _reconnect(self) -> None:
        """Connect again and send again; settle everything when the time for that is over."""
        self._close_dead()
        self._lost_s = self._lost_s or time.monotonic()
        timeout_s = self._timeouts.reconnect_timeout_s
        while not self._closing.is_set():
            left_s = self._lost_s + timeout_s - time.monotonic()
            if self._attempts and left_s <= 0:
                with self._lock:
                    self._outstanding.give_up(self._why_lost)
                self._attempts, self._lost_s = 0, 0.0  # who asks again, waits as long again
                return
            self._closing.wait(min(back_off_s(self._attempts), max(left_s, 0.0)))
            self._attempts += 1
            try:
                self._take_up(max(min(left_s, self._timeouts.silence_s), 0.1))
                return
            except LinkLost as lost:
                self._why_lost = str(lost)
        with self._lock:
            self._outstanding.give_up("it was closed meanwhile", ConnectionClosed)

    def _take_up(self, left_s: float) -> None:
        """Make a new TCP connection and put it into the state of the lost one."""
        link = self._handshake.open_any(min(left_s, self._timeouts.connect_timeout_s))
        try:
            self._resume(link, left_s)
            self._reopen(link, left_s)
            link.look_up_every(self._look_up_s)
            with self._lock:
                if self._closing.is_set():
                    raise LinkLost("closed")
                self._link = link
                self._counts["reconnects"] += 1
                for operations in self._outstanding.resending(time.monotonic()):
                    self._counts["resent"] += len(operations)
                    self._encode(operations, sending=True)
                    self._transmit(link, leading=True)
            self.on_link(True)
        except BaseException:
            if self._link is not link:
                link.close()
            raise

    def _resume(self, link: Link, left_s: float) -> None:
        """Attach to the session; if it is not known any more, say so to whom it concerns."""
        with self._lock:
            requests = self._outstanding.resumption()
        exchange(link, requests, left_s)
        refused = refusal_among(requests)
        if refused is None:
            self._outstanding.resumed(requests)
        elif refused.reason in NOT_NOW:
            raise LinkLost(refused.detail)
        else:
            error = refusal(refused.reason, refused.name, refused.detail)
            with self._lock:
                self._outstanding.session_lost(error.text)

    def _reopen(self, link: Link, left_s: float) -> None:
        with self._lock:
            requests = self._outstanding.reopening()
        exchange(link, requests, left_s)
        for request in requests:
            refused = refusal_among([request])
            note_queue(request)
            if refused is not None and refused.reason in NOT_NOW:
                raise LinkLost(refused.detail)
            if refused is not None and request.handle is not None:
                request.handle.refused = refused
                request.handle.is_open = False  # its next verb opens it anew, and hears why not


def note_queue(request: Pending) -> None:
    """Note which queue an open has led to."""
    if isinstance(request.answer, Opened | Subscribed) and request.handle is not None:
        request.handle.leads_to = request.answer.queue


def _refuse_frame(frame: Welcome | Goodbye) -> NoReturn:
    """Raise LinkLost, with what the queue manager said."""
    if isinstance(frame, Goodbye):
        reason = frame.reason
        raise Rejected(refusal(reason.reason, reason.name, reason.detail))
    raise LinkLost("a second welcome was not expected")
