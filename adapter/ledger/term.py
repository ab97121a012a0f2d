"""The book-keeping of one term of one owner: which of its entries may be promised. Pure.

A term begins with the owner's OWNER_CHANGED and ends with a doubt or a close. Delivery reports come
in as (n, offset). While each is one past the one before, in n and in offset, nobody else wrote in
between and the entry is valid. A jump in offset is a gap that must be read: void records are
harmless, an OWNER_CHANGED deposes us. It does no reading itself, and must not know Kafka.
"""

from collections.abc import Collection, Iterable

from adapter.ledger.envelope import Envelope, NewerVersion
from adapter.ledger.port import Deposed, Position
from adapter.ledger.validity import Validity, Verdict


class Term:
    """One owner's term. next_n: for the next append; durable_n: all up to it may be promised."""

    __slots__ = ("at", "durable_n", "earlier", "next_n", "next_offset", "owner", "topic")

    def __init__(
        self, topic: str, owner: bytes, offset: int, earlier: Collection[bytes] = ()
    ) -> None:
        """offset: of our OWNER_CHANGED. earlier: owner ids that were ours and may land late."""
        self.topic = topic
        self.owner = owner
        self.earlier = earlier
        self.next_n = 1
        self.durable_n = 0
        self.next_offset = offset + 1
        self.at = Position(offset, owner, 0)
        """Of the last entry that may be promised; replaced as a whole, for other threads."""

    def follows(self, n: int, offset: int) -> bool:
        """Take a delivery report if it follows the one before; False: there is a gap to judge."""
        if n != self.durable_n + 1 or offset != self.next_offset:
            return False
        self._reached(n, offset)
        return True

    def _reached(self, n: int, offset: int) -> None:
        self.durable_n = n
        self.next_offset = offset + 1
        self.at = Position(offset, self.owner, n)

    def gap(self, offset: int) -> range:
        """Say which offsets judge_gap must be given for a report that does not follow."""
        return range(self.next_offset, offset + 1)

    def judge_gap(self, n: int, offset: int, values: Iterable[bytes | None]) -> str:
        """Judge the records of a gap, the reported one last; "" to go on, else why to doubt."""
        validity = Validity.at(self.owner, self.durable_n)
        for at, value in enumerate(values, self.next_offset):
            try:
                verdict, envelope = validity.judge_value(value)
            except NewerVersion as newer:
                return f"{self.topic} at offset {at}: {newer}"
            if verdict is Verdict.OWNER_CHANGED and envelope is not None:
                return self._ended_by(at, envelope)
        if offset < self.next_offset or validity.voided or validity.next_n <= n:
            return (
                f"{self.topic}: entry n {n} was reported at offset {offset}, and it is not valid "
                f"there: after n {self.durable_n} at offset {self.next_offset - 1} comes something "
                "else"
            )
        self._reached(n, offset)
        return ""

    def _ended_by(self, offset: int, change: Envelope) -> str:
        """Say whose OWNER_CHANGED ended the term: a rival's, or an earlier attempt of our own."""
        owner = change.owner.hex()
        if change.owner in self.earlier:
            return (
                f"{self.topic}: an earlier attempt of ours to take over ({owner}), given up after "
                f"a timeout, was written late, at offset {offset}"
            )
        who = change.payload.decode(errors="replace")
        return Deposed(f"{self.topic}: another owner took over at offset {offset}: {who} ({owner})")
