"""A standby's link to the owner: it introduces itself, and hears whether the owner lives.

It connects where the owner's announcement says that clients do, without TLS and else with it. The
owner's certificate is not looked at: both ends prove that they read the same ledger, which a
certificate does not say. When a proven link breaks and the owner's port is closed, the owner has
ended; when the owner answers nothing, it is silent. An owner that was never reached through a link
may be anywhere, and nothing follows from that.

Methods are called on the event loop's thread, but for those of OwnerSigns.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from collections.abc import Callable

import structlog
from msgspec import Struct
from msgspec.structs import replace

from adapter.connection.wire import codec
from adapter.connection.wire.frames import Goodbye, ProtocolError
from adapter.connection.wire.standby_frames import (
    LINK_VERSION,
    NONCE_BYTES,
    StandbyChallenge,
    StandbyHello,
    StandbyOrder,
    StandbyReport,
)
from adapter.host import logs, watched
from adapter.runtime.owner.announcement import OwnerPlace
from adapter.runtime.owner.owner_signs import PING_S, PINGS_MISSED, LinkEvidence, OwnerSigns
from adapter.server.standby.link_proof import OWNER, STANDBY, link_proof, proves

DIAL_S = PINGS_MISSED * PING_S
KNOWN_S = 5.0
"""How long the report that a standby stands by waits for its link at most."""
READ_BYTES = 64 * 1024
NOT_LINKED = "no link to the owner: only its ledger says whether it lives"
NOT_FOUND = "where it is, and its key, are not found in the ledger; they are looked for again"

log = structlog.get_logger("mqk.server")
repetitions = logs.Repetitions()

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class LinkBroken(Exception):  # noqa: N818 -- it says what has happened
    """The link has ended; the text says how."""


class NotTheOwner(LinkBroken):
    """What answers does not serve as the owner, or does not prove that it is."""


class OwnerAddress(Struct, frozen=True):
    """Where an owner may be reached. is_tls: by TLS."""

    address: str
    is_tls: bool

    async def dial(self) -> Streams:
        """Connect. Raises OSError, also for an invalid address: the ledger may hold any text."""
        host, _, port = self.address.rpartition(":")
        context = None
        if self.is_tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            return await asyncio.open_connection(host.strip("[]"), int(port), ssl=context)
        except (ValueError, OverflowError) as error:  # UnicodeError is a ValueError
            raise OSError(f"not an address: {error}") from error


class OwnerLink(OwnerSigns):
    """The link of one standby to the owner of its queue manager."""

    def __init__(
        self,
        queue_manager: str,
        report: Callable[[], StandbyReport],
        on_wanted: Callable[[bool], None],
        broke: watched.Ended,
        ping_s: float = PING_S,
    ) -> None:
        """report: returns what is to be said of this standby. on_wanted: is called with whether
        the owner is about to hand over to it. broke: hears of what must not fail and did.
        """
        self._queue_manager = queue_manager
        self._report = report
        self._on_wanted = on_wanted
        self._broke = broke
        self._ping_s = ping_s
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._evidence = LinkEvidence.NOTHING
        self._ahead = self._end_offset = 0
        self.is_wanted = False
        """Whether the owner that is watched is about to hand over to this standby, or has."""
        self._place = OwnerPlace()
        """Where the owner that is watched says that it is."""
        self._proven: OwnerAddress | None = None
        """Where the owner that is watched has been reached."""
        self._unanswered = 0
        self._known = asyncio.Event()
        """Set unless it is still to be seen whether the owner that is watched can be reached."""
        self._known.set()

    # OwnerSigns, for the thread that follows.

    @property
    def evidence(self) -> LinkEvidence:
        return self._evidence

    @property
    def ahead(self) -> int:
        return self._ahead

    @property
    def end_offset(self) -> int:
        return self._end_offset

    def watch(self, owner: bytes, place: OwnerPlace) -> None:  # noqa: ARG002 -- the port's
        self._evidence = LinkEvidence.NOTHING  # at once: the one before says nothing of this one
        self._loop.call_soon_threadsafe(self._watch, place)

    def forgive(self) -> None:
        self._loop.call_soon_threadsafe(self._forgive)

    # On the event loop.

    @property
    def is_new(self) -> bool:
        """Whether it is not known yet whether the owner that is watched can be reached."""
        return not self._known.is_set()

    async def await_known(self) -> None:
        """Wait until the owner that is watched knows this standby, or cannot be reached; bounded:
        an owner may answer the first frame, and no other one.
        """
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._known.wait(), KNOWN_S)

    def addresses(self, *, with_tls: bool) -> str:
        """Where clients find the owner, with TLS or without; "" if it does not answer there.

        An address without TLS may be one of the owner's own machine: it counts if the link goes
        there, which has proven that this is the owner.
        """
        if self._proven is None or self._evidence is not LinkEvidence.ALIVE:
            return ""
        if with_tls:
            return self._place.tls_address
        return "" if self._proven.is_tls else self._proven.address

    def stop(self) -> None:
        """Look at no owner any more."""
        self._known.set()
        self._let_go()

    def _let_go(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _watch(self, place: OwnerPlace) -> None:
        self._let_go()
        self._evidence = LinkEvidence.NOTHING
        self._ahead = self._end_offset = self._unanswered = 0
        self._want(False)
        self._place, self._proven = place, None
        if not place.key:
            repetitions.warn(log, NOT_LINKED, reason=NOT_FOUND)
            self._known.set()
        else:
            self._known.clear()
            self._task = watched.task("the link to the owner", self._keep(place), self._broke)

    async def _keep(self, place: OwnerPlace) -> None:
        """Link to an owner, and again when that is lost, until another one is to be watched."""
        while True:
            began_s = self._loop.time()
            places = [self._proven] if self._proven is not None else _places(place)
            problems = []
            for where in places:
                problems.append(await self._link(where, place.key))
                if self._proven is where:
                    break  # the owner is there, or nowhere
            self._known.set()
            repetitions.warn(log, NOT_LINKED, reason="; ".join(problems))
            # A link that has just been lost: whether the port is closed shows at once.
            has_lasted = self._loop.time() - began_s > DIAL_S
            await asyncio.sleep(0 if has_lasted else self._ping_s)

    async def _link(self, where: OwnerAddress, key: bytes) -> str:
        """Hold a link for as long as it lasts; return why it ended."""
        began_s = self._loop.time()
        try:
            async with asyncio.timeout(DIAL_S):
                reader, writer = await where.dial()
        except ConnectionRefusedError as error:
            if self._proven is where:
                self._evidence = LinkEvidence.ENDED
            return f"{where.address}: {error.strerror or error}"
        except (OSError, TimeoutError) as error:
            self._count_unanswered(self._loop.time() - began_s)
            return f"{where.address}: {str(error) or type(error).__name__}"
        try:
            await self._talk(where, key, reader, writer)
        except NotTheOwner as other:
            self._evidence = LinkEvidence.NOTHING
            return f"{where.address}: {other}"
        except (OSError, ProtocolError, LinkBroken) as lost:
            return f"{where.address}: {str(lost) or type(lost).__name__}"
        finally:
            writer.transport.abort()
        return ""

    async def _talk(
        self,
        where: OwnerAddress,
        key: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Prove, and report until the link breaks. Raises LinkBroken, ProtocolError or OSError."""
        buffer, ours = codec.FrameBuffer(), os.urandom(NONCE_BYTES)
        hello = StandbyHello(version=LINK_VERSION, queue_manager=self._queue_manager, nonce=ours)
        writer.write(codec.encode(hello))
        theirs = await self._await_challenge(reader, buffer, key, ours)
        self._proven = where
        proof = link_proof(key, STANDBY, ours, theirs)
        while True:
            writer.write(codec.encode(replace(self._report(), proof=proof)))
            proof = b""
            next_s = self._loop.time() + self._ping_s
            while (left_s := next_s - self._loop.time()) > 0:
                for frame in await _receive(reader, buffer, left_s):
                    self._take(frame)
            self._count_unanswered()

    async def _await_challenge(
        self, reader: asyncio.StreamReader, buffer: codec.FrameBuffer, key: bytes, ours: bytes
    ) -> bytes:
        """Return the owner's nonce, once it has proven that it is the owner."""
        frames = await _receive(reader, buffer, DIAL_S)
        if not frames:
            raise LinkBroken("no answer to a hello")
        challenge = frames[0]
        if not isinstance(challenge, StandbyChallenge):
            text = challenge.reason.detail if isinstance(challenge, Goodbye) else "no challenge"
            raise NotTheOwner(text)
        if not proves(challenge.proof, key, OWNER, ours, challenge.nonce):
            raise NotTheOwner("it does not know the key that the owner wrote to the ledger")
        return challenge.nonce

    def _take(self, frame: codec.OwnerFrame) -> None:
        if isinstance(frame, Goodbye):
            raise NotTheOwner(frame.reason.detail)
        if isinstance(frame, StandbyOrder):
            self._evidence = LinkEvidence.ALIVE
            self._known.set()
            self._unanswered = 0
            self._ahead, self._end_offset = frame.ahead, frame.end_offset
            self._want(frame.prepare)

    def _forgive(self) -> None:
        """Count its pings anew: it may have been frozen since it wrote what was read just now."""
        if self._evidence is LinkEvidence.SILENT:
            self._evidence, self._unanswered = LinkEvidence.ALIVE, 0

    def _want(self, is_wanted: bool) -> None:
        if is_wanted != self.is_wanted:
            self.is_wanted = is_wanted
            self._on_wanted(is_wanted)

    def _count_unanswered(self, for_s: float = 0.0) -> None:
        """A ping was not answered, or nothing could be asked for some time."""
        self._unanswered += max(1, int(for_s / self._ping_s))
        if self._unanswered > PINGS_MISSED and self._evidence is LinkEvidence.ALIVE:
            self._evidence = LinkEvidence.SILENT


async def _receive(
    reader: asyncio.StreamReader, buffer: codec.FrameBuffer, timeout_s: float
) -> list[codec.OwnerFrame]:
    """Return the next frames of the owner; none if nothing comes in time."""
    try:
        # Not wait_for: before Python 3.12 it may drop the cancellation of a link that is given up.
        async with asyncio.timeout(timeout_s):
            data = await reader.read(READ_BYTES)
    except TimeoutError:
        return []
    if not data:
        raise LinkBroken("the owner closed the connection")
    return [codec.decode_owner_frame(payload) for payload in buffer.feed(data)]


def _places(place: OwnerPlace) -> list[OwnerAddress]:
    """Return where an owner may be reached, in the order in which that is tried."""
    plain = [OwnerAddress(place.address, False)] if place.address else []
    return plain + ([OwnerAddress(place.tls_address, True)] if place.tls_address else [])
