"""A channel to a Core, in one thread: what is asked is answered before the send returns.

While nothing has come, time passes: a get that waits gets a message that is delayed, or ends. When
the core has crashed, or the link was cut, the connection is lost.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from adapter.connection.channel.addresses import Address
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.handshake import Handshake
from adapter.connection.channel.link.port import HostNotReached, LinkLost, WhileFull
from adapter.connection.channel.timeouts import Timeouts
from adapter.connection.wire import codec, frames
from adapter.connection.wire.codec import FrameBuffer, Payload
from adapter.connection.wire.session import Incoming, ServerSession
from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.results import Refused
from tests.support.core import Client, Core

PEER = "the core"
Watch = Callable[[str, c.Command | None], bool]
"""Called "before" and "after" a command is executed, and when the client "waits". Returns "before"
whether the command is answered. May raise LinkLost, or what the program is to be killed by.
"""


def watch_nothing(when: str, command: c.Command | None) -> bool:
    """Let everything happen."""
    return True


def channel_on(core: Core, watch: Watch = watch_nothing) -> Channel:
    """Connect to a core. What watch does may crash the core or cut the link."""
    shaken = Handshake([CoreDialer(core, watch)], core.qm.name, "channel of a test")
    return Channel(shaken, Timeouts(reconnect_timeout_s=0.0, close_s=0.0))


class CoreDialer(Struct):
    """Dials one core. is_away: nothing answers."""

    core: Core
    watch: Watch
    is_away: bool = False

    def dial(self, timeout_s: float) -> CoreLink:
        if self.is_away:
            raise HostNotReached(PEER)
        return CoreLink(self.core, self.watch)

    @property
    def place(self) -> str:
        return PEER

    def toward(self, address: Address) -> None:
        """Nothing else is to be had."""

    def interrupt(self) -> None:
        pass


class CoreLink:
    """One link, and the server's end of it."""

    peer = PEER
    leaves_process = False

    def __init__(self, core: Core, watch: Watch) -> None:
        self.bytes_received = 0
        self._core = core
        self._term = core.qm
        self._watch = watch
        self._session = ServerSession(core.qm.name)
        self._buffer = FrameBuffer()
        self._client: Client | None = None
        self._inbox: list[bytes] = []
        self._waiting: set[int] = set()
        self._is_lost = False
        self._withholds = False

    def look_up_every(self, seconds: float) -> None:
        pass

    def receive(self) -> list[Payload] | None:
        self._check()
        self._collect()
        if not self._inbox:
            self._tell("waits", None)
            due_ms = self._core.next_tick_ms()
            if due_ms is None and self._withholds:
                self._is_lost = True
                raise LinkLost("no answer")
            assert due_ms is not None, "the client waits for ever"
            self._core.advance(max(due_ms - self._core.now_ms, 1) / 1000)
            self._collect()
        if not self._inbox:
            return None
        data = self._inbox.pop(0)
        self.bytes_received += len(data)
        return self._buffer.feed(data)

    def send(self, frame: bytearray | bytes, while_full: WhileFull = None) -> None:
        self._check()
        received = self._session.receive(bytes(frame))
        if received.hello is not None:
            self._welcome()
        if self._client is None:
            return
        self._core.acknowledge(self._client.number, received.seen)
        for one in received.operations:
            self._execute(self._client, one)

    def _welcome(self) -> None:
        self._client = self._core.connect()
        self._put(
            frames.Welcome(
                version=frames.PROTOCOL_VERSION,
                queue_manager=self._core.qm.name,
                connection=self._client.number,
            )
        )

    def _execute(self, client: Client, one: Incoming) -> None:
        command = one.command
        assert not isinstance(command, Refused | frames.ServerCommand), command
        if self._tell("before", command):
            self._waiting.add(one.request)
        else:
            self._withholds = True
        self._core.execute(c.Request(client.number, one.request, one.number, command))
        self._tell("after", command)

    def _tell(self, when: str, command: c.Command | None) -> bool:
        try:
            is_answered = self._watch(when, command)
        except LinkLost:
            self._is_lost = True
            raise
        self._check()
        return is_answered

    def _collect(self) -> None:
        """Take the answers that there are."""
        assert self._client is not None
        for request in sorted(self._waiting):
            answer = self._client.answer(request)
            if answer is not None:
                self._waiting.discard(request)
                self._put(frames.Replies([frames.Answer(request, answer)]))

    def _put(self, frame: Struct) -> None:
        self._inbox.append(codec.encode(frame))

    def has_arrived(self) -> bool:
        return bool(self._inbox)

    def has_room(self) -> bool:
        return True

    def cut(self) -> None:
        """Lose the connection: the queue manager hears of it now."""
        self._is_lost = True
        if self._client is not None and self._core.qm is self._term:
            self._core.take(self._core.give(inputs.Disconnected(self._client.number)))

    def _check(self) -> None:
        client = self._client
        is_gone = client is not None and client.number not in self._core.qm.connections
        if self._is_lost or is_gone or self._core.qm is not self._term:
            raise LinkLost("the core is gone, or the connection")

    def shutdown(self) -> None:
        if not self._is_lost:
            self.cut()

    def close(self) -> None:
        self.shutdown()

    def disown(self) -> None:
        pass
