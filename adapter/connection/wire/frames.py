"""Frames: what the two ends of a connection say to each other, and the bounds of it.

A frame is one msgpack array, its first element an integer tag. A frame of requests carries raw
operations, each decoded on its own, so that one malformed operation answers for itself. This module
knows no bytes: see codec.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from msgspec import Meta, Raw, Struct

from adapter.core.contract.results import Refused, Result

PROTOCOL_VERSION: Final = 3
"""Version 2 has one-way operations, Touch, Begin.ahead and the option DEFERRED of puts; version 3
the option CONTINUES of puts and gets, and browses by place."""
ONE_WAY_VERSION: Final = 2
CONTINUES_VERSION: Final = 3
OLDEST_VERSION: Final = 1
"""The oldest version that is still spoken. Hello, Welcome and Goodbye only ever gain fields at
their end, so that two ends of any versions can tell each other that they have none in common."""
FRAME_BYTES_MAX: Final = 104 * 1024 * 1024
"""The longest message, 100 MiB, and what is around it. Memory is taken as the bytes come."""
HELLO_BYTES_MAX: Final = 20 * 1024
"""A token of the longest, and short texts. Nothing is known yet of who sends it."""
OPERATIONS_MAX: Final = 10_000
SEEN_MAX: Final = 10_000
"""Ten times what a client may leave unanswered."""


Text = Annotated[str, Meta(max_length=256)]
"""What names a party; none of them has more than 64 letters."""
TOKEN_LENGTH_MAX: Final = 16 * 1024
"""Of a token: those with hundreds of groups have a few KB."""
Token = Annotated[str, Meta(max_length=TOKEN_LENGTH_MAX)]
HEARTBEAT_MS_MAX: Final = 3_600_000
HeartbeatMs = Annotated[int, Meta(ge=0, le=HEARTBEAT_MS_MAX)]
"""Milliseconds of silence after which an end says something; 0: it never does for that alone."""


class ProtocolError(Exception):
    """The other end sent what the protocol does not allow; the connection is of no more use."""


class Hello(Struct, array_like=True, tag=1, kw_only=True):
    """The client's first frame. queue_manager: the name it wants to talk to, "" for any.

    version: the newest that it speaks; oldest: the oldest, 0 if it speaks only that one. channel:
    the name of the channel that a program of IBM MQ connects by. token: a JSON Web Token that says
    who it is, in place of user and password. heartbeat_ms: how often it wants heartbeats, and will
    send some; see heartbeats.
    """

    version: int
    queue_manager: Text = ""
    application: Text = ""
    user: Text = ""
    oldest: int = 0
    password: Text = ""
    channel: Text = ""
    token: Token = ""
    heartbeat_ms: HeartbeatMs = 0

    def __repr__(self) -> str:
        """Leave the password out: what fails with a hello as an argument may be logged."""
        return (
            f"Hello(version={self.version}, application={self.application!r}, user={self.user!r})"
        )


class Welcome(Struct, array_like=True, tag=2, kw_only=True):
    """The server's answer to Hello. connection: its number, as status displays show it.

    version: the one that is spoken from here on, the newest that both ends speak. kafka: where the
    queues' topics are, for those that read them; "" for a queue manager without Kafka.
    heartbeat_ms: how often each end says something from here on; 0: neither does for that alone.
    """

    version: int
    queue_manager: str
    connection: int
    frame_bytes_max: int = FRAME_BYTES_MAX
    kafka: Text = ""
    heartbeat_ms: HeartbeatMs = 0


class Operation(Struct, array_like=True, gc=False):
    """One request. number: 0, or the number of a durable command in the client's session.

    request: the client's own number, by which it is answered; or 0 for an operation that gets no
    answer, which core.contract.traits.is_one_way allows.
    """

    request: int
    number: int
    command: Raw


class Requests(Struct, array_like=True, tag=3):
    """Requests, in order. seen: numbers of outcomes that the client has got since its last.

    A client with large messages says so at once: what is not seen is kept, and when it is too much
    (Limits.kept_bytes), gets outside units wait.
    """

    operations: Annotated[list[Operation], Meta(max_length=OPERATIONS_MAX)]
    seen: Annotated[list[int], Meta(max_length=SEEN_MAX)] = []


class Answer(Struct, array_like=True, gc=False):
    """The answer to one request."""

    request: int
    result: Result


class Replies(Struct, array_like=True, tag=4):
    """Answers, in the order in which they became true."""

    answers: list[Answer]


class Goodbye(Struct, array_like=True, tag=5):
    """The server closes this connection, and says why.

    moved_to: where the client is to go instead, HOST:PORT or a comma list of them; "" if that is
    not known.
    """

    reason: Refused
    moved_to: Text = ""


class Stop(Struct, array_like=True, tag=1001):
    """Ask the server process to stop. Not a matter of core.

    immediate: give units in flight no time to end. hand_over: a standby takes over, if there is
    one.
    """

    immediate: bool = False
    hand_over: bool = False


class SwitchOwner(Struct, array_like=True, tag=1004):
    """Hand the queue manager over to a standby. Not a matter of core.

    to: its name or address; "" for the one that goes first. Answered by Figures: "name" and
    "address" of the standby, or "why_not" nothing was done.
    """

    to: Text = ""


class AskServer(Struct, array_like=True, tag=1002):
    """Ask for the server's figures. Not a matter of core."""


class RenewToken(Struct, array_like=True, tag=1003):
    """Let the connection go on by another token of the same user. Not a matter of core."""

    token: Token


class Figures(Struct, array_like=True, tag=1001):
    """The figures of a server, by name."""

    figures: dict[str, Any]


class AnyAnswer(Struct, array_like=True, gc=False):
    """An answer as a client reads it: a result of core or of the server itself."""

    request: int
    result: Result | Figures


class AnyReplies(Struct, array_like=True, tag=4):
    """Replies as a client reads them."""

    answers: list[AnyAnswer]


ServerCommand = Stop | SwitchOwner | AskServer | RenewToken
ClientFrame = Hello | Requests
ServerFrame = Welcome | AnyReplies | Goodbye


def common_version(hello: Hello) -> int:
    """Return the newest version that a client and this release both speak; 0 if they share none."""
    version = min(hello.version, PROTOCOL_VERSION)
    oldest = max(hello.oldest or hello.version, OLDEST_VERSION)
    return version if version >= oldest else 0


def versions_text(oldest: int, newest: int) -> str:
    """Name the versions that an end speaks."""
    return f"version {newest}" if oldest in (0, newest) else f"versions {oldest} to {newest}"
