"""A queue manager's part in the network: senders, receiver, and what arrives, put together.

A sender is started for each transmission queue that has messages, and again if one ends. Methods
are called on the event loop's thread; what blocks runs in others. This module must not know what
is sent, nor how it is read.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import count
from typing import Any

import structlog
from msgspec import Struct

from adapter.core import inputs
from adapter.core.contract.computers import KnownComputer
from adapter.host import watched
from adapter.runtime.network.directory import Directory, DirectoryEntry, by_computer, entry_record
from adapter.runtime.network.figures import NetworkFigures
from adapter.runtime.network.port import NetworkError, SentRecord, Transport
from adapter.runtime.network.receiver import NetworkReceiver
from adapter.runtime.network.sender import APPLICATION, SenderParts, TopicTurns, TransmissionSender
from adapter.runtime.own_clients.client import client_of
from adapter.runtime.owner.inbound import Inbound
from adapter.runtime.owner.owner import Owner
from adapter.runtime.owner.term import OwnerTerm
from adapter.server.process.parts import AcceptOwn, Part

DIRECTORY_S = 1.0
"""How long clients wait for the directory after a start or a take-over. It takes a tenth of that,
or nothing after a take-over, unless Kafka is slow."""
LOOK_S = 0.2
"""How often it is looked for transmission queues."""
BACKLOG_LOOKS = 10
"""How many looks lie between two looks at what destinations have not received."""
RESTART_LOOKS = 10
"""A sender that has ended unexpectedly is started again after so many looks."""

log = structlog.get_logger("mqk.network")


class NetworkLink(Struct, frozen=True):
    """How a queue manager reaches others. ident: asks for its unique id; blocking."""

    transport: Transport
    ident: Callable[[], str]


class Network(Part):
    """Sends and receives for one queue manager."""

    def __init__(self, link: NetworkLink, owner: Owner) -> None:
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._transport = link.transport
        self._ident = lru_cache(1)(link.ident)
        self.directory = Directory()
        self._inbound = Inbound(self._term, owner.broke)
        self._receiver = NetworkReceiver(
            owner.name, link.transport, self.directory, self._inbound.deliver
        )
        self.directory.on_change(self._note_change)
        self._is_reading = False
        self._directory_tried = asyncio.Event()
        self.directory.on_tried(partial(self._from_receiver, self._directory_tried.set))
        self._parts: SenderParts | None = None
        self._senders: dict[str, TransmissionSender] = {}
        self._ended: dict[str, int] = {}
        """At which look a sender was found to have ended."""
        self._looks = 0
        self._backlogs: asyncio.Future[None] | None = None
        """The look at backlogs in progress, in another thread."""
        self._sessions = count(1)
        self._timer: asyncio.TimerHandle | None = None
        self.entry_tried = asyncio.Event()
        """Whether it was tried once to write the entry of the directory, and to read the others."""
        self._computers: tuple[str, ...] = ()
        """As it was entered in the directory last: its name in MSMQ, and its former names."""

    def stand_by(self) -> None:
        """Begin to read the directory: a standby does, to know it when it takes over."""
        if not self._is_reading:
            self._is_reading = True
            self._receiver.start(self._owner.broke)

    async def prepare(self) -> None:
        """Wait until the directory was read, or could not be. A client that is served before may
        be told that a queue manager is not known that is. The owner runs already, and is entered.
        """
        self.stand_by()
        term = self._term()
        if term is not None:
            self._enter_owner(term)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._directory_tried.wait(), DIRECTORY_S)

    async def start(self, accept: AcceptOwn) -> None:
        """Begin, as soon as the owner serves: a turn of the loop later a client could meet a core
        that has not been told of the others. prepare() came before.
        """
        loop = asyncio.get_running_loop()
        self._parts = SenderParts(
            queue_manager=self._owner.name,
            ident=self._ident,
            transport=self._transport,
            directory=self.directory,
            dial=partial(client_of, loop, accept, self._owner.name, APPLICATION),
            next_session=self._next_session,
            turns=TopicTurns(),
        )
        self._inbound.start(self._receiver)
        self._look()

    def abandon(self) -> None:
        """Read nothing more, if it has not been started; does not wait."""
        self._receiver.stop(wait=False)

    async def stop(self) -> None:
        """End; what was got and not sent is backed out. Bounded."""
        if self._timer is not None:
            self._timer.cancel()
        self._inbound.stop()
        await asyncio.get_running_loop().run_in_executor(None, self._join)

    def _join(self) -> None:
        """End all threads. Not on the event loop's: their clients are answered there."""
        senders = list(self._senders.values())
        for sender in senders:
            sender.stop()
        for sender in senders:
            sender.join()
        self._receiver.stop()
        self._transport.close()

    def figures(self) -> dict[str, Any]:
        inbound, receiver = self._inbound, self._receiver.figures()
        receiver.units, receiver.messages = inbound.units, inbound.messages
        receiver.blocked = inbound.blocked
        network = NetworkFigures(
            senders={name: one.figures() for name, one in sorted(self._senders.items())},
            receiver=receiver,
            queue_managers=len(self.directory.queue_managers),
        )
        return {"network": network}

    def _enter_owner(self, term: OwnerTerm) -> None:
        """Have the entry of the directory written, when it is new or has changed."""
        named = term.outgoing.computers()
        if named != self._computers:
            self._computers = named
            tried = partial(self._from_receiver, self.entry_tried.set)
            self._receiver.enter(partial(self._entry, *named), tried)

    def _from_receiver(self, tried: Callable[[], None]) -> None:
        """Note it; in the receiver's thread, which may outlive the loop while Kafka is away."""
        watched.from_thread("the directory", self._loop, tried, self._owner.broke)

    def _entry(self, computer: str, *former: str) -> SentRecord:
        name, place = self._owner.name, self._owner.taking.place
        where, tls = place.address, place.tls_address
        entry = DirectoryEntry(
            name, where, self._ident(), computer, tls_address=tls, former_computers=former
        )
        return entry_record(entry)

    def _next_session(self) -> bytes:
        """Draw the number of a sender's session: each term begins with a larger first_n."""
        term = self._term()
        return struct.pack(
            ">QQ", term.outgoing.first_n if term is not None else 0, next(self._sessions)
        )

    def _term(self) -> OwnerTerm | None:
        return self._owner.term if self._owner.running else None

    def _note_change(self) -> None:
        others = self.directory.entries(but=self._owner.name)
        self._inbound.know(known_of(others))
        for sender in list(self._senders.values()):
            sender.retry()

    def _look(self) -> None:
        """Start senders for transmission queues with messages. End those of queues that are gone,
        and those that have no messages any more for a destination that is not there.
        """
        self._timer = asyncio.get_running_loop().call_later(
            LOOK_S, watched.callback("the look at senders", self._look, self._owner.broke)
        )
        self._looks += 1
        term = self._term()
        if term is None:
            return
        self._enter_owner(term)
        depths = term.outgoing.transmission_queues()
        for name, sender in list(self._senders.items()):
            if name not in depths or (sender.is_without_destination and not depths[name]):
                asyncio.get_running_loop().run_in_executor(None, self._senders.pop(name).stop)
        for name, depth in depths.items():
            known = self._senders.get(name)
            if known is None:
                if depth:
                    self._start(name)
            elif not known.is_alive:
                self._start_again(name)
        if self._looks % BACKLOG_LOOKS == 0 and (self._backlogs is None or self._backlogs.done()):
            loop = asyncio.get_running_loop()
            senders = list(self._senders.values())
            self._backlogs = loop.run_in_executor(None, look_at_backlogs, senders)

    def _start(self, name: str) -> None:
        assert self._parts is not None
        known = self._senders.get(name)
        left = known.left if known is not None else None
        self._senders[name] = TransmissionSender(self._parts, name, left)
        self._ended.pop(name, None)

    def _start_again(self, name: str) -> None:
        if self._looks - self._ended.setdefault(name, self._looks) >= RESTART_LOOKS:
            self._start(name)


def look_at_backlogs(senders: Sequence[TransmissionSender]) -> None:
    """Have senders see what their destinations have not received. Blocking."""
    for sender in senders:
        try:
            sender.look_at_backlog()
        except NetworkError as error:
            log.debug("a backlog is not known", queue=sender.queue, reason=str(error))


def known_of(entries: Sequence[DirectoryEntry]) -> inputs.QueueManagersKnown:
    """Return what core is to know of other queue managers."""
    names = frozenset(one.queue_manager for one in entries)
    known = {
        computer: KnownComputer(
            *(one.queue_manager, one.address, one.tls_address),
            is_former=computer != (one.computer or one.queue_manager).casefold(),
        )
        for computer, one in by_computer(entries).items()
    }
    return inputs.QueueManagersKnown(names, known)
