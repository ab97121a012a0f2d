"""The connections of a program: made, entered for one call each, and given up.

The garbage collector may close a connection in the midst of another call: then the close is put off
(see reentry.py). This module knows no other verb.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from adapter import mq_constants as mq
from adapter.mqi import connecting, structs, subscribing
from adapter.mqi.connecting import NO_CREDENTIALS, ProgramCredentials
from adapter.mqi.consuming import Dispatcher
from adapter.mqi.message_handles import MessageHandles
from adapter.mqi.reasons import OK, MqiFailure
from adapter.mqi.reentry import PutOff, Reentry
from adapter.mqi.session import MqiSession


class ConnectionTable:
    """All connections of a program, by handle (Hconn)."""

    def __init__(self, messages: MessageHandles) -> None:
        self._messages = messages
        self._sessions: dict[int, MqiSession] = {}
        self._dispatchers: dict[int, Dispatcher] = {}
        self._numbers = itertools.count(1)
        self._reentry = Reentry(self._do_what_was_put_off)

    def connect(
        self,
        name: str,
        cno: bytes | None = None,
        cd: bytes | None = None,
        csp: bytes | None = None,
        sco: bytes | None = None,
        *,
        options: int = 0,
        credentials: ProgramCredentials = NO_CREDENTIALS,
        layouts: tuple[structs.Layout, structs.Layout] = (structs.MQCD, structs.MQSCO),
    ) -> tuple[int, int, int]:
        """MQCONN, MQCONNX: the connection handle, and the codes."""
        given = None if cno is None else structs.MQCNO.read(cno)
        channel = None if cd is None else layouts[0].read(cd)
        security = None if sco is None else layouts[1].read(sco)
        try:
            if given is None and options:
                given = connecting.plain_cno(options)
            if given is not None:
                connecting.check_options(given)
            who = credentials if credentials.user else connecting.credentials_of(csp)
            number = next(self._numbers)
            session = connecting.connect(
                number, name, os.environ, cno=given, cd=channel, sco=security, credentials=who
            )
        except MqiFailure as failure:
            return mq.MQHC_UNUSABLE_HCONN, failure.code, failure.reason
        self._sessions[number] = session
        self._dispatchers[number] = Dispatcher(session, self._messages, self._reentry)
        return (number, *OK)

    def check(self, hconn: int) -> None:
        """MqiFailure(2018) if there is no such connection, or none for this thread."""
        session = self._session(hconn)
        session.gate.check_thread(self._dispatchers[hconn].is_inside)

    def _session(self, hconn: int) -> MqiSession:
        session = self._sessions.get(hconn)
        if session is None:
            raise MqiFailure(mq.MQRC_HCONN_ERROR)
        return session

    def dispatcher(self, hconn: int) -> Dispatcher:
        """Return what calls the consumers of a connection. MqiFailure(2018) as of check()."""
        self.check(hconn)
        return self._dispatchers[hconn]

    @contextmanager
    def call(self, hconn: int) -> Iterator[MqiSession]:
        """Enter a connection for one call. MqiFailure if it does not exist (2018) or is lost."""
        self._do_what_was_put_off()
        session, dispatcher = self._session(hconn), self._dispatchers[hconn]
        from_consumer = dispatcher.admits()
        session.gate.check_thread(from_consumer)
        if not from_consumer:
            dispatcher.tell_registered()
        session.gate.enter(from_consumer)
        try:
            with self._reentry.inside():
                session.check()
                yield session
        finally:
            session.gate.leave()
            if not self._reentry.must_not_wait():
                self._do_what_was_put_off()
                self._catch_up(session)

    def disconnect(self, hconn: int) -> None:
        """Commit and close what is open, or put that off. Raises MqiFailure."""
        self._session(hconn)
        if self._reentry.must_not_wait():
            self._reentry.put_off(PutOff(hconn))
        else:
            self._disconnect(hconn, by_force=False)

    def close(self, hconn: int, hobj: int, options: int) -> None:
        """Close an object or a subscription, or put that off. Raises MqiFailure."""
        if hconn in self._sessions and self._reentry.must_not_wait():
            self._reentry.put_off(PutOff(hconn, hobj, options))
            return
        with self.call(hconn) as session:
            warning = subscribing.close(session, hobj, options)
            self._dispatchers[hconn].forget(hobj)
        if warning:
            raise MqiFailure(warning, warning=True)

    def _disconnect(self, hconn: int, by_force: bool) -> None:
        """Disconnect. by_force: from whatever thread. Raises MqiFailure.

        Whatever may refuse it comes first: a disconnection that is refused changes nothing.
        """
        session, dispatcher = self._session(hconn), self._dispatchers[hconn]
        if dispatcher.is_inside:  # it cannot end what it is called by
            raise MqiFailure(mq.MQRC_CALL_IN_PROGRESS)
        session.gate.begin_end(by_force)
        try:
            dispatcher.close()
            session.gate.enter(True)
        except BaseException:  # of a function, or an interruption: it may be tried again
            session.gate.abort_end()
            raise
        try:
            with self._reentry.inside():
                session.close()
        finally:
            session.gate.leave()
            self._sessions.pop(hconn, None)
            self._dispatchers.pop(hconn, None)
            self._messages.forget(hconn)

    def _do_what_was_put_off(self) -> None:
        for one in self._reentry.take():
            session = self._sessions.get(one.hconn)
            if session is not None:
                session.gate.put_off.append(one)
                self._catch_up(session)

    def _catch_up(self, session: MqiSession) -> None:
        """Do what was put off of one connection. In the midst of a call on it, the thread of that
        call does it when it leaves: no call waits for one on another connection.
        """
        while session.gate.put_off and session.gate.try_enter():
            try:
                with suppress(IndexError, MqiFailure):
                    self._make_up_for(session, session.gate.put_off.popleft())
            finally:
                session.gate.leave()

    def _make_up_for(self, session: MqiSession, one: PutOff) -> None:
        """Close or disconnect what a call that was put off was for. Raises MqiFailure."""
        dispatcher = self._dispatchers.get(one.hconn)
        if dispatcher is None:
            return
        if one.hobj is not None:
            if one.hobj in session.objects:
                with self._reentry.inside():
                    subscribing.close(session, one.hobj, one.options)
                    dispatcher.forget(one.hobj)
        else:  # packages keep a connection that has consumers: so none is called now
            self._disconnect(one.hconn, by_force=True)
