"""MQCB and MQCTL: functions of the program that are called for messages.

Theory. One thread calls all functions of a started connection, so that no two calls overlap and a
unit of work holds what one call got: with MQOP_START a thread of its own, with MQOP_START_WAIT the
one that waits. Each consumer has a thread beside it that watches: it waits for a message of the
queue, which it does not take, and says that there is one. Only the calling thread takes messages,
and each that it takes it calls a function with. All changes of the state (see consume_states.py)
are made under one condition, and a pending one takes effect between two calls: so who waits for
the end of a call waits for the state.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Mapping

from adapter import mq_constants as mq
from adapter.connection.channel.forking import new_lock
from adapter.mqi.connection_events import ConnectionEvents
from adapter.mqi.consume_states import (
    ENDED,
    OUTSIDE,
    OWNED,
    PENDING,
    STARTED,
    STOPPED,
    STOPPING,
    SUSPENDED,
    SUSPENDING,
    ConsumeState,
    Consumption,
)
from adapter.mqi.consumers import GONE, Callback, CallbackConsumer, ProgramFunctions
from adapter.mqi.getting import perform
from adapter.mqi.message_handles import MessageHandles
from adapter.mqi.reasons import MqiFailure
from adapter.mqi.reentry import Reentry
from adapter.mqi.session import MqiSession
from adapter.mqi.watches import PAUSE_S, Watches, begin_thread

LOST = (
    mq.MQRC_CONNECTION_BROKEN,
    mq.MQRC_HCONN_ERROR,
    mq.MQRC_Q_MGR_STOPPING,
    mq.MQRC_Q_MGR_NOT_AVAILABLE,
)
"""Reasons after which there is nothing more to wait for: the event handler is called."""
NOT_MADE_AGAIN = (mq.MQRC_RECONNECT_QMID_MISMATCH, mq.MQRC_RECONNECT_TIMED_OUT)
"""The event handlers hear of these from ConnectionEvents."""


class Dispatcher:
    """The consumers of one connection, and the thread that calls their functions."""

    def __init__(self, session: MqiSession, handles: MessageHandles, reentry: Reentry) -> None:
        self._reentry = reentry
        self._session = session
        self._handles = handles
        self._functions = ProgramFunctions(session, reentry)
        self._events = ConnectionEvents(self._tell_handlers)
        self._consumers: dict[int, CallbackConsumer] = {}
        self._changed = threading.Condition(new_lock())
        self._consumption = Consumption()
        self._is_served = False  # a thread calls, or waits to
        self._is_waited_for = False  # by MQOP_START_WAIT
        self._why: MqiFailure | None = None  # it ended by itself
        self._watches = Watches(session, handles, reentry, self._changed, self._consumption)

    @property
    def is_inside(self) -> bool:
        """Whether this thread is in a function of the connection."""
        return self._functions.are_here or self._events.is_this_thread

    def admits(self) -> bool:
        """Whether a function of the connection calls. MqiFailure(2500) if only those may."""
        if self.is_inside:
            return True
        if self._consumption.state in OWNED:
            raise MqiFailure(mq.MQRC_HCONN_ASYNC_ACTIVE)
        return False

    # -- MQCB

    def register(self, consumer: CallbackConsumer, proxy: Callback) -> None:
        """MQCB(MQOP_REGISTER): a second registration takes the place of the first.

        MqiFailure if it cannot be; the first is deregistered then, too.
        """
        known = self._take_away(consumer.hobj)
        consumer.check(self._session, self._handles)
        self._functions.proxy = proxy
        if consumer.opened is None and self._session.reconnects:
            self._events.follow(self._session.channel)
        with self._changed:
            self._consumers[consumer.hobj] = consumer
            if self._watches.is_started and (known is None or known.is_to_start):
                self._watches.add_start(consumer)
            if self._watches.are_kept:
                self._watches.add(consumer)
        if known is None:
            self._functions.registered.append(consumer)

    def tell_registered(self) -> None:
        """Make the calls that registrations asked for, unless the thread that serves makes them."""
        if self._consumption.state not in OWNED:
            self._functions.tell_registered()

    def deregister(self, hobj: int) -> None:
        """MQCB(MQOP_DEREGISTER). MqiFailure(2448) if nothing is registered.

        Its function is called for that at once, even by itself: a package forgets it when MQCB has
        returned.
        """
        is_started = self._watches.is_started
        consumer = self._take_away(hobj)
        if consumer is None:
            raise MqiFailure(mq.MQRC_CALLBACK_NOT_REGISTERED)
        self._functions.tell_gone(consumer, is_started=is_started)

    def _take_away(self, hobj: int) -> CallbackConsumer | None:
        with self._changed:
            consumer = self._consumers.pop(hobj, None)
            if consumer is not None:
                consumer.is_gone = True
                self._changed.notify_all()
        return consumer

    def suspend(self, hobj: int, is_suspended: bool) -> None:
        """MQCB(MQOP_SUSPEND, MQOP_RESUME) of one consumer."""
        with self._changed:
            consumer = self._consumers.get(hobj)
            if consumer is None:
                raise MqiFailure(mq.MQRC_CALLBACK_NOT_REGISTERED)
            consumer.is_suspended = is_suspended
            self._changed.notify_all()

    def forget(self, hobj: int) -> None:
        """Its object is closed: that deregisters it."""
        if hobj in self._consumers:
            self.deregister(hobj)

    # -- MQCTL

    def control(self, operation: int) -> None:
        """MQCTL. Raises MqiFailure; of MQOP_START_WAIT it says why that is over."""
        if operation not in OUTSIDE:
            raise MqiFailure(mq.MQRC_OPERATION_ERROR)
        if operation == mq.MQOP_START_WAIT and self._reentry.is_in_function:
            raise MqiFailure(mq.MQRC_ENVIRONMENT_ERROR)
        is_inside = self.is_inside
        if not is_inside:
            self.tell_registered()
        with self._changed:
            was = self._consumption.state
            if was is STOPPED:
                check_consumers(operation, self._consumers)
            state = self._consumption.ask(operation, is_inside=is_inside)
            is_mine = state in OWNED and not self._is_served
            self._is_served |= is_mine
            self._changed.notify_all()
            if not is_mine:
                if not is_inside:  # for as long as a function of the program takes
                    self._changed.wait_for(lambda: self._consumption.state not in PENDING)
                return
        if was is STOPPED:
            self._start(is_waited_for=operation == mq.MQOP_START_WAIT)
        elif state is STOPPING:
            self._finish()
        elif is_inside:
            self._serve_beside()
        else:  # the suspension had ended an MQOP_START_WAIT: it goes on here
            self._serve_here()

    def _start(self, *, is_waited_for: bool) -> None:
        with self._changed:
            self._is_waited_for, self._why = is_waited_for, None
        self._functions.tell_all(list(self._consumers.values()), mq.MQCBCT_START_CALL)
        try:
            with self._changed:
                if self._consumption.state is STOPPING:
                    raise MqiFailure(mq.MQRC_CONNECTION_STOPPED)
                self._watches.begin(list(self._consumers.values()))
            if not is_waited_for:
                self._serve_beside()
        except MqiFailure:
            self._end(None)
            self._finish()
            raise
        if is_waited_for:
            self._serve_here()

    def _serve_beside(self) -> None:
        """Call functions in a thread of its own."""
        self._is_waited_for = False
        begin_thread(self._serve_alone, f"mqi-{self._session.number}")

    def _serve_alone(self) -> None:
        try:
            self._serve()
        except BaseException:  # noqa: BLE001 -- of a function, or a bug: nobody else is told
            traceback.print_exc()
            self._end(MqiFailure(mq.MQRC_UNEXPECTED_ERROR))
        self._finish()

    def _serve_here(self) -> None:
        """Call functions in this thread until that is over. MqiFailure says why it is."""
        self._is_waited_for = True
        try:
            state = self._serve()
        except BaseException:  # an interruption, or SystemExit of a function
            self._end(None)
            self._finish()
            raise
        if state is SUSPENDED:
            raise MqiFailure(mq.MQRC_CONNECTION_SUSPENDED, warning=True)
        self._finish()
        if self._why is not None:
            raise self._why

    def close(self) -> None:
        """MQDISC: stop, deregister all, and tell nothing any more. Doing it again does no harm.

        The connection is still there for the functions that are called, and its unit of work. The
        thread is in none of these.
        """
        if self._consumption.state is not ENDED:
            self.control(mq.MQOP_STOP)
            for hobj in list(self._consumers):
                consumer = self._take_away(hobj)
                if consumer is not None:
                    self._functions.tell_gone(consumer)
            self._consumption.to(ENDED)
        self._events.end()

    # -- the thread that calls

    def _serve(self) -> ConsumeState:
        """Call functions until it is stopped; of MQOP_START_WAIT until it is suspended, too."""
        with self._reentry.inside():
            while isinstance(found := self._next(), CallbackConsumer):
                self._deliver(found)
            return found

    def _next(self) -> CallbackConsumer | ConsumeState:
        """Wait for a consumer that is to be called, or for the state in which none is any more."""
        consumption, ready = self._consumption, self._watches.ready
        with self._changed:
            while True:
                if consumption.state is SUSPENDING:
                    consumption.to(SUSPENDED)
                    self._changed.notify_all()
                if consumption.state is SUSPENDED and self._is_waited_for:
                    self._is_served = False
                    return SUSPENDED
                if (
                    consumption.state is STARTED
                    and self._is_waited_for
                    and not are_active(self._consumers)
                ):
                    self._end(MqiFailure(mq.MQRC_NO_CALLBACKS_ACTIVE))
                if consumption.state is STOPPING:
                    consumption.to(STOPPING)  # it cannot be taken back any more
                    return STOPPING
                if consumption.state is STARTED and ready:
                    return ready.popleft()
                self._changed.wait()

    def _deliver(self, consumer: CallbackConsumer) -> None:
        """Take a message that is there, and call the function with it; or report a failure.

        One that is to start is called for that alone: if there is a message, its watch says so.
        """
        self._functions.tell_registered()
        if consumer.is_to_start:
            self._functions.tell_start(consumer)
            return
        failure, consumer.failure = consumer.failure, None
        if not consumer.is_gone and not consumer.is_suspended:
            try:
                if failure is not None:
                    raise failure
                parts = self._session, self._handles, self._functions
                if call_with_message(*parts, consumer):
                    with self._changed:
                        self._watches.ready.append(consumer)  # behind the others
                    return
            except MqiFailure as problem:
                self._mind(consumer, problem)
        with self._changed:
            consumer.is_ready = False
            self._changed.notify_all()

    def _mind(self, consumer: CallbackConsumer, failure: MqiFailure) -> None:
        """Tell the program what went wrong, and do what follows from it."""
        reason = failure.reason
        if reason in LOST:
            with self._functions.calling():
                self._tell_handlers(mq.MQCC_FAILED, reason)
        if reason in LOST or reason in NOT_MADE_AGAIN:
            self._end(failure)
            return
        if reason in GONE and consumer.hobj not in self._session.objects:
            self._take_away(consumer.hobj)
            return
        state = consumer.note_failure(reason, PAUSE_S)
        if state is not None:
            with self._functions.calling():
                self._functions.event(consumer, reason, state)

    def _end(self, why: MqiFailure | None) -> None:
        """Stop by itself. why: what MQOP_START_WAIT answers."""
        with self._changed:
            self._why = why
            if self._consumption.state is not STOPPED:
                self._consumption.to(STOPPING)
            self._changed.notify_all()

    def _finish(self) -> None:
        """It is stopping, and no function runs: end the watches, and tell of the stop."""
        self._watches.end()
        self._functions.tell_stop(list(self._consumers.values()))
        with self._changed:
            self._is_served = False
            self._consumption.to(STOPPED)
            self._changed.notify_all()

    def _tell_handlers(self, code: int, reason: int) -> None:
        self._functions.tell_handlers(list(self._consumers.values()), code, reason)


def call_with_message(
    session: MqiSession,
    handles: MessageHandles,
    functions: ProgramFunctions,
    consumer: CallbackConsumer,
) -> bool:
    """Take a message and call a consumer with it; returns whether there was one.

    One that is too long stays where it is: the consumer is suspended, because until the program
    does something about it each call would be the same one. The function may resume it.
    Raises MqiFailure if it cannot be taken.
    """
    plan = consumer.plan(session, handles)
    try:
        got = perform(session, plan)
    except MqiFailure as failure:
        if failure.reason != mq.MQRC_NO_MSG_AVAILABLE:
            raise
        if consumer.gmo["Options"] & mq.MQGMO_LOGICAL_ORDER:
            consumer.pause_s = PAUSE_S  # the watch sees messages that are not the next ones
        return False
    state = consumer.note_message(got)
    with functions.calling():
        functions.message(consumer, got, state)
    return True


def check_consumers(operation: int, consumers: Mapping[int, CallbackConsumer]) -> None:
    """MqiFailure if a start finds nothing to call."""
    if operation == mq.MQOP_START and not consumers:
        raise MqiFailure(mq.MQRC_CALLBACK_NOT_REGISTERED)
    if operation == mq.MQOP_START_WAIT and not are_active(consumers):
        raise MqiFailure(mq.MQRC_NO_CALLBACKS_ACTIVE)


def are_active(consumers: Mapping[int, CallbackConsumer]) -> bool:
    """Whether there is one that may be called with messages."""
    return any(one.is_active for one in list(consumers.values()))
