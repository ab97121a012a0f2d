"""Consumers of messages and event handlers: what MQCB registers, and calls of their functions.

This module knows no thread, and not when a function is called.
"""

from __future__ import annotations

import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from msgspec import Struct

from adapter import mq_constants as mq
from adapter.mqi import options as permitted
from adapter.mqi import structs
from adapter.mqi.getting import GetPlan, Got, plan_get
from adapter.mqi.message_handles import MessageHandles
from adapter.mqi.reasons import MqiFailure
from adapter.mqi.reentry import Reentry
from adapter.mqi.session import MqiSession, Object

Callback = Callable[[int, bytes, bytes, bytes | None, bytes], object]
"""Called with hconn, MQMD, MQGMO, body or None, and MQCBC."""

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
ASKED_BY = {
    mq.MQCBCT_START_CALL: mq.MQCBDO_START_CALL,
    mq.MQCBCT_STOP_CALL: mq.MQCBDO_STOP_CALL,
    mq.MQCBCT_REGISTER_CALL: mq.MQCBDO_REGISTER_CALL,
    mq.MQCBCT_DEREGISTER_CALL: mq.MQCBDO_DEREGISTER_CALL,
}
"""Kinds of calls without a message, and the option of MQCBD that asks for each."""
OF_MESSAGES_ALONE = (mq.MQCBCT_START_CALL, mq.MQCBCT_STOP_CALL)
MARKING = mq.MQGMO_MARK_BROWSE_HANDLE | mq.MQGMO_MARK_BROWSE_CO_OP
GONE = (mq.MQRC_HOBJ_ERROR, mq.MQRC_OBJECT_DAMAGED, mq.MQRC_Q_DELETED)
"""Reasons after which a consumer has nothing more to wait for."""
NOT_CONSUMED = (
    mq.MQGMO_MSG_UNDER_CURSOR
    | mq.MQGMO_BROWSE_MSG_UNDER_CURSOR
    | mq.MQGMO_UNLOCK
    | mq.MQGMO_UNMARK_BROWSE_HANDLE
    | mq.MQGMO_UNMARK_BROWSE_CO_OP
)
"""Options of MQGET that are about a message which was browsed before."""


class CallbackConsumer(Struct, eq=False):
    """A registered function: what it is for, and the structures it was registered with.

    opened: the queue; None of an event handler.
    """

    hobj: int
    opened: Object | None
    cbd: dict[str, Any]
    md: dict[str, Any]
    gmo: dict[str, Any]
    is_suspended: bool = False
    is_gone: bool = False
    """It was deregistered, or another one took its place: this one is not called any more."""
    is_to_start: bool = False
    """A function of the started connection has registered it: it is called for the start first."""
    has_browsed: bool = False
    """It was called with a message that it browsed: the next one is that behind it."""
    told: int = 0
    """The reason code of a lasting failure that was reported; it is not reported again."""
    is_ready: bool = False
    """There is something to call it for, or there may be."""
    failure: MqiFailure | None = None
    """What is to be reported, in place of a message."""
    pause_s: float = 0.0
    """Before it is looked again whether there is a message."""
    idle_since_s: float | None = None
    """Since when there was none; None if it was not looked."""

    @property
    def is_active(self) -> bool:
        """Whether it may be called with messages."""
        return self.opened is not None and not self.is_suspended

    def note_failure(self, reason: int, pause_s: float) -> int | None:
        """Note that a get failed; return what becomes of the consumer (MQCS_*), None if it was told
        that already. pause_s: before the next get, if the reason may pass.
        """
        is_old, self.told = reason == self.told, reason
        if reason == mq.MQRC_NO_MSG_AVAILABLE:
            self.told = 0
            return mq.MQCS_NONE
        state = mq.MQCS_SUSPENDED_TEMPORARY
        if reason == mq.MQRC_RECONNECT_INCOMPATIBLE:
            state, self.is_suspended = mq.MQCS_SUSPENDED_USER_ACTION, True
        elif reason in GONE:
            state, self.is_suspended = mq.MQCS_SUSPENDED, True
        else:
            self.pause_s = pause_s
        return None if is_old else state

    def note_message(self, got: Got) -> int:
        """Note what it is to be called with; return what becomes of the consumer (MQCS_*)."""
        self.told = 0
        got.gmo["Options"] = self.gmo["Options"]
        if got.reason == mq.MQRC_TRUNCATED_MSG_FAILED:
            self.is_suspended = True
            return mq.MQCS_SUSPENDED_USER_ACTION
        self.has_browsed = True
        return mq.MQCS_NONE

    @property
    def browses_on(self) -> bool:
        """Whether MQGMO_BROWSE_FIRST means the next message: the first one was delivered, and no
        mark hides it."""
        asked = self.gmo["Options"]
        hides = asked & mq.MQGMO_UNMARKED_BROWSE_MSG and asked & MARKING
        return bool(self.has_browsed and asked & mq.MQGMO_BROWSE_FIRST and not hides)

    @property
    def room(self) -> int:
        """Bytes of a body that are given."""
        longest: int = self.cbd["MaxMsgLength"]
        return ROOM_MAX if longest < 0 else longest

    @property
    def limit_ms(self) -> int:
        """How long a message may fail to come before that is reported; -1: for ever."""
        waits: int = self.gmo["Options"] & mq.MQGMO_WAIT
        limit_ms: int = self.gmo["WaitInterval"]
        return limit_ms if waits else mq.MQWI_UNLIMITED

    def check(self, session: MqiSession, handles: MessageHandles) -> None:
        """MqiFailure if what it was registered with is not to be had."""
        described = structs.MQCBD.confirm(self.cbd)
        if described["CallbackType"] not in (mq.MQCBT_MESSAGE_CONSUMER, mq.MQCBT_EVENT_HANDLER):
            raise MqiFailure(mq.MQRC_CALLBACK_TYPE_ERROR)
        if described["Options"] & ~OPTIONS:
            raise MqiFailure(mq.MQRC_CBD_OPTIONS_ERROR)
        if described["MaxMsgLength"] < mq.MQCBD_FULL_MSG_LENGTH:
            raise MqiFailure(mq.MQRC_MAX_MSG_LENGTH_ERROR)
        if self.opened is not None:
            if self.opened.kind != "queue":
                raise MqiFailure(mq.MQRC_HOBJ_ERROR)
            if self.gmo["Options"] & NOT_CONSUMED:
                raise MqiFailure(mq.MQRC_OPTIONS_ERROR)
            self.plan(session, handles)

    def plan(self, session: MqiSession, handles: MessageHandles) -> GetPlan:
        """Return the get of a message that is there. Raises MqiFailure."""
        assert self.opened is not None
        md, gmo = dict(self.md), dict(self.gmo)
        if self.browses_on:
            gmo["Options"] ^= mq.MQGMO_BROWSE_FIRST | mq.MQGMO_BROWSE_NEXT
        planned = plan_get(session, handles, self.opened, md, gmo, self.room)
        planned.command.wait_ms = 0
        return planned


class ProgramFunctions:
    """Calls the functions of the program, with what they are called for."""

    def __init__(self, session: MqiSession, reentry: Reentry) -> None:
        self._session = session
        self._reentry = reentry
        self._caller: int | None = None
        self.proxy: Callback | None = None
        """What every call goes through."""
        self.registered: deque[CallbackConsumer] = deque()
        """New ones that are not called for that yet: packages know a function only when MQCB has
        returned."""

    @property
    def are_here(self) -> bool:
        """Whether this thread is in a function that is called under calling()."""
        return self._caller == threading.get_ident()

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Call functions in this thread, and in no other meanwhile."""
        before, self._caller = self._caller, threading.get_ident()
        try:
            yield
        finally:
            self._caller = before

    def tell_all(self, consumers: Iterable[CallbackConsumer], kind: int) -> None:
        """Call those plainly that asked for calls of a kind (MQCBCT_*) when they registered.

        Starts and stops are those of consumers of messages alone.
        """
        with self.calling():
            for consumer in consumers:
                is_told = consumer.opened is not None or kind not in OF_MESSAGES_ALONE
                if is_told and not consumer.is_gone and consumer.cbd["Options"] & ASKED_BY[kind]:
                    self._plainly(consumer, kind)

    def tell_registered(self) -> None:
        """Call those that have been registered, as far as they asked for it."""
        while self.registered:
            with suppress(IndexError):  # another thread has called it
                self.tell_all([self.registered.popleft()], mq.MQCBCT_REGISTER_CALL)

    def tell_gone(self, consumer: CallbackConsumer, *, is_started: bool = False) -> None:
        """Call one that has been deregistered, as far as it asked for it: first for the stop, if it
        was told of the start. is_started: so all are that need not be told of that any more.
        """
        kinds = [mq.MQCBCT_DEREGISTER_CALL]
        if is_started and consumer.opened is not None and not consumer.is_to_start:
            kinds.insert(0, mq.MQCBCT_STOP_CALL)
        with self.calling():
            for kind in kinds:
                if consumer.cbd["Options"] & ASKED_BY[kind]:
                    self._plainly(consumer, kind)

    def tell_start(self, consumer: CallbackConsumer) -> None:
        """Call one that a function of the started connection has registered, for the start."""
        consumer.is_to_start = False
        if not consumer.is_gone:
            self.tell_all([consumer], mq.MQCBCT_START_CALL)

    def tell_stop(self, consumers: Iterable[CallbackConsumer]) -> None:
        """Call those for the stop that were told of the start."""
        started = []
        for consumer in consumers:
            if not consumer.is_to_start:
                started.append(consumer)
            consumer.is_to_start = False
        self.tell_all(started, mq.MQCBCT_STOP_CALL)

    def tell_handlers(self, consumers: Iterable[CallbackConsumer], code: int, reason: int) -> None:
        """Call the event handlers with what concerns the whole connection."""
        state = mq.MQCS_STOPPED if code == mq.MQCC_FAILED else mq.MQCS_NONE
        for handler in consumers:
            if handler.opened is None and not handler.is_suspended:
                self.event(handler, reason, state, code)

    def message(self, consumer: CallbackConsumer, got: Got, state: int) -> None:
        """Call a consumer with a message. state: what becomes of the consumer (MQCS_*)."""
        removed = not got.gmo["Options"] & permitted.BROWSING
        if got.reason == mq.MQRC_TRUNCATED_MSG_FAILED:
            removed = False
        kind = mq.MQCBCT_MSG_REMOVED if removed else mq.MQCBCT_MSG_NOT_REMOVED
        cbc = _context(consumer, kind, got.code, got.reason)
        cbc["State"] = state
        cbc["DataLength"], cbc["BufferLength"] = got.length, len(got.body)
        self._invoke(got.md, got.gmo, got.body, cbc)

    def event(
        self, consumer: CallbackConsumer, reason: int, state: int, code: int = mq.MQCC_FAILED
    ) -> None:
        """Call a function with a reason code. state: what becomes of the consumer (MQCS_*)."""
        kind = mq.MQCBCT_EVENT_CALL
        if reason == mq.MQRC_NO_MSG_AVAILABLE:
            kind = mq.MQCBCT_MSG_NOT_REMOVED
        cbc = _context(consumer, kind, code, reason) | {"State": state}
        self._invoke(consumer.md, consumer.gmo, None, cbc)

    def _plainly(self, consumer: CallbackConsumer, kind: int) -> None:
        """Call a function with nothing but the kind of the call (MQCBCT_*)."""
        cbc = _context(consumer, kind, mq.MQCC_OK, mq.MQRC_NONE)
        self._invoke(consumer.md, consumer.gmo, None, cbc)

    def _invoke(
        self, md: dict[str, Any], gmo: dict[str, Any], body: bytes | None, cbc: dict[str, Any]
    ) -> None:
        if self.proxy is None:
            return
        packed = structs.MQMD.write(md), structs.MQGMO.write(gmo), body, structs.MQCBC.write(cbc)
        try:
            with self._reentry.outside():
                self.proxy(self._session.number, *packed)
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
