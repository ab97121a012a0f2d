"""What one end of a connection has asked and not yet been answered, and how it is encoded.

A request says for itself what becomes of it when the TCP connection is lost. This module knows no
socket and no thread.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, Final, Protocol

import msgspec
from msgspec import Raw, Struct

from adapter.connection.channel.numbering import SessionNumbers
from adapter.connection.wire.codec import LENGTH_BYTES
from adapter.connection.wire.frames import FRAME_BYTES_MAX, Figures, ServerCommand
from adapter.core.contract.commands import (
    EXISTING,
    SHARED,
    Command,
    Open,
    OpenConsumer,
    OpenTopic,
    Subscribe,
)
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq import MsmqOpen
from adapter.core.contract.results import Done, Opened, Refused, Result, Subscribed
from adapter.core.contract.traits import is_durable, is_part_of_unit
from adapter.errors import Error, InvalidValue, MessageTooLong

AGAIN: Final = 0
"""It is sent again under its number, or, being a mere question, asked again."""
WITH_UNIT: Final = 1
"""It belongs to a unit, which is gone: the waiting call reports that it was backed out."""
FROM_START: Final = 2
"""It depends on what the lost connection held (a cursor): the waiting call starts again."""
FORGOTTEN: Final = 3
"""No thread waits for it."""

REQUESTS_TAG: Final = 3
KEPT_BYTES_MAX: Final = 1024 * 1024
"""Of one unit's puts without an answer: a unit that puts more is backed out with its connection."""
KEPT_BYTES_EACH: Final = 100
"""What a request takes beside its messages."""
FRAME_OPERATIONS_MAX: Final = 5_000
"""Half of what a frame may have."""


class Handle:
    """A handle as the client keeps it. is_open: it is open, or opened again on every connection.

    refused: why it could not be opened again on a new connection. leads_to: the local queue, if
    queue is another name for it, or the model that it was made from. incarnation: of that queue.
    selection: what gets and browses under it are given. opening: what opens it, if it is not a
    queue's name. opened_with: the handle whose opening opens this one too.
    queue_manager: the queue's, if it is not the one of the connection. alternate_user: by whose
    authorities it is opened, if that is not the user of the connection.
    """

    __slots__ = (
        *("is_open", "leads_to", "modes", "number", "opened_with", "opening", "queue"),
        *("alternate_user", "queue_manager", "refused", "selection", "incarnation"),
    )

    def __init__(
        self,
        number: int,
        queue: str,
        modes: int,
        selection: str = "",
        opening: Open | OpenTopic | Subscribe | OpenConsumer | MsmqOpen | None = None,
        opened_with: Handle | None = None,
    ) -> None:
        self.number = number
        self.queue = queue
        self.modes = modes
        self.is_open = False
        self.refused: Refused | None = None
        self.leads_to = ""
        self.incarnation = 0
        self.selection = selection
        self.opening = opening
        self.opened_with = opened_with
        self.queue_manager = ""
        self.alternate_user = ""

    @property
    def source(self) -> str:
        """The local queue that it was opened for last: what is got by it comes from there."""
        opened = self.opened_with or self
        return opened.leads_to or self.queue

    @property
    def origin(self) -> tuple[str, int]:
        """The local queue that it was opened for last, and its incarnation: of whose places are
        those of messages under it. Over another link it may be another.
        """
        return self.leads_to or self.queue, self.incarnation


class Wake(Protocol):
    """What wakes the thread or the task that waits for an answer."""

    def put(self, item: None, /) -> None:
        """Wake it."""


class StartOver(Struct):
    """In place of an answer: the connection was lost, and with it what the request built on."""


Operations = list[tuple[int, int, Any]]
"""Request number, session number and command of each request in a frame."""
RequestResult = Result | Figures | Error | StartOver


class UnitOnWire:
    """A unit as the connection sees it: begun with its first verb, gone with its TCP connection.

    ahead: it is begun ahead. is_dropped: no program can end it any more. is_broken: a call was
    interrupted that had its deferred puts in hand, and nothing more is done in it. asked: how many
    requests of it have been made that get an answer. one_way: those that get none, each behind
    which request number of the connection; kept: of how many bytes, of KEPT_BYTES_MAX; more is not
    kept.
    """

    __slots__ = (
        *("ahead", "asked", "beginning", "epoch", "ident", "is_broken", "is_dropped", "kept"),
        *("one_way", "session"),
    )

    def __init__(self, ident: bytes, session: SessionNumbers, ahead: bool = False) -> None:
        self.ident = ident
        self.session = session
        self.ahead = ahead
        self.epoch = -1
        self.beginning: Pending | None = None
        self.is_dropped = False
        self.is_broken = False
        self.asked = 0
        self.kept = 0
        self.one_way: list[tuple[int, Pending]] = []

    @property
    def is_whole(self) -> bool:
        """Whether all that was sent of it is still there."""
        return not self.ahead and not self.is_broken and self.kept <= KEPT_BYTES_MAX

    def may_keep(self, requests: Iterable[Pending]) -> bool:
        """Whether what of these gets no answer could be kept."""
        more = sum(weight_of(one.command) for one in requests if one.one_way)
        return self.is_whole and self.kept + more <= KEPT_BYTES_MAX

    def keep(self, behind: int, request: Pending) -> None:
        """Keep a request that gets no answer, unless there are too many of them."""
        self.kept += weight_of(request.command)
        if self.is_whole:
            self.one_way.append((behind, request))
        else:
            self.one_way = []


class Pending:
    """One request. request and number are given to it when it is submitted.

    when_lost: what becomes of it, if it is not part of a unit: with that it is gone in any case,
    unless no thread waits for it. durable: it gets a number of the session. answer: None until
    there is one. wake: put to when who waits for it has something to do. wait_until_s: when a
    waiting get's time is over. not_now: it was refused because the queue manager is being stopped,
    and waits for the next one. unsure: it was sent before over a connection that was lost without
    an answer, and may have been carried out then, whatever is answered since. one_way: it has
    no request number and gets no answer; it belongs to a unit, and goes out at once or not at all.
    begins: the unit that it begins. ends: the unit that it commits. opens: it opens its handle.
    """

    __slots__ = (
        *(
            "answer",
            "begins",
            "command",
            "durable",
            "ends",
            "handle",
            "not_now",
            "number",
            "one_way",
            "opens",
        ),
        *("request", "resent", "sent", "unsure", "wait_until_s", "wake", "when_lost"),
    )

    def __init__(
        self,
        command: Command | ServerCommand,
        when_lost: int = AGAIN,
        handle: Handle | None = None,
        *,
        wait_until_s: float = 0.0,
        one_way: bool = False,
        begins: UnitOnWire | None = None,
    ) -> None:
        durable = is_durable(command)  # then it outlives its unit, or is in none
        if when_lost == AGAIN and not durable and is_part_of_unit(command):
            when_lost = WITH_UNIT
        self.command: Any = command
        self.when_lost = when_lost
        self.handle = handle
        self.durable = durable
        self.request = self.number = 0
        self.answer: RequestResult | None = None
        self.wake: Wake | None = None
        self.sent = False
        self.resent = 0
        self.wait_until_s = wait_until_s
        self.not_now: Refused | None = None
        self.unsure = False
        self.one_way = one_way
        self.begins = begins
        self.ends: UnitOnWire | None = None
        self.opens = False

    def settle(self, answer: RequestResult) -> None:
        """Give the answer to the waiting call, unless it has one."""
        if self.answer is None:
            self.answer = answer
        if self.wake is not None:
            self.wake.put(None)


def open_request(handle: Handle, when_lost: int = AGAIN) -> Pending:
    """Make the request that opens a handle."""
    modes = handle.modes & ~(EXISTING | SHARED)
    queue = Open(handle.number, handle.queue, modes, "", handle.selection)
    queue.existing = bool(handle.modes & EXISTING)
    queue.shared = bool(handle.modes & SHARED)
    queue.queue_manager = handle.queue_manager
    queue.alternate_user = handle.alternate_user
    request = Pending(handle.opening or queue, when_lost, handle=handle)
    request.opens = True
    return request


def note_queue(request: Pending) -> None:
    """Note which queue an open has led to."""
    answer, handle = request.answer, request.handle
    if handle is None:
        return
    if isinstance(answer, Opened):
        handle.leads_to, handle.incarnation = answer.queue, answer.incarnation
    elif isinstance(answer, Subscribed):
        handle.leads_to = answer.queue
    elif isinstance(answer, Done):  # the queue of that name, the first one
        handle.leads_to, handle.incarnation = "", 0


_encoder: Final = msgspec.msgpack.Encoder()
_pack_length: Final = struct.Struct(">I").pack_into
"""Of LENGTH_BYTES."""
ENCODING_ERRORS: Final = (
    TypeError,
    ValueError,
    OverflowError,
    RecursionError,
    msgspec.MsgspecError,
)


def encode_into(buffer: bytearray, operations: Operations, seen: list[int]) -> None:
    """Encode one frame of requests; MessageTooLong or InvalidValue if it cannot be sent."""
    try:
        _encoder.encode_into((REQUESTS_TAG, operations, seen), buffer, LENGTH_BYTES)
    except ENCODING_ERRORS as error:
        raise InvalidValue(f"an argument cannot be sent: {error}") from error
    length = len(buffer) - LENGTH_BYTES
    if length > FRAME_BYTES_MAX:
        raise MessageTooLong(
            f"the request has {length} bytes, {FRAME_BYTES_MAX} is the most: send less at once"
        )
    _pack_length(buffer, 0, length)


def encode(content: MessageData) -> Raw:
    """Encode a message that is sent later, so that later changes of its parts do not matter."""
    try:
        return Raw(_encoder.encode(content))
    except ENCODING_ERRORS as error:
        raise InvalidValue(f"an argument cannot be sent: {error}") from error


def weight_of(command: Command | ServerCommand) -> int:
    """Say about how many bytes a command takes that is kept."""
    size = KEPT_BYTES_EACH
    for message in getattr(command, "messages", ()):
        size += len(memoryview(message)) if isinstance(message, Raw) else KEPT_BYTES_MAX
    return size


def size_of(command: Command | ServerCommand) -> int:
    """Say how many bytes a command takes in a frame."""
    return len(_encoder.encode(command))
