"""What the owner and the movers see of a ledger: append, take over, tail.

The port separates three outcomes of an append, and no implementation may blur them:

- **durable**: on_durable(n) was called. The entry is valid and every later reader will see it;
- **refused**: append raised. Nothing was written, the n was not used;
- **unknown**: everything else. It may be in the ledger or not, which is unknown without
  reading: after on_doubt nothing more is promised, the owner takes over again under a new owner
  id, and what replay then shows is what happened.

No Kafka here, no messages: payloads are opaque bytes.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

RECORD_BYTES_MAX = 8 * 1024 * 1024
"""The largest batch that a ledger topic takes (its max.message.bytes)."""
PAYLOAD_BYTES_MAX = 128 * 1024 * 1024
"""Of one entry, in parts: every reader keeps it in memory until its last part has come."""


COUNTS = ("takeovers", "replayed", "appends", "durable", "doubts", "forged")
"""What a ledger's statistics() counts."""


class LedgerError(Exception):
    """The root of what a ledger raises; the text says what happened, to what, what to do."""


class LedgerClosed(LedgerError):  # noqa: N818 -- it says what the ledger is
    """Appended outside a term: before take_over, after a doubt, or after close. Nothing written."""


class LedgerFull(LedgerError):  # noqa: N818
    """Too many entries wait for their durability. Nothing written; go on after on_durable."""


class EntryTooLarge(LedgerError):  # noqa: N818
    """The payload is over PAYLOAD_BYTES_MAX. Nothing written."""


class LedgerUnavailable(LedgerError):  # noqa: N818
    """The ledger could not be reached or read in time.

    retriable: whether a retry may help; if not, the operator must correct what the text names.
    """

    def __init__(self, text: str, *, retriable: bool = True) -> None:
        super().__init__(text)
        self.retriable = retriable


class LedgerMismatch(LedgerError):  # noqa: N818
    """The ledger is not the one that was read before: truncated, re-created, or a newer mqk's.

    Fatal: going on would skip entries. The text names the repair.
    """


class OwnedByAnother(LedgerError):  # noqa: N818
    """Another owner is in force that this one must not replace; the text says which. Step down."""


class Deposed(str):
    """The text of a doubt when another owner has taken the ledger: step down.

    Taking over again would depose the rival in turn, and so for ever.
    """

    __slots__ = ()


class RefusedByKafka(str):
    """The text of a doubt when Kafka refuses a write: the operator must change what it names.

    Taking over again would not cure it: the same would be written, and refused, and so for ever.
    """

    __slots__ = ()


class Entry(Struct, gc=False):
    """A valid entry as read back. time_ms: when the ledger took it, ms since 1970.

    offset: of its record, or of its last one if it was written in parts.
    """

    offset: int
    owner: bytes
    n: int
    time_ms: int
    payload: bytes


class Raw(Struct, gc=False):
    """One record of a ledger as it lies there, whether it counts or not."""

    offset: int
    time_ms: int
    value: bytes | None


class LastRecord(Struct, gc=False):
    """The last record of the owner in force. payload: of its entry, b"" if it has none yet."""

    owner: bytes
    time_ms: int
    payload: bytes


class Position(Struct, gc=False, frozen=True):
    """The last entry that a reader is done with; owner and n prove that it is the same ledger."""

    offset: int
    owner: bytes
    n: int


class Known(Struct, gc=False, frozen=True):
    """An entry that a ledger is known to have had. how: completes "it ends before that, and"."""

    position: Position
    how: str


class TakenOver(Struct, gc=False):
    """A won take-over.

    offset: of our OWNER_CHANGED; entries: how many valid ones were replayed; last_owner, last_n:
    the owner in force before us and its last valid n (b"" and 0 if there was none). key: the id of
    the one that we seal with, b"" if we do not.
    """

    offset: int
    entries: int
    last_owner: bytes
    last_n: int
    key: bytes = b""


class Forged(Struct, gc=False, frozen=True):
    """Records of a sealed ledger that are void because another writer wrote them: offsets, and how
    many from first to last.
    """

    first: int
    last: int
    records: int = 1


class Ledger(Protocol):
    """The log of one queue manager, for its one owner."""

    @property
    def place(self) -> str:
        """Where the ledger is, for people: its topic, and on which Kafka."""

    on_durable: Callable[[int], None]
    """Set before take_over. Called from any thread, even before append has returned that n; n
    strictly increasing within a term; all n' <= n are durable and valid."""
    on_doubt: Callable[[str], None]
    """Set before take_over. Called at most once a term, from any thread, with the reason: nothing
    after the last on_durable may be promised, no on_durable follows, append raises LedgerClosed.
    The text is a Deposed if another owner's take-over was seen, and a RefusedByKafka if another
    take-over would not help."""
    on_forged: Callable[[Forged], None]
    """Set before take_over. Called from any thread, in a take-over and in its term, with records
    that are void for want of a genuine seal; they change nothing."""

    def prepare(self) -> None:
        """Have ready what the next take-over needs, so that it is faster; writes nothing. Blocking.

        For a standby, now and again while it waits. Also last_record is faster then. From any
        thread, but not during a take-over. Raises LedgerError; that changes nothing.
        """

    def check(self, known: Sequence[Known]) -> None:
        """Refuse a ledger that has lost one of these entries. Blocking; writes nothing.

        Raises LedgerUnavailable, or LedgerMismatch that says what is lost, and what to do.
        """

    def take_over(
        self,
        owner: bytes,
        who: str,
        replay: Callable[[Entry], None],
        after: Position | None = None,
        *,
        again: bool = False,
        instead_of: bytes | None = None,
    ) -> TakenOver:
        """Become the owner; replay is called with each valid entry before us, in order. Blocking.

        owner: 16 random bytes never used before. who: for people up to a NUL, kept in the ledger.
        after: the entries up to this one are known; without it the ledger is read from its
        beginning. again: replace only an owner that this object was itself; OwnedByAnother if it is
        another. instead_of: replace only this owner, or one that this object was; b"": no owner.
        Ends the term before, if there is one. What is read first says whom we replace;
        OwnedByAnother too if another owner does so before us. Raises LedgerUnavailable or
        LedgerMismatch.
        """

    def last_record(self) -> LastRecord | None:
        """Return the last record of the owner in force; None if there is no owner. Blocking.

        Raises LedgerUnavailable, or LedgerMismatch for what a later mqk wrote.
        """

    def time_ms(self) -> int:
        """Ask the ledger's own clock, by writing a record without effect. Blocking.

        Raises LedgerUnavailable.
        """

    def announcement_of(self, owner: bytes) -> str:
        """Return all that an owner wrote of itself when it took over, "" if it is not found.

        Blocking.

        Raises LedgerUnavailable.
        """

    def announce_again(self) -> None:
        """Write once more what this owner wrote of itself when it took over. Blocking.

        Between two entries of its term, from any thread; it has no other effect. What comes after
        the first one may then be trimmed before. Raises LedgerUnavailable or LedgerClosed.
        """

    def append(self, payload: bytes) -> int:
        """Append an entry without waiting and return its n: 1, 2, ... within a term.

        From one thread only. Raises LedgerClosed, LedgerFull or EntryTooLarge: nothing written.
        """

    def look(self, wait_s: float) -> bool:
        """Wait for the reports of all appends on this thread, for so long at most.

        No other thread has to wake this one: for an owner that has nothing else to do. From the
        thread that appends; return whether everything is durable, which on_durable does not say
        then. Else reports come from another thread as ever. leave() is to follow.
        """

    def leave(self) -> None:
        """Let reports come from another thread again, because look is not called any more."""

    def durable(self) -> Position:
        """Where the last entry of this term is that may be promised; only within a term.

        At its beginning that is our OWNER_CHANGED, with n 0. From any thread.
        """

    def bounds(self) -> tuple[int, int]:
        """The first offset that is there, and the one after the last. Blocking.

        Raises LedgerUnavailable.
        """

    def trim(self, before: int) -> None:
        """Delete the records before an offset; blocking. Raises LedgerUnavailable.

        They must be known to every reader: to the owner by a snapshot, to tailing ones by their
        positions, whose own records must stay.
        """

    def give_up(self) -> None:
        """Let a take-over that is under way write nothing any more, and end; for any thread.

        It raises LedgerUnavailable, at once or when the call to Kafka is over in which it is. For
        good: no other take-over succeeds.
        """

    def close(self) -> None:
        """End the term and free everything; entries in flight stay unknown. May be called twice."""

    def statistics(self) -> dict[str, int]:
        """Counts since the object was made."""


class LedgerReader(Protocol):
    """Tails a ledger; for movers, standbys and people."""

    def read(self, timeout_s: float) -> list[Entry]:
        """Return the next valid entries in order, waiting for the first; [] after the timeout.

        Raises LedgerUnavailable, or LedgerMismatch when the ledger is not the one of the position.
        """

    def offset_and_end(self) -> tuple[int, int]:
        """The offset that is read next, and the ledger's end as last heard of; never waits.

        All valid entries before the first have been returned; of the ledger's records not all are
        entries, so that this goes on where the last entry's offset does not.
        """

    def close(self) -> None:
        """Free everything. May be called twice."""


def check_size(topic: str, payload: bytes) -> None:
    """Raise EntryTooLarge for a payload that a ledger topic cannot take."""
    if len(payload) > PAYLOAD_BYTES_MAX:
        raise EntryTooLarge(
            f"an entry of {len(payload)} bytes was not written to {topic}: {PAYLOAD_BYTES_MAX} are "
            "the most; write less in one entry"
        )


def ignore_durable(_n: int) -> None:
    """Stand for on_durable until the owner sets its own."""


def join_forged(before: Forged | None, more: Forged) -> Forged:
    """Return what was found before, if anything was, and more behind it."""
    return (
        more if before is None else Forged(before.first, more.last, before.records + more.records)
    )


def ignore_forged(_found: Forged) -> None:
    """Stand for on_forged until the owner sets its own."""


def ignore_doubt(_text: str) -> None:
    """Stand for on_doubt until the owner sets its own."""
