"""The port of links: a link carries the bytes of frames between a client and a queue manager.

A link lives from one connection to its loss; it is never opened again. A dialer opens links. Two
threads use a link at once: one receives (it leads, see leading.py), and one sends, which holds the
channel's lock. Therefore:

- What a link keeps of the bytes that arrive belongs to the thread that receives, and what it keeps
  of those that leave to the thread that sends.
- A link whose two directions share state, as those of TLS do (a received record may ask for one to
  be sent), keeps it behind a lock of its own. It holds that lock while it turns plain bytes into
  records or back, in memory, and never while it waits for the network: a thread that waits for
  bytes must not keep another from sending some.
- shutdown() may be called by any thread at any moment and takes no lock.

Whatever goes wrong with a link is LinkLost. This module does not know what frames mean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from adapter.connection.channel.addresses import Address
from adapter.connection.wire.codec import Payload


class LinkLost(Exception):  # noqa: N818 -- it is an event, dealt with by connecting again
    """The link is of no more use. moved_to: where the other end said that the queue manager is."""

    moved_to = ""


class LinkSilent(LinkLost):
    """Nothing came for longer than heartbeats would take: the other end is frozen or gone."""


class HostNotReached(LinkLost):
    """No link could be made at all: there is no such host, or nothing listens there."""


class TlsRefused(HostNotReached):
    """Something listens there, and no TLS comes about with it."""


class LinkTimings(Struct, frozen=True, kw_only=True):
    """How long a link waits for what.

    look_up_s: a blocked receive returns after this time, and a blocked send looks whether it has
    stalled. stall_s: a peer that takes nothing for this long is as good as gone.
    """

    look_up_s: float = 1.0
    stall_s: float = 30.0


TIMINGS = LinkTimings()


class NewLink(Struct, frozen=True):
    """A link in place of a lost one. address: of the queue manager. away_s: seconds since the
    connection was lost. count: how many such links the connection has had. reason: why it was lost.
    """

    address: str
    away_s: float
    count: int
    reason: str


class NoLink(Struct, frozen=True):
    """No link was made in time. reason: why. is_other: another queue manager answers there."""

    reason: str
    is_other: bool


OnLink = Callable[[NewLink | NoLink | None], None]
"""Called with None when a link is lost, and with what took its place, or that nothing did."""


class Link(Protocol):
    """One connection to a queue manager. One thread receives, one at a time sends."""

    bytes_received: int

    @property
    def leaves_process(self) -> bool:
        """Whether its other end is in another process, which may be frozen, or gone in silence."""

    @property
    def peer(self) -> str:
        """Where the queue manager is, as texts of errors name it."""

    def look_up_every(self, seconds: float) -> None:
        """Make a receive without data return after this time."""

    def receive(self) -> list[Payload] | None:
        """Wait for bytes; return the frames that are complete now, or None when looking up.

        Raises LinkLost.
        """

    def send(self, frame: bytearray | bytes, while_full: WhileFull = None) -> None:
        """Send one frame, whole; the caller may change the buffer when this returns.

        while_full is called when the other end takes nothing but has sent something. It must
        receive, or see to it that another thread does: else each end would wait for the other for
        ever. Raises LinkLost.
        """

    def has_arrived(self) -> bool:
        """Whether a receive would return at once. Any thread may ask."""

    def has_room(self) -> bool:
        """Whether a short frame could be sent at once. Any thread may ask."""

    def shutdown(self) -> None:
        """End it, from any thread: the threads that receive and send find out at once."""

    def close(self) -> None:
        """Give back what it holds. Only for the thread that receives, or when none does."""

    def disown(self) -> None:
        """Give back what a forked child holds of it, and send nothing: it is its parent's."""


WhileFull = Callable[[Link], object] | None


class Dialer(Protocol):
    """Opens links to one place, see places."""

    @property
    def place(self) -> str:
        """See ManagerPlace."""

    def toward(self, address: Address) -> Dialer | None:
        """See ManagerPlace."""

    def dial(self, timeout_s: float) -> Link:
        """Open a link within a time. Raises HostNotReached."""

    def interrupt(self) -> None:
        """Let a dial of another thread end now, with HostNotReached."""
