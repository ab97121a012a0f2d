"""The verbs of the MQI by connection and object handles: structures in, structures and codes out.

What answers is a tuple whose last two items are the completion code and the reason code. A
structure of a wrong size raises WrongSize, text in place of bytes TypeError, and a number that is
too long OverflowError; nothing else is raised. This module knows neither what Python package calls
it nor what a verb means.
"""

from __future__ import annotations

from adapter import mq_constants as mq
from adapter.mqi import inquiring, opening, pointers, putting, structs, subscribing
from adapter.mqi.arguments import buffer, integer
from adapter.mqi.connections import ConnectionTable
from adapter.mqi.consumers import Callback, CallbackConsumer
from adapter.mqi.getting import get
from adapter.mqi.message_handles import MessageHandles
from adapter.mqi.property_verbs import PropertyVerbs
from adapter.mqi.reasons import OK, MqiFailure, returns_codes

SUSPENSIONS = {0: False, mq.MQOP_RESUME: False, mq.MQOP_SUSPEND: True}
"""Whether a consumer is suspended after an operation of MQCB, beside MQOP_REGISTER or alone."""


class Interface:
    """The verbs of one program. properties: those on message handles."""

    def __init__(self) -> None:
        self._messages = MessageHandles()
        self._connections = ConnectionTable(self._messages)
        self.connect = self._connections.connect
        self.properties = PropertyVerbs(self._connections, self._messages)
        self.proxy: Callback | None = None
        """What every callback goes through."""

    @returns_codes
    def disconnect(self, hconn: int) -> None:
        """MQDISC: what is open is committed and closed; consumers are stopped."""
        self._connections.disconnect(hconn)

    # -- objects

    def open(self, hconn: int, od: bytes, options: int) -> tuple[int, bytes, int, int]:
        """MQOPEN: the object handle, the MQOD as it is afterwards, the codes."""
        od = structs.MQOD.check(od)
        options = integer(options)
        try:
            with self._connections.call(hconn) as session:
                return (*opening.open_object(session, od, options), *OK)
        except MqiFailure as failure:
            return mq.MQHO_UNUSABLE_HOBJ, od, failure.code, failure.reason

    @returns_codes
    def close(self, hconn: int, hobj: int, options: int) -> None:
        """MQCLOSE."""
        options = integer(options)
        self._connections.close(hconn, hobj, options)

    def inquire(
        self, hconn: int, hobj: int, selectors: list[int], int_count: int, char_length: int
    ) -> tuple[list[int], bytes, int, int]:
        """MQINQ: whole numbers, texts, the codes."""
        int_count, char_length = integer(int_count), integer(char_length)
        try:
            with self._connections.call(hconn) as session:
                return inquiring.inquire(session, hobj, selectors, int_count, char_length)
        except MqiFailure as failure:
            return [], bytes(max(char_length, 0)), failure.code, failure.reason

    @returns_codes
    def set(
        self, hconn: int, hobj: int, selectors: list[int], ints: list[int], chars: bytes
    ) -> None:
        """MQSET."""
        chars = buffer(chars)
        with self._connections.call(hconn) as session:
            inquiring.set_attributes(session, hobj, selectors, ints, chars)

    # -- messages

    def put(self, hconn: int, hobj: int, md: bytes, pmo: bytes, body: bytes) -> putting.Put:
        """MQPUT: MQMD and MQPMO as they are afterwards, the codes."""
        md = structs.MQMD.check(md)
        pmo = structs.MQPMO.check(pmo)
        body = buffer(body)
        try:
            with self._connections.call(hconn) as session:
                return putting.put(session, self._messages, hobj, md, pmo, body)
        except MqiFailure as failure:
            return md, pmo, failure.code, failure.reason

    def put1(self, hconn: int, od: bytes, md: bytes, pmo: bytes, body: bytes) -> putting.Put:
        """MQPUT1: MQMD and MQPMO as they are afterwards, the codes."""
        od = structs.MQOD.check(od)
        md = structs.MQMD.check(md)
        pmo = structs.MQPMO.check(pmo)
        body = buffer(body)
        try:
            with self._connections.call(hconn) as session:
                return putting.put1(session, self._messages, od, md, pmo, body)
        except MqiFailure as failure:
            return md, pmo, failure.code, failure.reason

    def get(
        self, hconn: int, hobj: int, md: bytes, gmo: bytes, room: int
    ) -> tuple[bytes, bytes, bytes, int, int, int]:
        """MQGET: the body as far as there is room, MQMD, MQGMO, the whole length, the codes."""
        md = structs.MQMD.check(md)
        gmo = structs.MQGMO.check(gmo)
        room = integer(room)
        try:
            with self._connections.call(hconn) as session:
                return get(session, self._messages, hobj, md, gmo, room).pack()
        except MqiFailure as failure:
            return b"", md, gmo, 0, failure.code, failure.reason

    # -- units of work

    @returns_codes
    def begin(self, hconn: int) -> None:
        """MQBEGIN: there are no other resource managers to begin with."""
        with self._connections.call(hconn) as session:
            if session.unit is not None:
                raise MqiFailure(mq.MQRC_UOW_IN_PROGRESS)
            raise MqiFailure(mq.MQRC_NO_EXTERNAL_PARTICIPANTS, warning=True)

    @returns_codes
    def commit(self, hconn: int) -> None:
        """MQCMIT."""
        with self._connections.call(hconn) as session:
            session.commit()

    @returns_codes
    def backout(self, hconn: int) -> None:
        """MQBACK."""
        with self._connections.call(hconn) as session:
            session.backout()

    def status(self, hconn: int, kind: int, sts: bytes) -> tuple[bytes, int, int]:
        """MQSTAT: the outcome of asynchronous puts since the last MQSTAT."""
        sts = structs.MQSTS.check(sts)
        fields = structs.MQSTS.read(sts)
        try:
            with self._connections.call(hconn) as session:
                if kind != mq.MQSTAT_TYPE_ASYNC_ERROR:
                    raise MqiFailure(mq.MQRC_STAT_TYPE_ERROR)
                structs.MQSTS.confirm(fields)
                session.settle()
                outcome, topic = session.take_tally()
                fields |= outcome
                if fields["Version"] >= mq.MQSTS_VERSION_2:
                    pointers.fill(fields, "ObjectString", topic)
        except MqiFailure as failure:
            return sts, failure.code, failure.reason
        return (structs.MQSTS.write(fields), *OK)

    # -- publish and subscribe

    def subscribe(self, hconn: int, sd: bytes, hobj: int) -> tuple[bytes, int, int, int, int]:
        """MQSUB: MQSD as it is afterwards, the handles of queue and subscription, the codes."""
        sd = structs.MQSD.check(sd)
        try:
            with self._connections.call(hconn) as session:
                return subscribing.subscribe(session, sd, hobj)
        except MqiFailure as failure:
            return sd, hobj, mq.MQHO_UNUSABLE_HOBJ, failure.code, failure.reason

    def request_publications(
        self, hconn: int, hsub: int, action: int, sro: bytes
    ) -> tuple[bytes, int, int]:
        """MQSUBRQ: MQSRO as it is afterwards, the codes."""
        action = integer(action)
        sro = structs.MQSRO.check(sro)
        try:
            with self._connections.call(hconn) as session:
                return (subscribing.request_publications(session, hsub, action, sro), *OK)
        except MqiFailure as failure:
            return sro, failure.code, failure.reason

    # -- callbacks

    @returns_codes
    def callback(
        self, hconn: int, operation: int, cbd: bytes, hobj: int, md: bytes, gmo: bytes
    ) -> None:
        """MQCB."""
        operation = integer(operation)
        described = structs.MQCBD.read(cbd)
        message, options = structs.MQMD.read(md), structs.MQGMO.read(gmo)
        with self._connections.call(hconn) as session:
            dispatcher = self._connections.dispatcher(hconn)
            is_suspended = SUSPENSIONS.get(operation & ~mq.MQOP_REGISTER)
            is_handler = described["CallbackType"] == mq.MQCBT_EVENT_HANDLER
            key = mq.MQHO_NONE if is_handler else hobj
            if operation & mq.MQOP_REGISTER and is_suspended is not None:
                opened = None if is_handler else session.object(hobj)
                if self.proxy is None:
                    raise MqiFailure(mq.MQRC_CALLBACK_ROUTINE_ERROR)
                consumer = CallbackConsumer(key, opened, described, message, options, is_suspended)
                dispatcher.register(consumer, self.proxy)
            elif operation == mq.MQOP_DEREGISTER:
                dispatcher.deregister(key)
            elif operation and is_suspended is not None:
                dispatcher.suspend(key, is_suspended)
            else:
                raise MqiFailure(mq.MQRC_OPERATION_ERROR)

    @returns_codes
    def control(self, hconn: int, operation: int, ctlo: bytes) -> None:
        """MQCTL."""
        operation = integer(operation)
        fields = structs.MQCTLO.read(ctlo)
        dispatcher = self._connections.dispatcher(hconn)
        if structs.MQCTLO.confirm(fields)["Options"] & ~(
            mq.MQCTLO_THREAD_AFFINITY | mq.MQCTLO_FAIL_IF_QUIESCING
        ):
            raise MqiFailure(mq.MQRC_OPTIONS_ERROR)
        dispatcher.control(operation)
