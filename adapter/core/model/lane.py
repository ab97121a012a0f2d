"""A lane: messages in one order, of which only a window need be in memory.

Theory. Persistent messages are numbered densely (seq), and are one partition of the queue's topic,
in that order. Non-persistent messages lie between them (n > 0) and are always in memory. A
persistent message that is on its topic for good may be *paged out*: its seq stays, in ranges that
cost nothing while they have no gaps; its content goes. What must be known without its content is
kept beside the ranges: the backout counts that are not 0, and by minutes when messages will have
expired.

Iterating merges what is in memory with the ranges. Where the next seq is paged out, PageNeeded says
so: the owner reads a page that begins there, its messages are paged in, and the iteration begins
again. A window at the beginning of the lane stays in memory, so that gets in order seldom wait, and
the next page is asked for when half of it is used. The page that came last stays in memory, too: a
cursor that walks through a long lane reads each page once.

This module does not know where pages come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from adapter.core.contract.arrivals import Lowest
from adapter.core.contract.message import Place
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.ranges import Ranges, spans_of
from adapter.core.contract.stored import Stored
from adapter.core.model.paged_index import Skips
from adapter.core.model.places import Places

EXPIRY_BUCKET_MS: Final = 60_000
"""How coarsely the ends of paged-out messages are known; when one is met, its end is exact."""

LOOKED_AT: Final = 64
"""Messages of a lane that are looked at to find its lowest seq and n: asked for often."""


class Lane:
    """The messages of one priority. next_seq numbers the next persistent one, densely from 1."""

    __slots__ = (
        "available",
        "counts",
        "ends",
        "last_page",
        "next_n",
        "next_seq",
        "number",
        "paged",
        "put_mark",
        "to_move",
        "to_report",
        "weight",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.available = Places()
        """What is in memory and held by no unit."""
        self.paged = Ranges()
        """The seqs of what is not in memory; no unit holds any of it."""
        self.counts: dict[int, int] = {}
        """Backout counts of paged-out messages, those that have one."""
        self.ends: dict[int, Ranges] = {}
        """Seqs of paged-out messages by the time (ms, rounded up) by which they have expired."""
        self.last_page = (0, 0)
        """The first and the last seq of the page that came last: a cursor is likely to be in it."""
        self.weight = 0
        """Bytes of the bodies in available."""
        self.put_mark = (0, 0)
        """Seq of a message near the first paged-out one, not behind it, and since when (ms) it is
        available.
        """
        self.to_move = Ranges()
        """Seqs of paged-out messages that came back too often, and are still to be read for it."""
        self.to_report = Ranges()
        """Of those, the ones of which an event is to say that they stay, if no queue takes them."""
        self.next_seq = 1
        self.next_n = 1  # of the next non-persistent message; counts on through a term

    def __len__(self) -> int:
        return len(self.available) + self.paged.total

    def add(self, stored: Stored) -> None:
        """Make a message available at its place."""
        self.available.add(stored)
        self.weight += stored.length

    def add_all(self, come: list[Stored]) -> None:
        """Make messages available, given in their order: one at least."""
        self.available.add_all(come)
        self.weight += sum(stored.length for stored in come)

    def remove(self, stored: Stored) -> None:
        """Take a message out of what is available."""
        self.available.remove(stored)
        self.weight -= stored.length

    def remove_first(self, gone: list[Stored]) -> bool:
        """Take messages, given in their order, out of what is available; False if they are not the
        first ones, and nothing is done.
        """
        if not self.available.remove_first(gone):
            return False
        self.weight -= sum([stored.length for stored in gone])
        return True

    def first_in_memory(self, count: int) -> list[Stored]:
        """Return what comes first, so many; none if there is less, or if a message that is paged
        out comes before the last of them.
        """
        head = self.available.head(count)
        if head and self.paged.total:
            gap = self.paged.at_or_after(0)
            if gap is not None and gap <= head[-1].place[1]:
                return []
        return head

    def mark_put(self, seq: int, put_time_ms: int) -> None:
        """Note when a message was put, or became available, to know about when the first paged-out
        one was.
        """
        gap = self.paged.at_or_after(0)
        if gap is not None and seq <= gap and not seq < self.put_mark[0] <= gap:
            self.put_mark = seq, put_time_ms

    def lowest(self) -> Lowest:
        """Say from which seq and n on messages are here: from the next ones, if none are.

        Only the first ones are looked at; 0 is the answer where they do not tell.
        """
        seq = n = 0
        for stored in islice(self.available, LOOKED_AT):
            if stored.place[2]:
                n = n or stored.place[2]
            else:
                seq = seq or stored.place[1]
        if len(self.available) <= LOOKED_AT:
            seq, n = seq or self.next_seq, n or self.next_n
        paged = self.paged.at_or_after(0)
        return Lowest(self.number, seq if paged is None else min(seq, paged), n)

    def oldest_put_ms(self) -> int | None:
        """Say since when the first available message is; about when, if it is not in memory.

        None if the lane is empty, or nothing is known of its first message, which is paged out.
        """
        first = self.available.first()
        gap = self.paged.at_or_after(0)
        known = self.put_mark[1]
        if known and gap is not None and (first is None or gap <= first.place[1]):
            return known
        return first.message.available_ms if first is not None else None

    def page_out(self, gone: list[Stored]) -> None:
        """Forget the content of messages, given in their order, that evict() has taken out."""
        for span in spans_of(stored.place[1] for stored in gone):
            self.paged.add_span(*span)
        for stored in gone:
            if stored.backout_count:
                self.counts[stored.place[1]] = stored.backout_count
            ends_ms = stored.expires_at_ms
            if ends_ms:
                self.ends.setdefault(bucket_of(ends_ms), Ranges()).add(stored.place[1])

    def page_in(self, seq: int, expires_at_ms: int = 0) -> int:
        """Stop counting a message as paged out; its backout count."""
        self.paged.remove(seq)
        self.forget_end(seq, bucket_of(expires_at_ms))
        return self.counts.pop(seq, 0)

    def page_in_all(self, come: list[Stored]) -> None:
        """Stop counting messages as paged out, given in their order; set their backout counts."""
        for low, high in spans_of([stored.place[1] for stored in come]):
            self.paged.remove_span(low, high)
        counts = self.counts
        for stored in come if counts else ():
            stored.backout_count = counts.pop(stored.place[1], 0)
        for stored in come if self.ends else ():
            self.forget_end(stored.place[1], bucket_of(stored.expires_at_ms))

    def forget_paged(self, kept: list[int]) -> int:
        """Forget what is paged out but for these; returns how many are gone."""
        before, self.paged = self.paged.total, Ranges(spans_of(sorted(kept)))
        self.counts = {seq: count for seq, count in self.counts.items() if seq in self.paged}
        left = {end: Ranges(seqs.common(self.paged)) for end, seqs in self.ends.items()}
        self.ends = {end: seqs for end, seqs in left.items() if seqs}
        return before - self.paged.total

    def note_returned(self, first: int, last: int, threshold: int, *, reports: bool) -> None:
        """Note which paged-out messages, of some, are to be read because they came back so often.

        reports: an event is to say so of those that stay.
        """
        for seq in [one for one, count in self.counts.items() if count >= threshold]:
            if first <= seq <= last:
                self.to_move.add(seq)
                if reports:
                    self.to_report.add(seq)

    def next_to_move(self) -> int | None:
        """Return the first paged-out message that is to be read because it came back too often."""
        seq = self.to_move.at_or_after(0)
        while seq is not None and seq not in self.paged:
            self.to_move.remove(seq)
            self.to_report.discard(seq)
            seq = self.to_move.at_or_after(seq)
        return seq

    def add_end(self, first: int, last: int, bucket: int) -> bool:
        """Note when paged-out messages will have expired; whether that time is new to the lane."""
        if not bucket:
            return False
        is_new = bucket not in self.ends
        self.ends.setdefault(bucket, Ranges()).add_span(first, last)
        return is_new

    def forget_end(self, seq: int, bucket: int) -> None:
        """Forget when a message will have expired."""
        ends = self.ends.get(bucket)
        if ends is not None and seq in ends:
            ends.remove(seq)
            if not ends:
                del self.ends[bucket]

    def first_expired(self, now_ms: int) -> int | None:
        """Return a paged-out message that has expired; those that are gone are forgotten."""
        for bucket in sorted(end for end in self.ends if end <= now_ms):
            while bucket in self.ends:
                seq = self.ends[bucket].at_or_after(0)
                if seq is None or seq in self.paged:
                    return seq
                self.forget_end(seq, bucket)
        return None

    def in_order(
        self, queue: str, after: Place | None = None, skips: Skips | None = None
    ) -> Iterator[Stored]:
        """Iterate over what is available, behind a place if one is given.

        Raises PageNeeded when the next message in order is not in memory, unless the caller would
        pass over it: skips.
        """
        source = iter(self.available) if after is None else self.available.after(after)
        if not self.paged:
            yield from source
            return
        gap = self._gap_behind(after, skips)
        for stored in source:
            _, seq, n = stored.place
            if gap is not None and (gap < seq or (gap == seq and n)):
                raise PageNeeded(queue, self.number, gap)
            yield stored
        if gap is not None:
            raise PageNeeded(queue, self.number, gap)

    def backwards(self, queue: str, before: int | None) -> Iterator[Stored]:
        """Iterate over what is available from the last message, or from before a seq, to the first.

        Raises PageNeeded when the next message in this order is not in memory.
        """
        end = self.next_seq if before is None else before
        gap = self.paged.at_or_before(end - 1)
        for stored in self.available.before((-self.number, end, 0)):
            if gap is not None and gap > stored.place[1]:
                break
            yield stored
        if gap is not None:
            raise PageNeeded(queue, self.number, gap, 1)

    def _gap_behind(self, after: Place | None, skips: Skips | None) -> int | None:
        behind = after[1] + 1 if after is not None and -after[0] == self.number else 0
        return first_gap(self.number, self.paged, behind, skips)

    def live(
        self, locked: Iterable[int], claimed: Iterable[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """Return the spans of all persistent messages.

        locked: the seqs that units hold. claimed: the spans that consumers have been given.
        """
        live = Ranges(self.paged.spans())
        for span in spans_of(one.place[1] for one in self.available if not one.place[2]):
            live.add_span(*span)
        for seq in locked:
            live.add(seq)
        for span in claimed:
            live.add_span(*span)
        return live.spans()

    def evict(self, keep: int, keep_bytes: int, moved_n: int) -> list[Stored]:
        """Take out messages behind the first ones and outside of the last page; the caller pages
        them out. moved_n: entries up to it are copied for good.

        Nothing behind a message that is not copied is looked at: entries mostly come in the order
        of the lane, and a long tail that waits for its copies must not cost a look at each of them.
        """
        first, last = self.last_page
        gone = []
        for stored in self.available.behind(keep, keep_bytes):
            if stored.entry_n > moved_n:
                break
            _, seq, n = stored.place
            if not n and not first <= seq <= last:
                gone.append(stored)
                self.weight -= stored.length
        if gone:
            self.available.remove_all(gone)
        return gone


def first_gap(lane: int, paged: Ranges, first: int, skips: Skips | None) -> int | None:
    """Return the first of some seqs of a lane from a seq on, but for those that are skipped."""
    seq = paged.at_or_after(first)
    while seq is not None and skips is not None and skips((-lane, seq, 0)):
        seq = paged.at_or_after(seq + 1)
    return seq


def bucket_of(expires_at_ms: int) -> int:
    """Round the end of a message up to its bucket's."""
    return -(-expires_at_ms // EXPIRY_BUCKET_MS) * EXPIRY_BUCKET_MS
