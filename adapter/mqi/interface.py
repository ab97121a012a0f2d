"""The verbs of the MQI by connection and object handles: structures in, structures and codes out.

What answers is a tuple whose last two items are the completion code and the reason code. A
structure of a wrong size raises WrongSize; nothing else is raised. This module knows neither what
Python package calls it nor what a verb means.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from adapter import mq_constants as mq
from adapter.mqi import connecting, inquiring, opening, pointers, putting, structs, subscribing
from adapter.mqi.consuming import Callback, Consumer, Dispatcher
from adapter.mqi.getting import get
from adapter.mqi.message_handles import MessageHandles, Value, converted, size_of
from adapter.mqi.reasons import OK, Failure, answered
from adapter.mqi.reentry import Reentry
from adapter.mqi.session import Session


class Interface:
    """All connections of a program."""

    def __init__(self) -> None:
        self._sessions: dict[int, Session] = {}
        self._dispatchers: dict[int, Dispatcher] = {}
        self._numbers = itertools.count(1)
        self._messages = MessageHandles()
        self._reentry = Reentry()
        self.proxy: Callback | None = None
        """What every callback goes through."""

    # -- connections

    def connect(
        self,
        name: str,
        cno: bytes | None = None,
        cd: bytes | None = None,
        csp: bytes | None = None,
        sco: bytes | None = None,
        *,
        options: int = 0,
        credentials: tuple[str, str] = ("", ""),
        layouts: tuple[structs.Layout, structs.Layout] = (structs.MQCD, structs.MQSCO),
    ) -> tuple[int, int, int]:
        """MQCONN, MQCONNX: the connection handle, and the codes."""
        given = None if cno is None else structs.MQCNO.read(cno)
        channel = None if cd is None else layouts[0].read(cd)
        if sco is not None:
            layouts[1].check(sco)
        try:
            if given is None and options:
                given = connecting.plain_cno(options)
            if given is not None:
                connecting.check_options(given)
            who = credentials if credentials[0] else connecting.credentials_of(csp)
            number = next(self._numbers)
            session = connecting.connect(
                number, name, os.environ, cno=given, cd=channel, credentials=who
            )
        except Failure as failure:
            return mq.MQHC_UNUSABLE_HCONN, failure.code, failure.reason
        self._sessions[number] = session
        self._dispatchers[number] = Dispatcher(session, self._messages, self._reentry)
        return (number, *OK)

    @answered
    def disconnect(self, hconn: int) -> None:
        """MQDISC: what is open is committed and closed; consumers are stopped."""
        if hconn not in self._sessions:
            raise Failure(mq.MQRC_HCONN_ERROR)
        if self._reentry.must_not_wait():
            self._reentry.put_off(hconn, None)
        else:
            self._disconnect(hconn, by_force=False)

    def _disconnect(self, hconn: int, by_force: bool) -> None:
        """Disconnect. by_force: from whatever thread. Raises Failure."""
        session = self._sessions[hconn]
        self._dispatchers[hconn].close()
        session.enter(by_force)
        try:
            with self._reentry.inside():
                session.close()
        finally:
            session.leave()
            self._sessions.pop(hconn, None)
            self._dispatchers.pop(hconn, None)
            self._messages.forget(hconn)

    def _do_what_was_put_off(self) -> None:
        for hconn, hobj in self._reentry.take():
            session = self._sessions.get(hconn)
            if session is None:
                continue
            if hobj is None:
                with suppress(Failure):
                    self._disconnect(hconn, by_force=True)
            elif hobj in session.objects:
                session.enter(True)
                try:
                    with self._reentry.inside(), suppress(Failure):
                        subscribing.close(session, hobj, mq.MQCO_NONE)
                finally:
                    session.leave()

    @contextmanager
    def _call(self, hconn: int) -> Iterator[Session]:
        """Enter a connection for one call. Raises Failure."""
        self._do_what_was_put_off()
        session = self._sessions.get(hconn)
        if session is None:
            raise Failure(mq.MQRC_HCONN_ERROR)
        session.enter(self._dispatchers[hconn].admits())
        try:
            with self._reentry.inside():
                session.check()
                yield session
        finally:
            session.leave()

    # -- objects

    def open(self, hconn: int, od: bytes, options: int) -> tuple[int, bytes, int, int]:
        """MQOPEN: the object handle, the MQOD as it is afterwards, the codes."""
        structs.MQOD.check(od)
        try:
            with self._call(hconn) as session:
                return (*opening.open_object(session, od, options), *OK)
        except Failure as failure:
            return mq.MQHO_UNUSABLE_HOBJ, od, failure.code, failure.reason

    @answered
    def close(self, hconn: int, hobj: int, options: int) -> None:
        """MQCLOSE."""
        if hconn in self._sessions and self._reentry.must_not_wait():
            self._reentry.put_off(hconn, hobj)
            return
        with self._call(hconn) as session:
            subscribing.close(session, hobj, options)
            self._dispatchers[hconn].forget(hobj)

    def inquire(
        self, hconn: int, hobj: int, selectors: list[int], int_count: int, char_length: int
    ) -> tuple[list[int], bytes, int, int]:
        """MQINQ: whole numbers, texts, the codes."""
        try:
            with self._call(hconn) as session:
                return inquiring.inquire(session, hobj, selectors, int_count, char_length)
        except Failure as failure:
            return [], bytes(char_length), failure.code, failure.reason

    @answered
    def set(
        self, hconn: int, hobj: int, selectors: list[int], ints: list[int], chars: bytes
    ) -> None:
        """MQSET."""
        with self._call(hconn) as session:
            inquiring.set_attributes(session, hobj, selectors, ints, chars)

    # -- messages

    def put(self, hconn: int, hobj: int, md: bytes, pmo: bytes, body: bytes) -> putting.Put:
        """MQPUT: MQMD and MQPMO as they are afterwards, the codes."""
        structs.MQMD.check(md)
        structs.MQPMO.check(pmo)
        try:
            with self._call(hconn) as session:
                return putting.put(session, self._messages, hobj, md, pmo, body)
        except Failure as failure:
            return md, pmo, failure.code, failure.reason

    def put1(self, hconn: int, od: bytes, md: bytes, pmo: bytes, body: bytes) -> putting.Put:
        """MQPUT1: MQMD and MQPMO as they are afterwards, the codes."""
        structs.MQOD.check(od)
        structs.MQMD.check(md)
        structs.MQPMO.check(pmo)
        try:
            with self._call(hconn) as session:
                return putting.put1(session, self._messages, od, md, pmo, body)
        except Failure as failure:
            return md, pmo, failure.code, failure.reason

    def get(
        self, hconn: int, hobj: int, md: bytes, gmo: bytes, room: int
    ) -> tuple[bytes, bytes, bytes, int, int, int]:
        """MQGET: the body as far as there is room, MQMD, MQGMO, the whole length, the codes."""
        structs.MQMD.check(md)
        structs.MQGMO.check(gmo)
        try:
            with self._call(hconn) as session:
                return get(session, self._messages, hobj, md, gmo, room).packed()
        except Failure as failure:
            return b"", md, gmo, 0, failure.code, failure.reason

    # -- units of work

    @answered
    def begin(self, hconn: int) -> None:
        """MQBEGIN: there are no other resource managers to begin with."""
        with self._call(hconn) as session:
            if session.unit is not None:
                raise Failure(mq.MQRC_UOW_IN_PROGRESS)
            raise Failure(mq.MQRC_NO_EXTERNAL_PARTICIPANTS, warning=True)

    @answered
    def commit(self, hconn: int) -> None:
        """MQCMIT."""
        with self._call(hconn) as session:
            session.commit()

    @answered
    def backout(self, hconn: int) -> None:
        """MQBACK."""
        with self._call(hconn) as session:
            session.backout()

    def status(self, hconn: int, kind: int, sts: bytes) -> tuple[bytes, int, int]:
        """MQSTAT: what became of asynchronous puts since it was asked."""
        fields = structs.MQSTS.read(sts)
        try:
            with self._call(hconn) as session:
                if kind != mq.MQSTAT_TYPE_ASYNC_ERROR:
                    raise Failure(mq.MQRC_STAT_TYPE_ERROR)
                structs.MQSTS.confirm(fields)
                session.settle()
                told, topic = session.take_tally()
                fields |= told
                if fields["Version"] >= mq.MQSTS_VERSION_2:
                    pointers.fill(fields, "ObjectString", topic)
        except Failure as failure:
            return sts, failure.code, failure.reason
        return (structs.MQSTS.write(fields), *OK)

    # -- publish and subscribe

    def subscribe(self, hconn: int, sd: bytes, hobj: int) -> tuple[bytes, int, int, int, int]:
        """MQSUB: MQSD as it is afterwards, the handles of queue and subscription, the codes."""
        structs.MQSD.check(sd)
        try:
            with self._call(hconn) as session:
                return subscribing.subscribe(session, sd, hobj)
        except Failure as failure:
            return sd, hobj, mq.MQHO_UNUSABLE_HOBJ, failure.code, failure.reason

    def request_publications(
        self, hconn: int, hsub: int, action: int, sro: bytes
    ) -> tuple[bytes, int, int]:
        """MQSUBRQ: MQSRO as it is afterwards, the codes."""
        structs.MQSRO.check(sro)
        try:
            with self._call(hconn) as session:
                return (subscribing.request_publications(session, hsub, action, sro), *OK)
        except Failure as failure:
            return sro, failure.code, failure.reason

    # -- message handles

    def _check_handle(self, hconn: int) -> None:
        if hconn != mq.MQHC_UNASSOCIATED_HCONN and hconn not in self._sessions:
            raise Failure(mq.MQRC_HCONN_ERROR)

    def create_handle(self, hconn: int, cmho: bytes) -> tuple[int, int, int]:
        """MQCRTMH: the message handle, the codes."""
        fields = structs.MQCMHO.read(cmho)
        try:
            self._check_handle(hconn)
            structs.MQCMHO.confirm(fields)
            return (self._messages.create(hconn), *OK)
        except Failure as failure:
            return mq.MQHM_UNUSABLE_HMSG, failure.code, failure.reason

    @answered
    def delete_handle(self, hconn: int, hmsg: int, dmho: bytes) -> None:
        """MQDLTMH."""
        fields = structs.MQDMHO.read(dmho)
        self._check_handle(hconn)
        structs.MQDMHO.confirm(fields)
        self._messages.delete(hconn, hmsg)

    @answered
    def set_property(
        self,
        hconn: int,
        hmsg: int,
        smpo: bytes,
        name: bytes,
        pd: bytes,
        kind: int,
        value: Any,
        length: int,
    ) -> None:
        """MQSETMP. value: as the package has it; length: of a text or bytes, -1 for all of it."""
        fields, described = structs.MQSMPO.read(smpo), structs.MQPD.read(pd)
        self._check_handle(hconn)
        structs.MQPD.confirm(described)
        if structs.MQSMPO.confirm(fields)["Options"]:
            raise Failure(mq.MQRC_OPTIONS_ERROR)
        if kind == mq.MQTYPE_STRING and not isinstance(value, str):
            raise TypeError(f"the value of a text property is a str, not {value!r}")
        if length >= 0 and isinstance(value, (str, bytes)):
            value = value[:length]
        self._messages.set(hmsg, name.decode("utf-8", "replace"), kind, value)

    def inquire_property(
        self, hconn: int, hmsg: int, impo: int | bytes, name: bytes, kind: int, room: int
    ) -> tuple[Any, int, str, int, int]:
        """MQINQMP. impo: an MQIMPO or its options alone. Value, length, name, the codes."""
        if not isinstance(impo, int):
            structs.MQIMPO.check(impo)
        try:
            self._check_handle(hconn)
            asked = impo if isinstance(impo, int) else _options_of(impo)
            found, held = self._messages.find(hmsg, name.decode("utf-8", "replace"), asked)
            if kind not in (mq.MQTYPE_AS_SET, held.type):
                if not asked & mq.MQIMPO_CONVERT_TYPE:
                    raise Failure(mq.MQRC_PROPERTY_TYPE_ERROR)
                held = Value(converted(held.value, kind), kind)
            return _within(held, found, room, asked)
        except Failure as failure:
            return None, 0, "", failure.code, failure.reason

    @answered
    def delete_property(self, hconn: int, hmsg: int, dmpo: bytes, name: bytes) -> None:
        """MQDLTMP."""
        fields = structs.MQDMPO.read(dmpo)
        self._check_handle(hconn)
        asked = structs.MQDMPO.confirm(fields)["Options"]
        under_cursor = bool(asked & mq.MQDMPO_DEL_PROP_UNDER_CURSOR)
        self._messages.unset(hmsg, name.decode("utf-8", "replace"), under_cursor)

    # -- callbacks

    @answered
    def callback(
        self,
        hconn: int,
        operation: int,
        cbd: bytes,
        hobj: int,
        md: bytes,
        gmo: bytes,
    ) -> None:
        """MQCB."""
        described = structs.MQCBD.read(cbd)
        message, options = structs.MQMD.read(md), structs.MQGMO.read(gmo)
        with self._call(hconn) as session:
            dispatcher = self._dispatchers[hconn]
            if operation == mq.MQOP_REGISTER:
                is_handler = described["CallbackType"] == mq.MQCBT_EVENT_HANDLER
                opened = None if is_handler else session.object(hobj)
                key = mq.MQHO_NONE if is_handler else hobj
                consumer = Consumer(key, opened, described, message, options)
                consumer.check()
                if self.proxy is None:
                    raise Failure(mq.MQRC_CALLBACK_ROUTINE_ERROR)
                dispatcher.register(consumer, self.proxy)
            elif operation == mq.MQOP_DEREGISTER:
                dispatcher.deregister(hobj)
            elif operation in (mq.MQOP_SUSPEND, mq.MQOP_RESUME):
                dispatcher.suspend(hobj, operation == mq.MQOP_SUSPEND)
            else:
                raise Failure(mq.MQRC_OPERATION_ERROR)

    @answered
    def control(self, hconn: int, operation: int, ctlo: bytes) -> None:
        """MQCTL."""
        fields = structs.MQCTLO.read(ctlo)
        dispatcher = self._dispatchers.get(hconn)
        if dispatcher is None:
            raise Failure(mq.MQRC_HCONN_ERROR)
        if structs.MQCTLO.confirm(fields)["Options"] & ~(
            mq.MQCTLO_THREAD_AFFINITY | mq.MQCTLO_FAIL_IF_QUIESCING
        ):
            raise Failure(mq.MQRC_OPTIONS_ERROR)
        dispatcher.control(operation)


def _options_of(impo: bytes) -> int:
    """Return the options of an MQIMPO. Failure(2464) if it is none."""
    return int(structs.MQIMPO.confirm(structs.MQIMPO.read(impo))["Options"])


def _within(held: Value, name: str, room: int, impo: int) -> tuple[Any, int, str, int, int]:
    """Cut a value to the program's buffer. Failure(2469) if it does not fit."""
    size = size_of(held.type, held.value)
    if impo & mq.MQIMPO_QUERY_LENGTH:
        return held.value, size, name, *OK
    if size <= room:
        return held.value, size, name, *OK
    value = held.value
    if isinstance(value, str):
        value = value.encode()[:room].decode("utf-8", "ignore")
    elif isinstance(value, bytes):
        value = value[:room]
    return value, size, name, mq.MQCC_FAILED, mq.MQRC_PROPERTY_VALUE_TOO_BIG
