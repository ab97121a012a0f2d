"""Answers in: what the thread that leads does with the bytes that arrive, and with silence.

An answer goes to the request of its number. Some refusals say nothing about the command: the link
is given up then, and the command sent again on the next. This module does not know how a link is
made.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from msgspec import structs

from adapter.connection.channel import requests as rq
from adapter.connection.channel.conversation import NOT_NOW, left_by
from adapter.connection.channel.forking import do_if_free
from adapter.connection.channel.link.port import Link, LinkLost
from adapter.connection.channel.requests import Pending
from adapter.connection.channel.sending import Sender
from adapter.connection.channel.state import ChannelState
from adapter.connection.wire.codec import Payload, decode_server_frame
from adapter.connection.wire.frames import AnyReplies, AskServer, Goodbye, ProtocolError
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused

_as_tuple: Final = structs.astuple  # not looked up each time

SILENT_LOOKS_MAX: Final = 30
"""A thread that reads looks up so often while nothing comes, before it takes the link for lost."""
UNACKNOWLEDGED_BYTES_MAX: Final = 1024 * 1024
"""What has arrived is acknowledged with the next request, but at once if it is more than this: the
queue manager keeps it until then, and gives no more messages when it keeps too much."""
RESENT_MAX: Final = 5
"""A command that the queue manager refuses on connection after connection is not sent again."""


class Receiver:
    """Reads the links of one channel. Every method is called by the thread that leads."""

    def __init__(self, state: ChannelState, sender: Sender) -> None:
        self.look_up_s = state.timeouts.silence_s / SILENT_LOOKS_MAX
        self._state = state
        self._sender = sender
        self._silent_looks = 0

    def begin(self, link: Link) -> None:
        """Prepare a link that is to be read from now on."""
        link.look_up_every(self.look_up_s)
        self._silent_looks = 0

    def read(self, link: Link) -> None:
        """Read once; when nothing has come for long, ask for a sign of life. Raises LinkLost."""
        if not self.receive(link):
            self._mind_silence(link)

    def receive(self, link: Link) -> bool:
        """Read once and settle the requests that are answered; return whether any bytes came.

        Raises LinkLost.
        """
        payloads = link.receive()
        if payloads is None:
            return False
        self._silent_looks = 0
        sender = self._sender
        for payload in payloads:
            self._dispatch(payload)
            sender.unacknowledged_bytes += len(payload)
        if sender.unacknowledged_bytes > UNACKNOWLEDGED_BYTES_MAX:
            self._acknowledge(link)
        return True

    def _acknowledge(self, link: Link) -> None:
        """Say at once what has arrived, unless a thread is sending: then with what comes next."""
        state = self._state

        def send() -> None:
            if link is state.link and state.outstanding.session.has_seen:
                self._sender.send([], None, self.receive)
            self._sender.unacknowledged_bytes = 0

        do_if_free(state.lock, send, None)

    def _dispatch(self, payload: Payload) -> None:
        try:
            frame = decode_server_frame(payload)
        except ProtocolError as error:
            raise LinkLost(f"a frame that is not valid: {error}") from error
        if not isinstance(frame, AnyReplies):
            if isinstance(frame, Goodbye):
                quiescing = frame.reason.reason == Reason.QUEUE_MANAGER_QUIESCING
                self._state.outstanding.is_let_go = quiescing
                raise left_by(frame)
            raise LinkLost("a second welcome was not expected")
        state = self._state
        state.traffic.frames_received += 1
        outstanding = state.outstanding
        pending = outstanding.pending
        for answer in frame.answers:
            number, result = _as_tuple(answer)
            request = pending.get(number)
            if request is None:
                continue
            if type(result) is Refused:
                if result.reason == Reason.QUEUE_MANAGER_QUIESCING:
                    request.not_now = result  # until the link is lost, others may end their units
                    continue
                self._check_refusal(request, result)
            outstanding.answered(request, result)
        state.attempts = 0

    def _check_refusal(self, request: Pending, refused: Refused) -> None:
        """LinkLost if the command is to be sent again on another connection."""
        reason, outstanding = refused.reason, self._state.outstanding
        out_of_order = (
            reason == Reason.OUT_OF_ORDER
            and request.resent < RESENT_MAX
            and not outstanding.session_problem
        )
        if reason in NOT_NOW:
            request.not_now = refused  # it was not done: nothing about it is in doubt
        if reason in NOT_NOW or out_of_order:
            raise LinkLost(refused.detail or Reason(reason).name)
        if reason == Reason.MALFORMED_REQUEST and request.number:
            # It was refused before its number was counted; only a resumption gets past that.
            outstanding.answered(request, refused)
            raise LinkLost("a numbered command was malformed")

    def _mind_silence(self, link: Link) -> None:
        """Ask for a sign of life when nothing has come for long; take none for a lost link."""
        state = self._state
        self._silent_looks += 1
        if self._silent_looks >= SILENT_LOOKS_MAX:
            raise LinkLost(f"{link.peer}: nothing came for {state.timeouts.silence_s:.0f} s")
        if self._silent_looks == SILENT_LOOKS_MAX // 2:
            question = [Pending(AskServer(), rq.FORGOTTEN)]
            do_if_free(state.lock, partial(self._sender.send, question, None, self.receive), None)
