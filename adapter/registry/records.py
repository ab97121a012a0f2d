"""Which records of a registry's topic are still needed, and which compaction may remove.

Theory. A record says what is true of some keys of the state. It is the last word of a key until a
later valid record says something of it, and needed while it is the last word of any; then it may be
forgotten, by a record without a value, a *tombstone*.

A last word that says "nothing" (a version is gone for good, a level was taken away) is needed only
as long as an earlier record of its key is there, which it contradicts. So it may be forgotten too,
once the tombstones of all of these lie before it. A reader at work meanwhile may have met the
earlier record, and meet "nothing" no more: a tombstone of what is the last word says it instead.

The last record of all stays in any case: it carries the first id that was never given.

This module knows no topic and no owner.
"""

from __future__ import annotations

from collections.abc import Sequence

from adapter.registry import state
from adapter.registry.state import Change, Key


class NeededRecords:
    """The records of a topic that were read and count. For one thread at a time."""

    def __init__(self) -> None:
        self._about: dict[bytes, list[Key]] = {}
        """Of each record that is there: which keys it says something of."""
        self._last_words: dict[Key, bytes] = {}
        self._live: dict[bytes, int] = {}
        """Of how many keys a record is the last word."""
        self._earlier: dict[Key, set[bytes]] = {}
        """Of each key: the other records that are there and say something of it."""
        self._nothing: set[Key] = set()
        """Keys whose last word is that there is nothing."""
        self._unneeded: set[bytes] = set()
        self._last = b""

    def add(self, record: bytes, changes: Sequence[Change]) -> None:
        """Note a valid record, which makes these changes."""
        said = {state.about(change): change for change in changes}
        self._last = record
        self._about[record] = list(said)
        self._live[record] = len(said)
        for what, change in said.items():
            before = self._last_words.get(what)
            self._last_words[what] = record
            if before is not None:
                self._earlier.setdefault(what, set()).add(before)
                self._release(before)
            if state.says_nothing(change):
                self._nothing.add(what)
            else:
                self._nothing.discard(what)
            if (deletion := state.replaced_deletion(change)) is not None:
                self._drop(deletion)
            self._settle(what)

    def forget(self, record: bytes) -> list[Key]:
        """Note a tombstone. Returns the keys of which it was the last word: there is nothing."""
        self._unneeded.discard(record)
        self._live.pop(record, None)
        gone: list[Key] = []
        for what in self._about.pop(record, ()):
            if self._last_words.get(what) == record:
                del self._last_words[what]
                self._nothing.discard(what)
                gone.append(what)
            earlier = self._earlier.get(what, set())
            earlier.discard(record)
            if not earlier:
                self._earlier.pop(what, None)
                self._settle(what)
        return gone

    def unneeded(self, most: int) -> list[bytes]:
        """Return some records that may be forgotten."""
        return sorted(self._unneeded - {self._last})[:most]

    def note_written(self, records: Sequence[bytes]) -> None:
        """Note that the tombstones of records were written; they are read back like all records."""
        self._unneeded.difference_update(records)

    def size(self) -> int:
        """How many records are known to be there, and count."""
        return len(self._about)

    def _settle(self, what: Key) -> None:
        """Let go of a last word that says nothing, if it contradicts no earlier one any more."""
        if what in self._nothing and what not in self._earlier:
            self._earlier[what] = {self._last_words[what]}
            self._drop(what)

    def _drop(self, what: Key) -> None:
        """A key needs no last word any more."""
        self._nothing.discard(what)
        record = self._last_words.pop(what, None)
        if record is not None:
            self._release(record)

    def _release(self, record: bytes) -> None:
        self._live[record] -= 1
        if not self._live[record]:
            del self._live[record]
            self._unneeded.add(record)
