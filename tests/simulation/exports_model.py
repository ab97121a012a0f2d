"""What an export promises: each committed message is a record once, in the order of its lane, or a
dead letter; nothing else ever is. It imports nothing of the product.

A message that was purged, deleted with its queue, or expired may have been written before, or not;
so may one that is not persistent, when its queue manager dies. One that another program had locked
may be written behind later ones. A table that has waited has all that was committed before it
asked.
"""

from __future__ import annotations

from collections import Counter

DEAD = "dead "
"""What the body of a message begins with that the topic does not take as it is."""


class ExportsModel:
    """Messages by their bodies, and what was read of the topic."""

    def __init__(self) -> None:
        self.met: Counter[str] = Counter()
        self.lanes: dict[str, list[str]] = {}
        """The messages of each lane, in the order of their commits."""
        self.may_lack: set[str] = set()
        self.may_be_late: set[str] = set()

    def commit(self, lane: str, body: str) -> None:
        """A message was committed."""
        self.lanes.setdefault(lane, []).append(body)

    def committed(self) -> set[str]:
        """Return the messages that were committed so far."""
        return {body for lane in self.lanes.values() for body in lane}

    def remove(self, bodies: list[str]) -> None:
        """Messages are gone from the queue, and not because they were written."""
        self.may_lack |= set(bodies)

    def empty_queue(self, written: list[str]) -> None:
        """All messages are gone from the queue. written: so far."""
        self.remove([body for lane in self.lanes.values() for body in lane])
        self.may_lack -= set(written)

    def lock(self, bodies: list[str]) -> None:
        """Another program had messages."""
        self.may_be_late |= set(bodies)

    def check(self, written: list[str], dead: list[str]) -> None:
        """Compare what there is with what was committed. dead: dead letters."""
        self.check_written(written)
        committed = self.committed()
        letters = Counter(dead)
        assert all(body.startswith(DEAD) for body in letters), f"dead letters of others: {letters}"
        assert letters.keys() <= committed, "a dead letter of a message that was not committed"
        twice = sorted(body for body, times in letters.items() if times > 1)
        assert not twice, f"two dead letters: {twice}"
        lost = sorted(committed - self.may_lack - set(written) - letters.keys())
        assert not lost, f"lost: {lost}"

    def check_synced(self, bodies: set[str], written: list[str]) -> None:
        """Compare what a table has waited for with what the topic has; dead letters never come."""
        never = {body for body in bodies if body.startswith(DEAD)}
        lacks = sorted(bodies - never - self.may_lack - set(written))
        assert not lacks, f"a table waits no more, and lacks {lacks}"

    def check_written(self, written: list[str]) -> None:
        """Compare what the topic has so far with what was committed so far."""
        twice = sorted(body for body, times in Counter(written).items() if times > 1)
        assert not twice, f"written twice: {twice}"
        committed = self.committed()
        unknown = sorted(set(written) - committed)
        assert not unknown, f"written, and never committed: {unknown}"
        unfit = [body for body in written if body.startswith(DEAD)]
        assert not unfit, f"written, though the topic does not take it: {unfit}"
        at = {body: place for place, body in enumerate(written)}
        for lane, bodies in self.lanes.items():
            places = [at[body] for body in bodies if body in at and body not in self.may_be_late]
            assert places == sorted(places), f"out of order in lane {lane}: {written}"
