"""The directory: which queue managers there are, where they are reached, and who sends to whom.

It is a compacted topic, of which every queue manager reads all. Values are JSON, for any client:

    key                      value
    queue-manager QMB        {"version":1,"queue_manager":"QMB","address":"HOST:PORT","ident":...,
                              "computer":"","tls_address":"","former_computers":[]}
    route QMA QMB            {"version":1,"source":"QMA","destination":"QMB"}

A queue manager writes its own entry when it has taken over. A sender writes a route; its
destination then opens the topic by which it receives from there. What is damaged, or of a later
version, is left out. This module knows no transport.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable

import msgspec
from msgspec import Struct

from adapter.runtime.network.port import SentRecord

VERSION = 1
QUEUE_MANAGER, ROUTE = "queue-manager", "route"

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What bytes raise that are no JSON, no UTF-8, or nested too deep."""

log = logging.getLogger("mqk.network")
"""Python's own: the light client reads the directory too, and has no other."""


class DirectoryEntry(Struct, frozen=True):
    """A queue manager. address: HOST:PORT. ident: its unique id. computer: its name in MSMQ;
    empty: as the queue manager's. tls_address: where clients with TLS connect; empty: nowhere.
    former_computers: names in MSMQ that it had before, without case.
    """

    queue_manager: str
    address: str = ""
    ident: str = ""
    computer: str = ""
    version: int = VERSION
    tls_address: str = ""
    former_computers: tuple[str, ...] = ()


class DirectoryRoute(Struct, frozen=True):
    """Messages are sent from one queue manager to another."""

    source: str
    destination: str
    version: int = VERSION


class Directory:
    """What has been read of the directory. Any thread may ask; one thread takes records."""

    def __init__(self) -> None:
        self.is_read = False
        """Whether all has been read once that the topic held."""
        self._entries: dict[str, DirectoryEntry] = {}
        self._sources: dict[str, frozenset[str]] = {}
        self._changed = threading.Condition()
        self._listeners: list[Callable[[], None]] = []
        self._when_tried: list[Callable[[], None]] = []

    def on_tried(self, call: Callable[[], None]) -> None:
        """Have this called in the reading thread when all that the topic held has been read for the
        first time, or the topic cannot be read for now.
        """
        self._when_tried.append(call)

    def note_read(self) -> None:
        """The topic was read up to its end."""
        if not self.is_read:
            self.is_read = True
            for call in self._listeners:
                call()
        self.note_tried()

    def note_tried(self) -> None:
        """The topic was read up to its end, or cannot be read for now."""
        for call in self._when_tried:
            call()
        self._when_tried.clear()

    def on_change(self, call: Callable[[], None]) -> None:
        """Have this called in the reading thread after each change, and when all has been read for
        the first time; it must return at once.
        """
        self._listeners.append(call)

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """Take a record of the topic."""
        kind, _, rest = (key or b"").decode(errors="replace").partition(" ")
        try:
            with self._changed:
                if kind == QUEUE_MANAGER:
                    self._take_entry(rest, value)
                elif kind == ROUTE:
                    self._take_route(rest, value)
                for call in self._listeners:
                    call()
                self._changed.notify_all()
        except UNREADABLE as error:
            log.warning("the directory's entry %r cannot be read: %s", key, error)

    def _take_entry(self, name: str, value: bytes | None) -> None:
        if value is None:
            self._entries.pop(name, None)
            return
        entry = msgspec.json.decode(value, type=DirectoryEntry)
        if entry.version == VERSION and entry.queue_manager == name:
            self._entries[name] = entry

    def _take_route(self, name: str, value: bytes | None) -> None:
        if value is None:
            source, _, destination = name.partition(" ")
            known = self._sources.get(destination, frozenset())
            self._sources[destination] = known - {source}
            return
        route = msgspec.json.decode(value, type=DirectoryRoute)
        if route.version == VERSION:
            known = self._sources.get(route.destination, frozenset())
            self._sources[route.destination] = known | {route.source}

    @property
    def queue_managers(self) -> frozenset[str]:
        """The names of all queue managers."""
        with self._changed:
            return frozenset(self._entries)

    def entries(self, but: str) -> list[DirectoryEntry]:
        """Return what is known of all queue managers but one."""
        with self._changed:
            return [one for name, one in self._entries.items() if name != but]

    def entry(self, queue_manager: str) -> DirectoryEntry | None:
        """Return what is known of a queue manager."""
        return self._entries.get(queue_manager)

    def has(self, record: SentRecord) -> bool:
        """Whether a queue manager's record is what the directory says of it."""
        entry = msgspec.json.decode(record.value or b"", type=DirectoryEntry)
        return self._entries.get(entry.queue_manager) == entry

    def of_computer(self, computer: str) -> str:
        """Return the queue manager that an MSMQ computer belongs to, or ""."""
        with self._changed:
            found = by_computer(self._entries.values()).get(computer.casefold())
            return found.queue_manager if found is not None else ""

    def sources(self, destination: str) -> frozenset[str]:
        """Return who has announced to send to a queue manager."""
        with self._changed:
            return self._sources.get(destination, frozenset())

    def await_entry(self, queue_manager: str, timeout_s: float) -> bool:
        """Wait until a queue manager is known; False if not in time."""
        with self._changed:
            return self._changed.wait_for(lambda: queue_manager in self._entries, timeout_s)


def by_computer(entries: Iterable[DirectoryEntry]) -> dict[str, DirectoryEntry]:
    """Return queue managers by the MSMQ computers that they are, without case: by their names, and
    by their former names where no other one has these.
    """
    former: dict[str, DirectoryEntry] = {}
    found: dict[str, DirectoryEntry] = {}
    for entry in entries:
        found.setdefault((entry.computer or entry.queue_manager).casefold(), entry)
        former |= dict.fromkeys(entry.former_computers, entry)
    return former | found


def entry_record(entry: DirectoryEntry) -> SentRecord:
    """Make the record by which a queue manager enters itself."""
    key = f"{QUEUE_MANAGER} {entry.queue_manager}".encode()
    return SentRecord(msgspec.json.encode(entry), key=key)


def route_record(source: str, destination: str) -> SentRecord:
    """Make the record by which a sender announces itself."""
    key = f"{ROUTE} {source} {destination}".encode()
    return SentRecord(msgspec.json.encode(DirectoryRoute(source, destination)), key=key)
