"""What every ledger keeps to: one suite, run for the ledger in memory and for the one on Kafka.

A subclass gives the fixture ``place``: a fresh, empty ledger topic and everything that can be done
to it. Nothing here knows where the records lie.
"""

import os
import threading
from abc import abstractmethod
from typing import Protocol

import pytest

from adapter.storage.ledger.envelope import (
    ENTRY,
    OWNER_BYTES,
    OWNER_CHANGED,
    encode,
    encode_entry,
)
from adapter.storage.ledger.port import (
    PAYLOAD_BYTES_MAX,
    Deposed,
    Entry,
    EntryTooLarge,
    Known,
    Ledger,
    LedgerClosed,
    LedgerMismatch,
    LedgerReader,
    Position,
    TakenOver,
)

WAIT_S = 20.0
QUIET_S = 0.3  # how long a reader that must yield nothing is listened to


class Place(Protocol):
    """One ledger topic, and what anybody can do to it."""

    def ledger(self) -> Ledger:
        """A new ledger object, closed when the test ends."""

    def reader(self, position: Position | None = None) -> LedgerReader:
        """A new reader, closed when the test ends."""

    def write(self, value: bytes) -> int:
        """Write raw bytes into the topic, past every rule; their offset."""

    def trim(self, before: int) -> None:
        """Delete the records before an offset."""

    def recreate(self) -> None:
        """Delete the topic and create it again."""

    def refuse_writes(self, *, refused: bool) -> None:
        """Let the topic take no records, or take them again."""


class Heard:
    """Everything that a ledger reported, in order; can be waited for."""

    def __init__(self, ledger: Ledger) -> None:
        self._changed = threading.Condition()
        self.durable: list[int] = []
        self.doubts: list[str] = []
        ledger.on_durable = self._on_durable
        ledger.on_doubt = self._on_doubt

    def _on_durable(self, n: int) -> None:
        with self._changed:
            assert not self.doubts, f"n {n} was promised after a doubt: {self.doubts}"
            assert n > self.last_n, f"n {n} was promised after n {self.last_n}"
            self.durable.append(n)
            self._changed.notify_all()

    def knows(self, n: int) -> None:
        """Take as reported what a look has found."""
        if n > self.last_n:
            self._on_durable(n)

    def _on_doubt(self, text: str) -> None:
        with self._changed:
            self.doubts.append(text)
            self._changed.notify_all()

    @property
    def last_n(self) -> int:
        return self.durable[-1] if self.durable else 0

    def wait_durable(self, n: int) -> None:
        with self._changed:
            reached = self._changed.wait_for(lambda: self.last_n >= n or self.doubts, WAIT_S)
        assert reached, f"n {n} did not become durable: {self.durable[-3:]}"
        assert self.last_n >= n, self.doubts

    def wait_doubt(self) -> str:
        with self._changed:
            assert self._changed.wait_for(lambda: self.doubts, WAIT_S), "no doubt was reported"
        return self.doubts[0]


def new_owner() -> bytes:
    return os.urandom(OWNER_BYTES)


def take(ledger: Ledger, who: str = "a test") -> tuple[TakenOver, list[Entry]]:
    """Take over; with what was replayed."""
    replayed: list[Entry] = []
    taken = ledger.take_over(new_owner(), who, replayed.append)
    assert taken.entries == len(replayed)
    return taken, replayed


def write_durably(ledger: Ledger, heard: Heard, payloads: list[bytes]) -> None:
    last_n = 0
    for payload in payloads:
        last_n = ledger.append(payload)
    heard.wait_durable(last_n)


def payloads_of(entries: list[Entry]) -> list[bytes]:
    return [entry.payload for entry in entries]


def read_exactly(reader: LedgerReader, count: int) -> list[Entry]:
    """Read until there are count entries, and make sure that no more come."""
    entries: list[Entry] = []
    for _ in range(int(WAIT_S)):
        if len(entries) >= count:
            break
        entries += reader.read(1.0)
    entries += reader.read(QUIET_S)
    assert len(entries) == count
    return entries


class LedgerContract:
    """The suite. Subclasses are named Test... and give ``place``."""

    @pytest.fixture
    @abstractmethod
    def place(self) -> Place: ...

    @pytest.fixture
    def ledger(self, place: Place) -> Ledger:
        return place.ledger()

    def test_what_was_appended_is_replayed_in_order(self, place: Place, ledger: Ledger) -> None:
        heard = Heard(ledger)
        taken, replayed = take(ledger)
        assert (replayed, taken.last_owner, taken.last_n) == ([], b"", 0)
        payloads = [f"payload {i}".encode() * (i % 7) for i in range(500)]
        write_durably(ledger, heard, payloads)

        again, replayed = take(place.ledger())

        assert payloads_of(replayed) == payloads
        assert [entry.n for entry in replayed] == list(range(1, 501))
        offsets = [entry.offset for entry in replayed]
        assert offsets == list(range(taken.offset + 1, taken.offset + 501))
        times = [entry.time_ms for entry in replayed]
        assert times == sorted(times)
        assert times[0] > 1_600_000_000_000
        assert {entry.owner for entry in replayed} == {again.last_owner}
        assert (again.last_n, again.offset) == (500, taken.offset + 501)

    def test_n_begins_at_one_in_every_term(self, ledger: Ledger) -> None:
        heard = Heard(ledger)
        for _ in range(3):
            heard.durable.clear()
            take(ledger)
            assert [ledger.append(b"x"), ledger.append(b"y")] == [1, 2]
            heard.wait_durable(2)

    def test_reports_come_to_a_thread_that_looks_and_to_others_again(self, ledger: Ledger) -> None:
        heard = Heard(ledger)
        take(ledger)
        for round_ in range(60):
            n = ledger.append(b"%d" % round_)
            if not round_ % 4:
                ledger.leave()
            elif ledger.look(WAIT_S / 10):
                heard.knows(n)
            if round_ % 3 == 0:
                n = ledger.append(b"another one")
            heard.wait_durable(n)
        assert not heard.doubts
        ledger.leave()
        write_durably(ledger, heard, [b"the last one"])

    def test_a_take_over_sees_all_that_was_durable_before(self, place: Place) -> None:
        expected: list[bytes] = []
        for term in range(4):
            ledger = place.ledger()
            heard = Heard(ledger)
            _, replayed = take(ledger, f"owner {term}")
            assert payloads_of(replayed) == expected
            write_durably(ledger, heard, [f"{term}.{i}".encode() for i in range(20)])
            expected += [f"{term}.{i}".encode() for i in range(20)]
        assert payloads_of(read_exactly(place.reader(), 80)) == expected

    def test_a_deposed_owner_doubts_and_promises_nothing(self, place: Place) -> None:
        old, new = place.ledger(), place.ledger()
        heard = Heard(old)
        take(old)
        write_durably(old, heard, [b"before"])
        _, replayed = take(new, "the rival by name")
        assert payloads_of(replayed) == [b"before"]

        old.append(b"after")

        doubt = heard.wait_doubt()
        assert "the rival by name" in doubt
        assert isinstance(doubt, Deposed)
        assert heard.durable == [1]
        with pytest.raises(LedgerClosed):
            old.append(b"later still")
        assert payloads_of(read_exactly(place.reader(), 1)) == [b"before"]
        assert len(heard.doubts) == 1

    def test_an_owner_that_doubted_can_take_over_again(self, place: Place) -> None:
        ledger, rival = place.ledger(), place.ledger()
        heard = Heard(ledger)
        take(ledger)
        take(rival)
        ledger.append(b"void")
        heard.wait_doubt()

        again = Heard(ledger)
        _, replayed = take(ledger)
        assert replayed == []
        write_durably(ledger, again, [b"mine"])
        assert payloads_of(take(place.ledger())[1]) == [b"mine"]

    def test_duplicates_are_ignored_by_readers_and_by_the_owner(self, place: Place) -> None:
        ledger = place.ledger()
        heard = Heard(ledger)
        owner = new_owner()
        ledger.take_over(owner, "a test", lambda _entry: None)
        write_durably(ledger, heard, [b"one", b"two"])
        place.write(encode(ENTRY, owner, 1, b"one"))
        place.write(encode(ENTRY, owner, 2, b"two"))
        place.write(encode(OWNER_CHANGED, owner, 0, b"a test"))
        write_durably(ledger, heard, [b"three"])  # over a gap that holds only void records
        place.write(encode(ENTRY, owner, 3, b"three"))
        assert payloads_of(read_exactly(place.reader(), 3)) == [b"one", b"two", b"three"]
        assert payloads_of(take(place.ledger())[1]) == [b"one", b"two", b"three"]

    def test_a_hole_voids_the_rest_of_that_owner_only(self, place: Place) -> None:
        first, second = new_owner(), new_owner()
        place.write(encode(OWNER_CHANGED, first, 0, b"first"))
        for n in (1, 2, 4, 3, 5):
            place.write(encode(ENTRY, first, n, b"first %d" % n))
        place.write(encode(OWNER_CHANGED, second, 0, b"second"))
        place.write(encode(ENTRY, second, 1, b"second 1"))
        place.write(encode(ENTRY, first, 3, b"late"))
        expected = [b"first 1", b"first 2", b"second 1"]
        assert payloads_of(read_exactly(place.reader(), 3)) == expected
        taken, replayed = take(place.ledger())
        assert payloads_of(replayed) == expected
        assert (taken.last_owner, taken.last_n) == (second, 1)

    def test_records_of_other_programs_are_void(self, place: Place) -> None:
        ledger = place.ledger()
        heard = Heard(ledger)
        take(ledger)
        write_durably(ledger, heard, [b"one"])
        place.write(b"hello from a console")
        place.write(b"")
        write_durably(ledger, heard, [b"two"])
        assert heard.doubts == []
        assert payloads_of(read_exactly(place.reader(), 2)) == [b"one", b"two"]
        assert payloads_of(take(place.ledger())[1]) == [b"one", b"two"]

    def test_a_newer_versions_record_is_never_skipped(self, place: Place) -> None:
        ledger = place.ledger()
        heard = Heard(ledger)
        take(ledger)
        place.write(b"\x1e" + encode(ENTRY, new_owner(), 7, b"from the future")[1:])
        ledger.append(b"one")
        assert "newer mqk" in heard.wait_doubt()
        assert heard.durable == []
        with pytest.raises(LedgerMismatch, match="newer mqk"):
            take(place.ledger())
        with pytest.raises(LedgerMismatch, match="newer mqk"):
            read_exactly(place.reader(), 1)

    def test_replay_holds_what_was_promised_and_at_most_what_was_in_flight(
        self, place: Place, ledger: Ledger
    ) -> None:
        heard = Heard(ledger)
        take(ledger)
        appended = [b"%d" % i for i in range(200)]
        for payload in appended:
            ledger.append(payload)
        ledger.close()
        promised = heard.last_n
        replayed = payloads_of(take(place.ledger())[1])
        assert promised <= len(replayed) <= len(appended)
        assert replayed == appended[: len(replayed)]
        assert heard.last_n == promised, "promised after close"
        assert heard.doubts == []

    def test_an_empty_payload_is_an_entry(self, place: Place, ledger: Ledger) -> None:
        heard = Heard(ledger)
        take(ledger)
        write_durably(ledger, heard, [b"", b"x", b""])
        assert payloads_of(read_exactly(place.reader(), 3)) == [b"", b"x", b""]

    def test_a_payload_of_several_records(self, place: Place, ledger: Ledger) -> None:
        heard = Heard(ledger)
        take(ledger)
        payloads = [os.urandom(7 * 1024 * 1024), b"small", os.urandom(20 * 1024 * 1024 + 1), b""]
        write_durably(ledger, heard, payloads)
        assert payloads_of(read_exactly(place.reader(), 4)) == payloads
        assert payloads_of(take(place.ledger())[1]) == payloads

    def test_a_reader_goes_on_behind_an_entry_of_several_records(
        self, place: Place, ledger: Ledger
    ) -> None:
        heard = Heard(ledger)
        take(ledger)
        payloads = [os.urandom(5 * 1024 * 1024), os.urandom(3 * 1024 * 1024), b"last"]
        write_durably(ledger, heard, payloads)
        first, *rest = read_exactly(place.reader(), 3)
        reader = place.reader(Position(first.offset, first.owner, first.n))
        assert read_exactly(reader, 2) == rest
        assert ledger.durable() == Position(rest[-1].offset, rest[-1].owner, rest[-1].n)

    def test_what_an_owner_did_not_finish_never_counts(self, place: Place, ledger: Ledger) -> None:
        owner = new_owner()
        ledger.take_over(owner, "a test", lambda _entry: None)
        place.write(next(encode_entry(owner, 1, b"unfinished", part_bytes=4)))
        successor = place.ledger()
        heard = Heard(successor)
        assert take(successor)[1] == []
        write_durably(successor, heard, [b"of the successor"])
        assert payloads_of(read_exactly(place.reader(), 1)) == [b"of the successor"]

    def test_a_payload_that_is_too_large_is_refused_and_nothing_else_changes(
        self, place: Place, ledger: Ledger
    ) -> None:
        heard = Heard(ledger)
        take(ledger)
        assert ledger.append(b"one") == 1
        with pytest.raises(EntryTooLarge, match=str(PAYLOAD_BYTES_MAX)):
            ledger.append(bytes(PAYLOAD_BYTES_MAX + 1))
        assert ledger.append(b"two") == 2
        heard.wait_durable(2)
        assert heard.doubts == []
        assert payloads_of(read_exactly(place.reader(), 2)) == [b"one", b"two"]

    def test_a_closed_ledger_takes_nothing(self, place: Place) -> None:
        ledger = place.ledger()
        with pytest.raises(LedgerClosed):
            ledger.append(b"before the first term")
        take(ledger)
        ledger.close()
        ledger.close()
        with pytest.raises(LedgerClosed):
            ledger.append(b"after the last")
        assert read_exactly(place.reader(), 0) == []

    def test_a_reader_goes_on_from_any_position(self, place: Place) -> None:
        for term in range(3):
            ledger = place.ledger()
            heard = Heard(ledger)
            owner = new_owner()
            ledger.take_over(owner, "a test", lambda _entry: None)
            write_durably(ledger, heard, [b"%d.%d" % (term, i) for i in range(4)])
            place.write(encode(ENTRY, owner, 9, b"void"))
        entries = read_exactly(place.reader(), 12)
        for index in (0, 2, 3, 4, 11):
            entry = entries[index]
            position = Position(entry.offset, entry.owner, entry.n)
            rest = read_exactly(place.reader(position), 11 - index)
            assert rest == entries[index + 1 :]

    def test_a_reader_tails(self, place: Place, ledger: Ledger) -> None:
        heard = Heard(ledger)
        reader = place.reader()
        assert reader.read(QUIET_S) == []
        take(ledger)
        for n in (1, 2, 3):
            write_durably(ledger, heard, [b"%d" % n])
            assert payloads_of(reader.read(WAIT_S)) == [b"%d" % n]

    def test_a_reader_knows_how_far_it_has_come(self, place: Place) -> None:
        """Past records that are no entries too: its caller must know that nothing is left."""
        ledger = place.ledger()
        heard = Heard(ledger)
        take(ledger)
        write_durably(ledger, heard, [b"one", b"two"])
        end = place.write(b"void") + 1
        reader = place.reader()
        assert reader.offset_and_end()[0] == 0
        read_exactly(reader, 2)
        assert reader.offset_and_end() == (end, end)

    @pytest.mark.parametrize("change", ["another owner", "another n", "after the end"])
    def test_a_position_of_another_ledger_is_fatal(self, place: Place, change: str) -> None:
        ledger = place.ledger()
        heard = Heard(ledger)
        take(ledger)
        write_durably(ledger, heard, [b"one", b"two"])
        last = read_exactly(place.reader(), 2)[-1]
        wrong = {
            "another owner": Position(last.offset, new_owner(), last.n),
            "another n": Position(last.offset, last.owner, last.n + 1),
            "after the end": Position(last.offset + 1, last.owner, last.n),
        }[change]
        with pytest.raises(LedgerMismatch, match=r"created again.*saved position"):
            place.reader(wrong).read(WAIT_S)

    def test_a_topic_that_was_created_again_is_fatal(self, place: Place, ledger: Ledger) -> None:
        heard = Heard(ledger)
        take(ledger)
        write_durably(ledger, heard, [b"one", b"two"])
        last = read_exactly(place.reader(), 2)[-1]
        ledger.close()
        place.recreate()
        position = Position(last.offset, last.owner, last.n)
        with pytest.raises(LedgerMismatch, match=r"created again.*saved position"):
            place.reader(position).read(WAIT_S)

    def test_a_ledger_is_checked_by_what_others_have_read_and_not_written_to(
        self, place: Place
    ) -> None:
        ledger = place.ledger()
        heard = Heard(ledger)
        take(ledger)
        write_durably(ledger, heard, [b"one", b"two", b"three"])
        last = ledger.durable()
        ledger.close()
        end = place.write(b"marks the end")

        def known(offset: int, owner: bytes, n: int) -> list[Known]:
            how = f"was copied up to offset {offset}"
            return [Known(last, "is well"), Known(Position(offset, owner, n), how)]

        ledger.check([])
        ledger.check(known(last.offset - 1, last.owner, last.n - 1))
        beyond = f"ends at offset {end + 1}, and was copied up to offset {end + 200}: .*restore"
        with pytest.raises(LedgerMismatch, match=beyond):
            ledger.check(known(end + 200, last.owner, 99))
        with pytest.raises(LedgerMismatch, match=r"is not the ledger that it was.*restore"):
            ledger.check(known(last.offset, new_owner(), 3))
        with pytest.raises(LedgerMismatch, match="is not the ledger that it was"):
            ledger.check(known(end, last.owner, last.n + 1))
        assert place.write(b"the end again") == end + 1, "it was written to"
        place.trim(last.offset)
        with pytest.raises(LedgerMismatch, match=f"begins at offset {last.offset}, and was copied"):
            ledger.check(known(last.offset - 1, last.owner, last.n - 1))

    def test_a_topic_created_again_under_its_owner_is_fatal(self, place: Place) -> None:
        """Else the owner would take over the empty topic and forget everything."""
        ledger = place.ledger()
        heard = Heard(ledger)
        take(ledger)
        write_durably(ledger, heard, [b"one", b"two"])
        place.recreate()
        ledger.append(b"three")
        heard.wait_doubt()
        assert heard.durable[-1] == 2
        with pytest.raises(LedgerMismatch, match="has lost entries"):
            take(ledger)

    def test_a_topic_created_again_under_a_reader_is_fatal(self, place: Place) -> None:
        ledger = place.ledger()
        heard = Heard(ledger)
        take(ledger)
        write_durably(ledger, heard, [b"one", b"two"])
        reader = place.reader()
        read_exactly(reader, 2)
        ledger.close()
        place.recreate()
        with pytest.raises(LedgerMismatch, match="created again"):
            read_exactly(reader, 1)

    def test_a_truncated_ledger_is_fatal(self, place: Place, ledger: Ledger) -> None:
        heard = Heard(ledger)
        take(ledger)
        write_durably(ledger, heard, [b"one", b"two", b"three"])
        one, _two, three = read_exactly(place.reader(), 3)
        ledger.close()
        place.trim(three.offset)
        with pytest.raises(LedgerMismatch, match=r"begins at offset .*retention"):
            take(place.ledger())
        with pytest.raises(LedgerMismatch, match=r"begins at offset .*retention"):
            place.reader().read(WAIT_S)
        with pytest.raises(LedgerMismatch, match=r"begins at offset .*retention"):
            place.reader(Position(one.offset, one.owner, one.n)).read(WAIT_S)

    def test_a_take_over_goes_on_from_a_durable_position(self, place: Place) -> None:
        first = place.ledger()
        heard = Heard(first)
        owner, _ = take(first)
        assert first.durable() == Position(owner.offset, first.durable().owner, 0)
        write_durably(first, heard, [b"a", b"b"])
        known = first.durable()
        assert known.n == 2
        write_durably(first, heard, [b"c"])
        second = place.ledger()
        Heard(second)
        found: list[Entry] = []
        taken = second.take_over(new_owner(), "a test", found.append, known)
        assert payloads_of(found) == [b"c"]
        assert (taken.last_owner, taken.last_n) == (known.owner, 3)

    def test_what_was_trimmed_is_not_asked_for_from_a_position_on(self, place: Place) -> None:
        first = place.ledger()
        heard = Heard(first)
        take(first)
        write_durably(first, heard, [b"a", b"b"])
        known = first.durable()
        write_durably(first, heard, [b"c"])
        first.trim(known.offset)
        second = place.ledger()
        Heard(second)
        found: list[Entry] = []
        second.take_over(new_owner(), "a test", found.append, known)
        assert payloads_of(found) == [b"c"]
        with pytest.raises(LedgerMismatch, match="begins at offset"):
            take(place.ledger())

    def test_a_position_of_another_ledger_is_fatal_for_a_take_over_too(self, place: Place) -> None:
        first = place.ledger()
        heard = Heard(first)
        take(first)
        write_durably(first, heard, [b"a"])
        at = first.durable()
        other = Position(at.offset, new_owner(), at.n)
        with pytest.raises(LedgerMismatch, match="is not what was read there before"):
            place.ledger().take_over(new_owner(), "a test", lambda _entry: None, other)

    def test_an_error_while_replaying_ends_the_take_over(self, place: Place) -> None:
        ledger = place.ledger()
        heard = Heard(ledger)
        take(ledger)
        write_durably(ledger, heard, [b"one"])

        def refuse(_entry: Entry) -> None:
            raise ValueError("no such schema")

        with pytest.raises(ValueError, match="no such schema"):
            ledger.take_over(new_owner(), "a test", refuse)
        with pytest.raises(LedgerClosed):
            ledger.append(b"two")
        assert payloads_of(take(ledger)[1]) == [b"one"]

    def test_the_last_sign_of_the_owner_in_force(self, place: Place, ledger: Ledger) -> None:
        assert ledger.last_record() is None
        heard = Heard(ledger)
        owner = new_owner()
        before_ms = ledger.time_ms()
        ledger.take_over(owner, "a rival (process 7)", lambda _entry: None)
        other = place.ledger()
        sign = other.last_record()
        assert sign is not None
        assert (sign.owner, sign.payload) == (owner, b"")
        write_durably(ledger, heard, [b"one", b"two"])
        asked_ms = other.time_ms()
        place.write(b"text of another program")
        place.write(encode(ENTRY, new_owner(), 3, b"of a deposed owner"))
        sign = other.last_record()
        assert sign is not None
        assert (sign.owner, sign.payload) == (owner, b"two")
        assert before_ms <= sign.time_ms <= asked_ms
        write_durably(ledger, heard, [b"three"])
        assert not heard.doubts, "asking for the time deposes nobody"
        assert other.announcement_of(owner) == "a rival (process 7)"
        assert other.announcement_of(new_owner()) == ""
        assert payloads_of(take(other)[1]) == [b"one", b"two", b"three"]

    def test_a_sign_far_from_the_end(self, place: Place, ledger: Ledger) -> None:
        heard = Heard(ledger)
        take(ledger)
        write_durably(ledger, heard, [b"one"])
        for _ in range(10):
            place.write(b"text of another program")
        sign = place.ledger().last_record()
        assert sign is not None
        assert sign.payload == b"one"

    def test_statistics_count(self, ledger: Ledger) -> None:
        heard = Heard(ledger)
        take(ledger)
        write_durably(ledger, heard, [b"one", b"two"])
        take(ledger)
        statistics = ledger.statistics()
        assert statistics["takeovers"] == 2
        assert statistics["appends"] == 2
        assert statistics["durable"] == 2
        assert statistics["replayed"] == 2
        assert statistics["doubts"] == 0
