"""One connection handle: a connection of the client layer, its unit of work and its objects.

A connection has at most one unit at a time, begun by the first verb under syncpoint and ended by
MQCMIT, MQBACK or MQDISC. With a lost connection a unit is lost. One that holds nothing, such as
that of a get which waits, is begun again and the program does not see it. Of any other one a
program that asked for reconnection (MQCNO_RECONNECT) is told 2003 until it ends the unit, as on IBM
MQ; the others are told 2009, after which programs connect again. This module knows no structure.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, TypeVar

from msgspec import Struct

from adapter import mq_constants as mq
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.link.port import NoLink
from adapter.connection.channel.requests import Handle, Pending, StartOver
from adapter.connection.channel.unit import Unit, perform
from adapter.core.attributes.objects import SUBSCRIPTION
from adapter.core.contract.commands import CONTINUES
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Messages, PutDone
from adapter.core.mq_layouts.blank_padded import pad
from adapter.errors import BackedOut, ConnectionBroken, Error, InDoubt
from adapter.mqi.call_gate import CallGate
from adapter.mqi.reasons import REASON_CODES, MqiFailure, failure_of

ResultT = TypeVar("ResultT")

ASYNC_PUTS_MAX = 400
"""Puts without an answer; the client layer lets 512 commands of a connection go unanswered."""
TOPIC = "topic"
GroupField = Literal["in_put_group", "in_get_group"]
ASKING_TO_RECONNECT = mq.MQCNO_RECONNECT | mq.MQCNO_RECONNECT_Q_MGR


class Object(Struct, eq=False):
    """An object handle: kind as core names it, the name that it led to, and the open options.

    handle: of a queue, a topic or a subscription. resolved: the queue that it is, and its queue
    manager, if that is another one; of a topic its whole topic string. cursor: the place of the
    message that was browsed last; cursor_since: how often the connection had been lost then.
    managed_by: the subscription's handle by which MQSUB opened a queue, and may open it again.
    is_transmission: it is a transmission queue of this queue manager. property_control: PROPCTL of
    the name that was opened. in_put_group, in_get_group: what was put, or got, last by it has left
    it in a group or a segmented message; the queue manager says where. browses_in_order: whether
    the cursor has come to its place in logical order; None: it has not moved.
    """

    number: int
    kind: str
    name: str
    options: int
    handle: Handle | None = None
    resolved: str = ""
    cursor: tuple[int, int, int] | None = None
    cursor_since: int = 0
    managed_by: Handle | None = None
    resolved_queue_manager: str = ""
    is_transmission: bool = False
    property_control: str = "COMPAT"
    in_put_group: bool = False
    in_get_group: bool = False
    browses_in_order: bool | None = None


class AsyncPutTally(Struct):
    """What became of asynchronous puts since MQSTAT asked: counts, and the first failure.

    to: what was put to, when that failed.
    """

    succeeded: int = 0
    warned: int = 0
    failed: int = 0
    code: int = mq.MQCC_OK
    reason: int = mq.MQRC_NONE
    to: Object | None = None

    def report(self, queue_manager: str) -> tuple[dict[str, Any], str]:
        """Return it as fields of an MQSTS, and the topic string if it was a topic that was put to.

        queue_manager: the one of the connection.
        """
        to = self.to
        name = pad("" if to is None else to.name, 48)
        here = pad("" if to is None else queue_manager, 48)
        resolved, there = name, here
        if to is not None and to.kind != TOPIC:
            resolved = pad(to.resolved or to.name, 48)
            there = pad(to.resolved_queue_manager or queue_manager, 48)
        topic = to.resolved if to is not None and to.kind == TOPIC else ""
        fields = {
            "CompCode": self.code,
            "Reason": self.reason,
            "PutSuccessCount": self.succeeded,
            "PutWarningCount": self.warned,
            "PutFailureCount": self.failed,
            "ObjectType": mq.MQOT_TOPIC if topic else mq.MQOT_Q,
            "ObjectName": name,
            "ObjectQMgrName": here,
            "ResolvedObjectName": resolved,
            "ResolvedQMgrName": there,
        }
        return fields, topic


class GroupNotes:
    """Which handles are in the midst of a group, and which were before the unit."""

    def __init__(self) -> None:
        self._before: dict[tuple[Object, GroupField], bool] = {}

    def note(self, opened: Object, field: GroupField, flags: int, *, in_unit: bool) -> None:
        """Note whether a message has left a handle in a group. flags: its MQMF_*. in_unit: if that
        is backed out, the handle is where it was before.
        """
        before: bool = getattr(opened, field)
        is_inside = leads_on(flags)
        if is_inside == before:
            return
        if in_unit:
            self._before.setdefault((opened, field), before)
        setattr(opened, field, is_inside)

    def end_unit(self, *, is_undone: bool) -> None:
        """Forget how it was before the unit. is_undone: it is so again."""
        for (opened, field), before in self._before.items() if is_undone else ():
            setattr(opened, field, before)
        self._before.clear()


class MqiSession:
    """One hconn. cno_options: MQCNO_HANDLE_SHARE_* and MQCNO_RECONNECT_* of these have effect."""

    def __init__(self, number: int, channel: Channel, *, cno_options: int) -> None:
        self.number = number
        self.channel = channel
        self.objects: dict[int, Object] = {}
        self.tally = AsyncPutTally()
        self.unit: Unit | None = None
        self._unit_holds = False
        """Whether anything may have been put or got in the unit."""
        self.groups = GroupNotes()
        self.is_broken = False
        self._options = cno_options
        self.gate = CallGate(cno_options)
        self._numbers = itertools.count(2)
        self._unanswered: list[tuple[Pending, Object]] = []

    @property
    def reconnects(self) -> bool:
        """Whether a lost connection is made again."""
        return not self._options & mq.MQCNO_RECONNECT_DISABLED

    @property
    def times_lost(self) -> int:
        """How often the connection has been lost, and made again."""
        return int(self.channel.statistics()["connections_lost"])

    def check(self) -> None:
        """MqiFailure if the connection is lost for good."""
        if not self.reconnects and self.times_lost:
            self.is_broken = True
        if self.is_broken or self.channel.is_closed:
            raise MqiFailure(mq.MQRC_CONNECTION_BROKEN)

    def check_here(self, queue_manager: str) -> None:
        """MqiFailure(2087) if a name is of another queue manager: "" is this one."""
        if queue_manager not in ("", self.channel.queue_manager):
            raise MqiFailure(mq.MQRC_UNKNOWN_REMOTE_Q_MGR)

    # -- objects

    def add(
        self,
        kind: str,
        name: str,
        options: int,
        handle: Handle | None = None,
        resolved: str = "",
        queue_manager: str = "",
    ) -> Object:
        """Give an object a handle."""
        opened = Object(next(self._numbers), kind, name, options, handle, resolved)
        opened.resolved_queue_manager = queue_manager
        self.objects[opened.number] = opened
        return opened

    def object(self, number: int) -> Object:
        """Return an object by its handle. MqiFailure(2019) if the handle is invalid."""
        opened = self.objects.get(number)
        if opened is None or opened.kind == SUBSCRIPTION:
            raise MqiFailure(mq.MQRC_HOBJ_ERROR)
        if opened.managed_by is not None:  # after a lost connection it may be another queue
            opened.name = opened.resolved = opened.managed_by.leads_to
        return opened

    def subscription(self, number: int) -> tuple[Object, Handle]:
        """Return a subscription by its handle. MqiFailure(2019) if the handle is invalid."""
        opened = self.objects.get(number)
        if opened is None or opened.kind != SUBSCRIPTION or opened.handle is None:
            raise MqiFailure(mq.MQRC_HOBJ_ERROR)
        return opened, opened.handle

    def queue(self, number: int, refusal: int) -> tuple[Object, Handle]:
        """Return an open queue. MqiFailure(2019), or refusal if it is an object of another kind."""
        opened = self.object(number)
        if opened.handle is None:
            raise MqiFailure(refusal)
        return opened, opened.handle

    def continuing(self, in_group: bool) -> int:
        """Return what a command in logical order says if its handle is in a group: CONTINUES. It is
        refused then, if the handle's place went with a connection: it would begin another one.
        """
        return CONTINUES if in_group and self.channel.takes_continues else 0

    # -- asking

    def ask(
        self,
        requests: list[Pending],
        request: Pending,
        kind: type[ResultT],
        *,
        unit: Unit | None = None,
        after: Pending | None = None,
    ) -> ResultT:
        """Ask requests, in the unit or outside; return the answer of one. Raises MqiFailure."""
        try:
            answer = perform(self.channel, unit, requests, request, kind, after)
        except Error as error:
            if error.refused is Reason.GROUP_POSITION_LOST and not self._asks:
                self._break_off()
            raise self.failure(error) from error
        if unit is not None and not (isinstance(answer, Messages) and not answer.messages):
            self._unit_holds = True
        return answer

    def ask_held(self, request: Pending, kind: type[ResultT]) -> ResultT | None:
        """Ask what depends on the state of the connection; None if that was lost."""
        try:
            self.channel.ask([request])
            if isinstance(request.answer, StartOver):
                return None
            return self.channel.result(request, kind)
        except Error as error:
            raise self.failure(error) from error

    def within(self, in_unit: bool, verb: Callable[[Unit | None], ResultT]) -> ResultT:
        """Do what a verb does, given the unit it belongs to; None: it belongs to none.

        If the unit was lost and held nothing it is done again, in another one. Raises MqiFailure.
        """
        if not in_unit:
            return verb(None)
        while True:
            unit = self._begin_unit()
            try:
                return verb(unit)
            except MqiFailure:
                if self.is_broken or self._unit_holds or not self._is_lost(unit):
                    raise
                self.unit = None

    def _begin_unit(self) -> Unit:
        """Return the unit of work, or begin one. MqiFailure(2003) if it is lost."""
        if self.unit is None:
            self.unit, self._unit_holds = Unit(self.channel), False
            self.unit.begin()
        try:
            self.unit.check_open()
        except Error as error:
            raise self.failure(error) from error
        return self.unit

    def _is_lost(self, unit: Unit) -> bool:
        """Whether a unit went with a lost connection, and was not ended by the queue manager."""
        return not (unit.is_open or self.channel.holds(unit.on_wire))

    def submit(self, request: Pending, unit: Unit | None, to: Object) -> None:
        """Send a put and do not wait for its answer: MQSTAT tells what became of it."""
        if len(self._unanswered) >= ASYNC_PUTS_MAX:
            self.settle()
        try:
            if unit is None:
                self.channel.submit([request])
            else:
                unit.submit([request])
        except Error as error:
            raise self.failure(error) from error
        self._unit_holds |= unit is not None
        self._unanswered.append((request, to))

    def settle(self) -> None:
        """Wait for the answers of asynchronous puts, and count them."""
        waiting, self._unanswered = self._unanswered, []
        with suppress(Error):
            self.channel.await_all([request for request, _ in waiting])
        for request, to in waiting:
            self._count(request, to)

    def _count(self, request: Pending, to: Object) -> None:
        tally = self.tally
        try:
            done = self.channel.result(request, PutDone)
        except Error as error:
            failure = self.failure(error)
            tally.failed += 1
        else:
            if not done.warning:
                tally.succeeded += 1
                return
            failure = MqiFailure(REASON_CODES[Reason(done.warning)], warning=True)
            tally.warned += 1
        if failure.code > tally.code:  # a failure is told even if a warning came first
            tally.code, tally.reason, tally.to = failure.code, failure.reason, to

    def failure(self, error: Error) -> MqiFailure:
        """Say in the MQI's codes what the client layer raised, and note a lost connection."""
        no_link = self.channel.no_link
        if isinstance(error, ConnectionBroken) or (isinstance(error, InDoubt) and no_link):
            self.is_broken = True
        if isinstance(error, BackedOut) and self.unit is not None and self._is_lost(self.unit):
            if self._asks:
                return MqiFailure(mq.MQRC_BACKED_OUT)
            if self._unit_holds or not self.reconnects:
                self._break_off()
            return MqiFailure(mq.MQRC_CONNECTION_BROKEN)
        if error.refused is Reason.GROUP_POSITION_LOST and not self._asks:
            return MqiFailure(mq.MQRC_CONNECTION_BROKEN)
        return failure_without(no_link, error, asked=self._asks)

    @property
    def _asks(self) -> bool:
        """Whether the program asked for reconnection."""
        return bool(self._options & ASKING_TO_RECONNECT)

    def _break_off(self) -> None:
        """Leave a connection that was made again: the program makes another one."""
        self.is_broken, self.unit = True, None
        self.channel.close(abrupt=True)

    def take_tally(self) -> tuple[dict[str, Any], str]:
        """Return what MQSTAT reports, and reset the counts; see AsyncPutTally.report()."""
        tally, self.tally = self.tally, AsyncPutTally()
        return tally.report(self.channel.queue_manager)

    # -- the unit of work

    def commit(self) -> None:
        """MQCMIT. MqiFailure(2003), a warning, or 2009 if the unit was lost with what it held."""
        was_broken = self.is_broken
        self.settle()
        unit = self.unit
        if unit is None:
            if self.is_broken and not was_broken:
                raise MqiFailure(mq.MQRC_CONNECTION_BROKEN)
            return
        try:
            unit.commit()
        except BackedOut as error:
            failure = self.failure(error)
            self.unit = None
            self.groups.end_unit(is_undone=True)
            if self._unit_holds or self.is_broken:
                raise MqiFailure(failure.reason, warning=not self.is_broken) from error
        except Error as error:
            failure = self.failure(error)
            if not unit.is_open:  # else it was refused: nothing has changed
                self.unit = None
                self.groups.end_unit(is_undone=True)
            raise failure from error
        else:
            self.unit = None
            self.groups.end_unit(is_undone=False)

    def backout(self) -> None:
        """MQBACK."""
        self.settle()
        unit, self.unit = self.unit, None
        if unit is None:
            return
        self.groups.end_unit(is_undone=True)
        try:
            unit.backout()
        except Error as error:
            raise self.failure(error) from error

    def close(self) -> None:
        """MQDISC: commit what is open, then give everything back. MqiFailure as of MQCMIT."""
        try:
            self.commit()
        except MqiFailure:
            with suppress(MqiFailure):
                self.backout()
            raise
        finally:
            self.objects.clear()
            self.channel.close()


def leads_on(flags: int) -> bool:
    """Whether a message with these flags (MQMF_*) is followed by others of its group or message."""
    if flags & mq.MQMF_SEGMENT and not flags & mq.MQMF_LAST_SEGMENT:
        return True
    return bool(flags & mq.MQMF_MSG_IN_GROUP and not flags & mq.MQMF_LAST_MSG_IN_GROUP)


def failure_without(no_link: NoLink | None, error: Error, *, asked: bool) -> MqiFailure:
    """Say what the client layer raised. no_link: why no connection was made again. asked: whether
    the program asked for one.
    """
    if type(error) is not ConnectionBroken or no_link is None:
        return failure_of(error)
    if no_link.is_other:
        return MqiFailure(mq.MQRC_RECONNECT_QMID_MISMATCH)
    return MqiFailure(mq.MQRC_RECONNECT_TIMED_OUT) if asked else failure_of(error)
