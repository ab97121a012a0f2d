"""How messages come from many queues to the one thread that calls drain_events().

Theory. A get waits on one queue, and drain_events() waits on all that a connection consumes from.
So each consumed queue has an intake. drain_events() first asks the intakes in turn, without
waiting. If no queue has a message, it arms them: each waits in a thread of its own for the next
message of its queue, and the first one ends the wait of drain_events(). No queue is polled.

A message that an intake has got cannot be got by other programs, and the callback that
drain_events() calls may take long: Celery's solo pool executes the task in it. Therefore, before a
message of a permanent queue is delivered, the intakes of all other permanent queues are disarmed.
What arrives in just this moment is kept, and delivered by the next call, as far as its channel has
room for it; what it has no room for goes back to its queue before the callback is called. Temporary
queues have one reader, so that their intakes stay armed.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from kombu.log import get_logger
from msgspec import Struct

import adapter
from adapter.errors import BackedOut, ConnectionClosed, GetInhibited
from adapter.frameworks.units import SpareUnit, give_back
from adapter.kombu.temporary import TemporaryQueue

Got = tuple[adapter.Message, adapter.Unit | None]
"""A message, and the unit that holds it until it is acknowledged; None: it needs none."""
JOIN_S = 2.0
"""A get whose token is cancelled returns at once, unless the connection is just being made again;
what it brings then goes back."""
INHIBITED_S = 1.0
"""How often a queue is tried again whose gets are inhibited: an operator allows them again."""

logger = get_logger(__name__)


class IntakeArrival(Struct):
    """What an intake has brought: a message, and the unit that holds it, if any; or an error."""

    intake: Intake
    message: adapter.Message | None
    unit: adapter.Unit | None
    error: Exception | None = None


class ConsumerQoS(Protocol):
    """How many messages the consumers of a channel may have."""

    def can_consume(self) -> bool:
        """Whether the channel may have a further message."""

    def can_consume_max_estimate(self) -> int:
        """Return how many further messages the channel may have."""


class Source(Protocol):
    """Where an intake gets its messages."""

    is_shared: bool
    """Whether other programs get from it too."""
    needs_room: bool
    """Whether its messages are held, and count for what their channel may have."""

    def get(self, timeout: float | None, cancel: adapter.CancelToken | None) -> Got | None:
        """Return the next message and the unit that holds it; None if none comes in time."""

    def close(self) -> None:
        """Give back what it has open."""


class QueueSource:
    """Gets from a permanent queue: in a unit for each message, or for good if that needs no ack."""

    is_shared = True

    def __init__(self, qm: adapter.Connection, queue: str, *, no_ack: bool) -> None:
        """queue: its name at the queue manager. Raises QueueNotFound."""
        self._queue = qm.queue(queue, open_for="input")
        self._spare = SpareUnit(qm)
        self._no_ack = no_ack
        self.needs_room = not no_ack
        self._is_inhibited = False

    def get(self, timeout: float | None, cancel: adapter.CancelToken | None) -> Got | None:
        """See Source; while gets are inhibited there is no message.

        Raises BackedOut if the connection was lost meanwhile.
        """
        while True:
            try:
                got = self._get(timeout, cancel)
            except GetInhibited as inhibited:
                if not self._is_inhibited:
                    logger.warning("waiting for queue %s: %s", self._queue.name, inhibited)
                self._is_inhibited = True
                if timeout is not None or cancel is None:
                    return None
                ended = threading.Event()
                with cancel.ending(ended.set):
                    if ended.wait(INHIBITED_S):
                        return None
            else:
                self._is_inhibited = False
                return got

    def _get(self, timeout: float | None, cancel: adapter.CancelToken | None) -> Got | None:
        if self._no_ack:
            got = self._queue.get(timeout=timeout, cancel=cancel, unit=adapter.NO_UNIT)
            return None if got is None else (got, None)
        with self._spare.lent() as unit:
            got = self._queue.get(timeout=timeout, cancel=cancel, unit=unit)
            return None if got is None else (got, self._spare.take())

    def close(self) -> None:
        """End the empty unit, and close the queue."""
        self._spare.close()
        self._queue.close()


class TemporaryQueueSource:
    """Gets from a temporary queue, and makes the queue again after a lost connection."""

    is_shared = False

    def __init__(self, qm: adapter.Connection, queue: TemporaryQueue, *, no_ack: bool) -> None:
        self._queue = queue
        self._spare = SpareUnit(qm)
        self._no_ack = no_ack
        self.needs_room = not no_ack

    def get(self, timeout: float | None, cancel: adapter.CancelToken | None) -> Got | None:
        """See Source.

        The messages are not persistent. Without acknowledgements they leave the queue outside the
        unit, which stays empty, and serves only to report that the connection was lost. Raises
        ConsumerCancelled if the queue is deleted meanwhile.
        """
        while True:
            subscription = self._queue.subscription
            name = subscription.name
            try:
                with self._queue.waiting(cancel):
                    if not self._queue.is_whole:
                        self._queue.restore()
                        continue
                    with self._spare.lent() as unit:
                        got = subscription.get(
                            timeout=timeout, cancel=cancel, unit=unit, if_persistent=self._no_ack
                        )
                        if got is not None:
                            return got, None if self._no_ack else self._spare.take()
                self._queue.check_there()
                return None
            except BackedOut:
                if cancel is not None and cancel.is_cancelled:
                    return None
                if subscription.name == name:  # else it is subscribed again already
                    self._queue.make_again(subscription)

    def close(self) -> None:
        """End the empty unit; the queue is closed by its link."""
        self._spare.close()


class Intake:
    """One consumed queue of a channel."""

    def __init__(
        self,
        inbox: Inbox,
        source: Source,
        qos: ConsumerQoS,
        accept: Callable[[adapter.Message, adapter.Unit | None], Callable[[], Any]],
    ) -> None:
        """qos: of its channel. accept: has the channel hold a message; returns what calls back."""
        self.source = source
        self.qos = qos
        self.accept = accept
        self.inbox = inbox
        self._token = adapter.CancelToken()
        self._is_armed = False
        """Whether the next message is wanted."""
        self._is_waiting = False
        """Whether the thread is in a get."""
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def wants_arming(self) -> bool:
        """Whether a message is wanted, and nothing waits for it."""
        return not self._is_armed and self.has_room()

    def has_room(self) -> bool:
        """Whether its channel may have a message of it."""
        return not self.source.needs_room or self.qos.can_consume()

    def poll(self) -> IntakeArrival | None:
        """Get a message without waiting, unless the thread waits for one anyway."""
        if self._is_waiting:
            return None
        got = self.source.get(0.0, None)
        return None if got is None else IntakeArrival(self, *got)

    def arm(self) -> None:
        """Let a thread wait for the next message."""
        with self.inbox.changed:
            if self._is_armed or self._is_closed:
                return
            self._is_armed = self._is_waiting = True
            self._token = adapter.CancelToken()
            self.inbox.changed.notify_all()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="mqk kombu intake", daemon=True)
            self._thread.start()

    def disarm(self) -> None:
        """End that wait; does not wait for the thread."""
        with self.inbox.changed:
            self._is_armed = False
        self._token.cancel()

    def close(self) -> None:
        """End it. A message that it has got is given back by the inbox."""
        with self.inbox.changed:
            self._is_closed = True
            self.inbox.changed.notify_all()
        self._token.cancel()
        if self._thread is not None:
            self._thread.join(JOIN_S)
        self.source.close()

    def _run(self) -> None:
        changed = self.inbox.changed
        while True:
            with changed:
                self._is_waiting = self._is_armed
                changed.wait_for(lambda: self._is_armed or self._is_closed)
                if self._is_closed:
                    return
                self._is_waiting = True
                token = self._token
            arrival = self._await(token)
            if arrival is not None:
                self._bring(arrival)

    def _bring(self, arrival: IntakeArrival) -> None:
        """Add to the inbox what has come; give it back if the intake was closed meanwhile."""
        with self.inbox.changed:
            is_added = not self._is_closed
            if is_added:
                self._is_armed = False
                self.inbox.add(arrival)
        if is_added:
            self.inbox.give_back_surplus()
        else:
            give_back(arrival.unit, counted=False)

    def _await(self, token: adapter.CancelToken) -> IntakeArrival | None:
        try:
            got = self.source.get(None, token)
        except Exception as error:  # noqa: BLE001 -- drain_events() raises it, in its thread
            return IntakeArrival(self, None, None, error)
        return None if got is None else IntakeArrival(self, *got)


class Inbox:
    """What the intakes of one transport have brought."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self._intakes: list[Intake] = []
        self._arrived: deque[IntakeArrival] = deque()
        self._turn = 0
        self._is_closed = False
        self._last_had_one_reader = False
        """Whether what was delivered last came from a temporary queue."""
        self._bell: tuple[socket.socket, socket.socket] | None = None

    def open(self, intake: Intake) -> None:
        """Have drain() look at a further intake."""
        self._intakes.append(intake)

    def close(self, intake: Intake) -> None:
        """End an intake; what it has brought and was not delivered goes back to its queue."""
        self._intakes.remove(intake)
        intake.close()
        with self.changed:
            left = [one for one in self._arrived if one.intake is intake]
            self._arrived = deque(one for one in self._arrived if one.intake is not intake)
        for arrival in left:
            give_back(arrival.unit, counted=False)

    def close_all(self) -> None:
        """Have drain() raise ConnectionClosed from now on, also in threads that wait in it."""
        with self.changed:
            self._is_closed = True
            self.changed.notify_all()

    def add(self, arrival: IntakeArrival) -> None:
        """Note what an intake has brought; the caller holds `changed`."""
        self._arrived.append(arrival)
        self.changed.notify_all()
        self.ring()

    def give_back_surplus(self) -> None:
        """Give back what channels have no room for: other programs may have it."""
        kept: deque[IntakeArrival] = deque()
        surplus: list[IntakeArrival] = []
        with self.changed:
            room = {
                one.intake.qos: one.intake.qos.can_consume_max_estimate() for one in self._arrived
            }
            for one in self._arrived:
                is_held = one.unit is not None  # else it is an error, or gone from its queue
                room[one.intake.qos] -= is_held
                (surplus if is_held and room[one.intake.qos] < 0 else kept).append(one)
            self._arrived = kept
        for one in surplus:
            give_back(one.unit, counted=False)

    def bell(self) -> int:
        """Return a descriptor that becomes readable when an intake brings something."""
        if self._bell is None:
            self._bell = socket.socketpair()
            for end in self._bell:
                end.setblocking(False)
        return self._bell[0].fileno()

    def ring(self) -> None:
        """Make that descriptor readable, if there is one."""
        bell = self._bell
        if bell is not None:
            with suppress(OSError):  # it is, or another thread closes it just now
                bell[1].send(b"\0")

    def silence(self) -> None:
        """Make that descriptor unreadable until the next arrival."""
        if self._bell is not None:
            with suppress(BlockingIOError):  # select() would know no descriptor above 1,023
                while self._bell[0].recv(4096):
                    pass

    def close_bell(self) -> None:
        """Close that descriptor."""
        if self._bell is not None:
            for end in self._bell:
                end.close()
            self._bell = None

    def drain(self, timeout: float | None) -> bool:
        """Deliver one message; False if none comes within so many seconds. None: no limit.

        Raises what an intake has met, a lost connection most often; ConnectionClosed once it is
        closed.
        """
        until_s = None if timeout is None else time.monotonic() + timeout
        while True:
            self._check_open()
            self.give_back_surplus()
            for intake in self._intakes:  # a backlog elsewhere does not hold these up
                if not intake.source.is_shared and intake.wants_arming():
                    intake.arm()
            if self._last_had_one_reader:
                arrival = self._poll() or self._take()
            else:
                arrival = self._take() or self._poll()
            if arrival is not None:
                self._deliver(arrival)
                return True
            self.arm_all()
            left_s = None if until_s is None else until_s - time.monotonic()
            with self.changed:
                if self._can_take():
                    continue
                if (left_s is not None and left_s <= 0) or not self.changed.wait_for(
                    self._has_work, left_s
                ):
                    return False

    def arm_all(self) -> None:
        """Let all intakes wait whose channel may have a further message."""
        for intake in self._intakes:
            if intake.wants_arming():
                intake.arm()

    def note_room(self) -> None:
        """Ask the queues again: a channel may have a further message. For any thread."""
        with self.changed:
            self.changed.notify_all()
        self.ring()

    def _check_open(self) -> None:
        if self._is_closed:
            raise ConnectionClosed("the connection was closed: make another")

    def _has_work(self) -> bool:
        return (
            self._is_closed
            or self._can_take()
            or any(intake.wants_arming() for intake in self._intakes)
        )

    def _can_take(self) -> bool:
        return any(one.error or one.intake.has_room() for one in self._arrived)

    def _take(self) -> IntakeArrival | None:
        with self.changed:
            for arrival in self._arrived:
                if arrival.error or arrival.intake.has_room():
                    self._arrived.remove(arrival)
                    return arrival
        return None

    def _poll(self) -> IntakeArrival | None:
        """Ask the intakes, beginning behind the one that had the last message."""
        intakes = self._intakes[self._turn :] + self._intakes[: self._turn]
        for number, intake in enumerate(intakes, self._turn + 1):
            if intake.source.is_shared and intake.has_room():
                arrival = intake.poll()
                if arrival is not None:
                    self._turn = number % len(intakes)
                    return arrival
        return None

    def _deliver(self, arrival: IntakeArrival) -> None:
        if arrival.error is not None:
            raise arrival.error
        self._last_had_one_reader = not arrival.intake.source.is_shared
        if arrival.intake.source.is_shared:
            for intake in self._intakes:
                if intake.source.is_shared:
                    intake.disarm()
        assert arrival.message is not None
        call_back = arrival.intake.accept(arrival.message, arrival.unit)
        self.give_back_surplus()
        call_back()
