"""MQCB and MQCTL: functions of the program that are called for messages.

A started connection has a thread for each consumer. Each waits for a message of its queue without
taking it; the thread that finds one takes it and calls its function while the others stand still,
so that calls of one connection never overlap, and a unit of work holds what one call got.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from adapter import mq_constants as mq
from adapter.channel.requests import FROM_START, Pending
from adapter.core.contract import commands as c
from adapter.core.contract.results import Messages
from adapter.mqi import options as permitted
from adapter.mqi import structs
from adapter.mqi.connection_events import ConnectionEvents
from adapter.mqi.getting import Got, ask, get_unpacked, until_the_end
from adapter.mqi.message_handles import MessageHandles
from adapter.mqi.reasons import MqiFailure
from adapter.mqi.reentry import Reentry
from adapter.mqi.session import MqiSession, Object

Callback = Callable[[int, bytes, bytes, bytes | None, bytes], object]
"""Called with hconn, MQMD, MQGMO, body or None, and MQCBC."""

WAIT_SLICE_MS = 250
"""A consumer looks up so often whether it is to stop."""
PAUSE_S = 0.25
"""After a get that failed for a reason that may pass, such as MQRC_GET_INHIBITED."""
STOP_S = 60.0
"""MQCTL waits this long for calls in progress to return."""
ROOM_MAX = 104_857_600
"""As long as a message of MQ can be: MQCBD_FULL_MSG_LENGTH."""
OPTIONS = (
    mq.MQCBDO_START_CALL
    | mq.MQCBDO_STOP_CALL
    | mq.MQCBDO_REGISTER_CALL
    | mq.MQCBDO_DEREGISTER_CALL
    | mq.MQCBDO_FAIL_IF_QUIESCING
    | mq.MQCBDO_EVENT_CALL
    | mq.MQCBDO_MC_EVENT_CALL
)
LOST = (
    mq.MQRC_CONNECTION_BROKEN,
    mq.MQRC_HCONN_ERROR,
    mq.MQRC_Q_MGR_STOPPING,
    mq.MQRC_Q_MGR_NOT_AVAILABLE,
)
NOT_MADE_AGAIN = (mq.MQRC_RECONNECT_QMID_MISMATCH, mq.MQRC_RECONNECT_TIMED_OUT)
"""The event handlers hear of these from ConnectionEvents."""
"""Reasons after which there is nothing more to wait for: the event handler is called."""
GONE = (mq.MQRC_HOBJ_ERROR, mq.MQRC_OBJECT_DAMAGED, mq.MQRC_Q_DELETED)
"""Reasons after which this consumer has nothing more to wait for."""


class CallbackConsumer(Struct, eq=False):
    """A registered function: what it is for, and the structures it was registered with."""

    hobj: int
    opened: Object | None
    cbd: dict[str, Any]
    md: dict[str, Any]
    gmo: dict[str, Any]
    is_suspended: bool = False
    told: int = 0
    """The reason code of a lasting failure that was reported; it is not reported again."""

    @property
    def room(self) -> int:
        """Bytes of a body that are given."""
        longest: int = self.cbd["MaxMsgLength"]
        return ROOM_MAX if longest < 0 else longest

    def check(self) -> None:
        """MqiFailure if what it was registered with is not to be had."""
        described = structs.MQCBD.confirm(self.cbd)
        if described["CallbackType"] not in (mq.MQCBT_MESSAGE_CONSUMER, mq.MQCBT_EVENT_HANDLER):
            raise MqiFailure(mq.MQRC_CALLBACK_TYPE_ERROR)
        if described["Options"] & ~OPTIONS:
            raise MqiFailure(mq.MQRC_CBD_OPTIONS_ERROR)
        if described["MaxMsgLength"] < mq.MQCBD_FULL_MSG_LENGTH:
            raise MqiFailure(mq.MQRC_MAX_MSG_LENGTH_ERROR)
        if self.opened is not None:
            permitted.GET.check(self.gmo["Options"])
            if self.opened.kind != "queue":
                raise MqiFailure(mq.MQRC_HOBJ_ERROR)


class Dispatcher:
    """The consumers of one connection, and the threads that serve them."""

    def __init__(self, session: MqiSession, handles: MessageHandles, reentry: Reentry) -> None:
        self._reentry = reentry
        self._session = session
        self._handles = handles
        self._consumers: dict[int, CallbackConsumer] = {}
        self._callback: Callback | None = None
        self._calling = threading.RLock()  # held while a message is got and a function called
        self._inside = threading.RLock()  # held while a function of the program runs
        self._threads: dict[int, threading.Thread] = {}
        self._started = threading.Event()
        self._running = threading.Event()  # it is started, and not suspended
        self._stopping = threading.Event()
        self._stopped = threading.Event()
        self._events = ConnectionEvents(self._tell_handlers)

    def admits(self) -> bool:
        """Whether this thread is one of its own. MqiFailure(2500) if only those may call now."""
        if threading.get_ident() in self._threads or self._events.is_this_thread:
            return True
        if self._running.is_set():
            raise MqiFailure(mq.MQRC_HCONN_ASYNC_ACTIVE)
        return False

    # -- MQCB

    def register(self, consumer: CallbackConsumer, callback: Callback) -> None:
        """MQCB(MQOP_REGISTER): a second registration takes the place of the first."""
        self._callback = callback
        known = self._consumers.get(consumer.hobj)
        self._consumers[consumer.hobj] = consumer
        if consumer.opened is None and self._session.reconnects:
            self._events.follow(self._session.channel)
        if consumer.cbd["Options"] & mq.MQCBDO_REGISTER_CALL and known is None:
            self._call_plainly(consumer, mq.MQCBCT_REGISTER_CALL)
        if self._started.is_set() and known is None and consumer.opened is not None:
            self._serve(consumer)

    def deregister(self, hobj: int) -> None:
        """MQCB(MQOP_DEREGISTER). MqiFailure(2448) if nothing is registered."""
        consumer = self._consumer(hobj)
        del self._consumers[hobj]
        if consumer.cbd["Options"] & mq.MQCBDO_DEREGISTER_CALL:
            self._call_plainly(consumer, mq.MQCBCT_DEREGISTER_CALL)

    def suspend(self, hobj: int, is_suspended: bool) -> None:
        """MQCB(MQOP_SUSPEND, MQOP_RESUME) of one consumer."""
        self._consumer(hobj).is_suspended = is_suspended

    def _consumer(self, hobj: int) -> CallbackConsumer:
        consumer = self._consumers.get(hobj)
        if consumer is None:
            raise MqiFailure(mq.MQRC_CALLBACK_NOT_REGISTERED)
        return consumer

    def forget(self, hobj: int) -> None:
        """Its object is closed: that deregisters it."""
        if hobj in self._consumers:
            self.deregister(hobj)

    # -- MQCTL

    def control(self, operation: int) -> None:
        """MQCTL."""
        if operation in (mq.MQOP_START, mq.MQOP_START_WAIT):
            self._start()
            if operation == mq.MQOP_START_WAIT:
                self._stopped.wait()
        elif operation == mq.MQOP_STOP:
            self.stop()
        elif operation == mq.MQOP_SUSPEND:
            self._need_started()
            self._running.clear()
            with self._calling:
                pass  # a call in progress has returned, or it is this one that suspends
        elif operation == mq.MQOP_RESUME:
            self._need_started()
            self._running.set()
        else:
            raise MqiFailure(mq.MQRC_OPERATION_ERROR)

    def _need_started(self) -> None:
        if not self._started.is_set():
            raise MqiFailure(mq.MQRC_OPERATION_NOT_ALLOWED)

    def _start(self) -> None:
        if self._started.is_set():
            raise MqiFailure(mq.MQRC_OPERATION_NOT_ALLOWED)
        if not self._consumers:
            raise MqiFailure(mq.MQRC_CALLBACK_NOT_REGISTERED)
        self._join()
        self._stopping.clear()
        self._stopped.clear()
        self._tell_all(mq.MQCBDO_START_CALL, mq.MQCBCT_START_CALL)
        self._started.set()
        self._running.set()
        with self._calling:  # no function is called before this returns
            for consumer in list(self._consumers.values()):
                if consumer.opened is not None:
                    self._serve(consumer)

    def _serve(self, consumer: CallbackConsumer) -> None:
        thread = threading.Thread(
            target=self._run, args=(consumer,), name=f"mqi-{consumer.hobj}", daemon=True
        )
        thread.start()
        if thread.ident is not None:
            self._threads[thread.ident] = thread

    def stop(self) -> None:
        """End the threads; a function that calls this is not called again."""
        if not self._started.is_set():
            return
        self._stopping.set()
        self._started.clear()
        if threading.get_ident() not in self._threads:
            self._join()
        self._running.clear()
        self._tell_all(mq.MQCBDO_STOP_CALL, mq.MQCBCT_STOP_CALL)
        self._stopped.set()

    def close(self) -> None:
        """Stop, and tell nothing of the connection any more: it ends."""
        self.stop()
        self._events.end()

    def _join(self) -> None:
        """Wait for the threads: each ends when the call that it is in returns."""
        for ident, thread in list(self._threads.items()):
            thread.join(STOP_S)
            del self._threads[ident]

    def _tell_all(self, option: int, kind: int) -> None:
        for consumer in list(self._consumers.values()):
            if consumer.cbd["Options"] & option:
                self._call_plainly(consumer, kind)

    # -- a consumer's thread

    def _run(self, consumer: CallbackConsumer) -> None:
        waited_ms = 0
        while not self._stopping.is_set() and consumer.hobj in self._consumers:
            if consumer.is_suspended or not self._running.is_set():
                self._stopping.wait(PAUSE_S)
                continue
            try:
                if self._deliver(consumer):
                    waited_ms = consumer.told = 0
                    continue
                waited_ms = self._wait(consumer, waited_ms)
                consumer.told = 0
            except MqiFailure as failure:
                if not self._mind(consumer, failure):
                    return

    def _deliver(self, consumer: CallbackConsumer) -> bool:
        """Take a message that is there, and call the function with it; whether there was one."""
        assert consumer.opened is not None
        with self._calling:
            if self._stopping.is_set() or not self._running.is_set():
                return False
            md, gmo = dict(consumer.md), dict(consumer.gmo)
            gmo["Options"] &= ~mq.MQGMO_WAIT
            try:
                with self._reentry.inside():
                    got = get_unpacked(
                        self._session, self._handles, consumer.opened, md, gmo, consumer.room
                    )
            except MqiFailure as failure:
                if failure.reason == mq.MQRC_NO_MSG_AVAILABLE:
                    return False
                raise
            self._call(consumer, got)
            return True

    def _wait(self, consumer: CallbackConsumer, waited_ms: int) -> int:
        """Wait for a message to come, a slice of time; return how long it has been waited."""
        assert consumer.opened is not None
        gmo = consumer.gmo
        limit_ms = gmo["WaitInterval"] if gmo["Options"] & mq.MQGMO_WAIT else mq.MQWI_UNLIMITED
        slice_ms = WAIT_SLICE_MS
        if limit_ms >= 0:
            slice_ms = max(0, min(slice_ms, limit_ms - waited_ms))
        if slice_ms:
            with self._reentry.inside():
                self._look(consumer.opened, slice_ms, gmo["Options"] | mq.MQGMO_WAIT)
        waited_ms += slice_ms
        if 0 <= limit_ms <= waited_ms:
            self._call_event(consumer, mq.MQRC_NO_MSG_AVAILABLE)
            return 0
        return waited_ms

    def _look(self, opened: Object, wait_ms: int, asked: int) -> None:
        """Wait for a message: whatever is longer than nothing at all is shown, and stays."""
        assert opened.handle is not None
        if asked & permitted.BROWSING:
            number = opened.handle.number
            look = c.Browse(number, options=c.BOUNDED, length_max=-1, wait_ms=wait_ms)
            look.options |= until_the_end(asked)
            look.options |= c.UNMARKED if asked & mq.MQGMO_UNMARKED_BROWSE_MSG else 0
            self._session.ask_held(Pending(look, FROM_START, handle=opened.handle), Messages)
        else:
            options = c.BOUNDED | until_the_end(asked)
            command = c.Get(0, wait_ms=wait_ms, options=options, length_max=-1)
            ask(self._session, opened, command, None)

    def _mind(self, consumer: CallbackConsumer, failure: MqiFailure) -> bool:
        """Tell the program what went wrong; whether to go on."""
        if failure.reason in LOST:
            self._tell_handlers(mq.MQCC_FAILED, failure.reason)
            return False
        if failure.reason in NOT_MADE_AGAIN:
            return False
        if failure.reason in GONE and consumer.hobj not in self._session.objects:
            return False
        if failure.reason != consumer.told:
            consumer.told = failure.reason
            self._call_event(consumer, failure.reason)
        self._stopping.wait(PAUSE_S)
        return failure.reason not in GONE

    def _tell_handlers(self, code: int, reason: int) -> None:
        """Call the event handlers with what concerns the whole connection."""
        for handler in list(self._consumers.values()):
            if handler.opened is None:  # not under _calling: a get may wait for the new connection
                kind = mq.MQCBCT_EVENT_CALL
                self._tell(handler, _context(handler, kind, code, reason))

    # -- calling the program

    def _call(self, consumer: CallbackConsumer, got: Got) -> None:
        removed = not got.gmo["Options"] & permitted.BROWSING
        if got.reason == mq.MQRC_TRUNCATED_MSG_FAILED:
            removed = False
        kind = mq.MQCBCT_MSG_REMOVED if removed else mq.MQCBCT_MSG_NOT_REMOVED
        cbc = _context(consumer, kind, got.code, got.reason)
        cbc["DataLength"], cbc["BufferLength"] = got.length, len(got.body)
        md, gmo = structs.MQMD.write(got.md), structs.MQGMO.write(got.gmo)
        self._invoke(md, gmo, got.body, cbc)

    def _call_event(self, consumer: CallbackConsumer, reason: int) -> None:
        with self._calling:
            kind = mq.MQCBCT_EVENT_CALL
            if reason == mq.MQRC_NO_MSG_AVAILABLE:
                kind = mq.MQCBCT_MSG_NOT_REMOVED
            self._tell(consumer, _context(consumer, kind, mq.MQCC_FAILED, reason))

    def _call_plainly(self, consumer: CallbackConsumer, kind: int) -> None:
        with self._calling:
            self._tell(consumer, _context(consumer, kind, mq.MQCC_OK, mq.MQRC_NONE))

    def _tell(self, consumer: CallbackConsumer, cbc: dict[str, Any]) -> None:
        md, gmo = structs.MQMD.write(consumer.md), structs.MQGMO.write(consumer.gmo)
        self._invoke(md, gmo, None, cbc)

    def _invoke(self, md: bytes, gmo: bytes, body: bytes | None, cbc: dict[str, Any]) -> None:
        if self._callback is None:
            return
        try:
            with self._inside:
                self._callback(self._session.number, md, gmo, body, structs.MQCBC.write(cbc))
        except Exception:  # noqa: BLE001 -- no caller could handle it
            traceback.print_exc()


def _context(consumer: CallbackConsumer, kind: int, code: int, reason: int) -> dict[str, Any]:
    context: dict[str, Any] = dict.fromkeys(structs.MQCBC.fields, 0)
    context |= {
        "StrucId": b"CBC ",
        "Version": 2,
        "CallType": kind,
        "Hobj": consumer.hobj,
        "CompCode": code,
        "Reason": reason,
        "State": mq.MQCS_NONE,
    }
    return context
