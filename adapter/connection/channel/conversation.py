"""What is said on a new link before it carries requests: words and answers, without any waiting.

A conversation is a generator: it yields the bytes that are to be sent, or b"" if there are none,
and is given the frames that come next. A thread that blocks (handshake.py) or a task drives
it on a link. This module knows no socket, no thread and no task.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol, TypeVar

from adapter.connection.channel.link.port import HostNotReached, LinkLost, TlsRefused
from adapter.connection.channel.requests import Pending, encode_into, note_queue
from adapter.connection.channel.state import ChannelState
from adapter.connection.channel.token_source import TokenSource
from adapter.connection.wire.codec import Payload, decode_server_frame, encode
from adapter.connection.wire.frames import (
    OLDEST_VERSION,
    PROTOCOL_VERSION,
    AnyReplies,
    Goodbye,
    Hello,
    ProtocolError,
    ServerFrame,
    Welcome,
    versions_text,
)
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.errors import Error, QueueManagerNotAvailable
from adapter.errors.refusals import refusal

NOT_NOW = (
    Reason.QUEUE_MANAGER_STOPPING,
    Reason.QUEUE_MANAGER_NOT_AVAILABLE,
    Reason.STANDBY_QUEUE_MANAGER,
)
"""Refusals that say nothing about the command itself: it is sent again on a new connection."""

ResultT = TypeVar("ResultT")
Conversation = Generator[bytes, list[ServerFrame], ResultT]


class Rejected(LinkLost):
    """The queue manager answered, but not with a welcome. moved_to: see Goodbye."""

    def __init__(self, error: Error, moved_to: str = "") -> None:
        super().__init__(error.happened)  # the text around it names a remedy of its own
        self.error = error
        self.moved_to = moved_to


def left_by(goodbye: Goodbye) -> Rejected:
    """Return the loss of a link that a goodbye ends."""
    reason = goodbye.reason
    return Rejected(refusal(reason.reason, reason.name, reason.detail), goodbye.moved_to)


class Greeted(Protocol):
    """What a conversation has to know of its link; see Link."""

    @property
    def peer(self) -> str: ...

    @property
    def leaves_process(self) -> bool: ...


class Introduction:
    """Who a client is, and which queue manager it means: that is fixed by the first welcome."""

    def __init__(
        self,
        queue_manager: str,
        application: str,
        user: str = "",
        password: str = "",
        channel: str = "",
        token: TokenSource | None = None,
    ) -> None:
        """token: where the client's token comes from, in place of user and password."""
        self.queue_manager = queue_manager
        self.token_source = token
        self.token = ""
        """The token that was shown last."""
        self.application = application
        self.kafka = ""
        self.version = 0
        """The version that the link in use speaks."""
        self.wanted_heartbeat_ms = 0
        """0: this client sends none."""
        self.heartbeat_ms = 0
        """As agreed for the link in use."""
        self._user = user
        self._password = password
        self._channel = channel

    def token_to_show(self) -> str:
        """Return the token of the moment, "" for none; it asks the program's function, which may
        take its time. Raises Rejected."""
        token = self.token_source.said() if self.token_source is not None else ""
        if isinstance(token, Error):
            raise Rejected(token)
        return token

    def greeting(self, link: Greeted, token: str) -> Conversation[None]:
        """Say hello, and take the welcome. Raises LinkLost."""
        hello = Hello(
            version=PROTOCOL_VERSION,
            oldest=OLDEST_VERSION,
            queue_manager=self.queue_manager,
            application=self.application,
            user=self._user,
            password=self._password,
            channel=self._channel,
            token=token,
            heartbeat_ms=self.wanted_heartbeat_ms if link.leaves_process else 0,
        )
        self.token = token
        frames = yield encode(hello)
        welcome = frames[0]
        if not isinstance(welcome, Welcome):
            raise LinkLost(f"{link.peer}: a welcome was expected")
        _check_version(welcome)
        self.queue_manager = welcome.queue_manager
        self.kafka = welcome.kafka
        self.version = welcome.version
        self.heartbeat_ms = welcome.heartbeat_ms


def _check_version(welcome: Welcome) -> None:
    """Refuse a queue manager that goes on in a version that this release does not speak."""
    if not OLDEST_VERSION <= welcome.version <= PROTOCOL_VERSION:
        text = (
            f"it speaks version {welcome.version}, this client "
            f"{versions_text(OLDEST_VERSION, PROTOCOL_VERSION)}"
        )
        raise Rejected(refusal(Reason.PROTOCOL_VERSION_ERROR, welcome.queue_manager, text))


def frames_of(payloads: Sequence[Payload], peer: str) -> list[ServerFrame]:
    """Decode what came; LinkLost if it is no frame, or says goodbye."""
    try:
        frames = [decode_server_frame(payload) for payload in payloads]
    except ProtocolError as error:
        raise LinkLost(f"{peer}: no queue manager of this protocol: {error}") from error
    for frame in frames:
        if isinstance(frame, Goodbye):
            raise left_by(frame)
    return frames


def exchange(requests: Sequence[Pending], peer: str) -> Conversation[None]:
    """Send requests on a link that nothing else uses yet, and take every answer."""
    if not requests:
        return
    waiting = {request.request: request for request in requests}
    frame = bytearray()
    encode_into(frame, [(r.request, r.number, r.command) for r in requests], [])
    say = bytes(frame)
    while waiting:
        received = yield say
        say = b""
        for one in received:
            if not isinstance(one, AnyReplies):
                raise LinkLost(f"{peer}: {type(one).__name__} was not expected")
            for answer in one.answers:
                request = waiting.pop(answer.request, None)
                if request is not None:
                    request.answer = answer.result


def resume(state: ChannelState, peer: str) -> Conversation[None]:
    """Attach to the session; if it is not known any more, settle the requests numbered in it.

    Raises LinkLost.
    """
    outstanding = state.outstanding
    with state.lock:
        requests = outstanding.resumption()
    yield from exchange(requests, peer)
    refused = refusal_among(requests)
    if refused is None:
        outstanding.resumed(requests)
    elif refused.reason in NOT_NOW:
        raise LinkLost(refused.detail)
    else:
        error = refusal(refused.reason, refused.name, refused.detail)
        with state.lock:
            outstanding.session_lost(error.text)


def reopen(state: ChannelState, peer: str) -> Conversation[None]:
    """Open again every handle that was open, or that unanswered requests need."""
    with state.lock:
        requests = state.outstanding.reopening()
    yield from exchange(requests, peer)
    for request in requests:
        refused = refusal_among([request])
        note_queue(request)
        if refused is not None and refused.reason in NOT_NOW:
            raise LinkLost(refused.detail)
        if refused is not None and request.handle is not None:
            request.handle.refused = refused
            request.handle.is_open = False  # its next verb opens it anew, and is refused


def refusal_among(requests: Sequence[Pending]) -> Refused | None:
    """Return the first refusal."""
    for request in requests:
        if isinstance(request.answer, Refused):
            return request.answer
    return None


def why_none(problems: Sequence[LinkLost], queue_manager: str) -> Rejected:
    """Say why no place has given a link: the first that was refused, else that none answers."""
    for problem in problems:
        if isinstance(problem, Rejected):
            return problem
    error = QueueManagerNotAvailable(
        f"no queue manager answers ({'; '.join(map(str, problems))}): "
        "is it running, and is the address right?",
        queue_manager,
    )
    error.is_host_available = not all(isinstance(one, HostNotReached) for one in problems)
    error.is_tls_refused = any(isinstance(one, TlsRefused) for one in problems)
    return Rejected(error)
