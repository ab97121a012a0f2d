"""Who may own a ledger: one suite, run for the ledger in memory and for the one on Kafka."""

import random

import pytest

from adapter.storage.ledger.envelope import ENTRY, encode, encode_change
from adapter.storage.ledger.port import (
    Entry,
    Ledger,
    LedgerClosed,
    LedgerUnavailable,
    OwnedByAnother,
)
from tests.contract.ledger_contract import (
    Heard,
    Place,
    new_owner,
    payloads_of,
    read_exactly,
    take,
    write_durably,
)

FAILED_ANNOUNCEMENTS = 150


class OwnershipContract:
    """The suite. Subclasses are named Test... and give ``place`` and ``ledger``."""

    def test_finding_reliability_d2_an_owner_that_was_replaced_does_not_come_back(
        self, place: Place
    ) -> None:
        frozen, successor = place.ledger(), place.ledger()
        frozen_heard, heard = Heard(frozen), Heard(successor)
        take(frozen)
        write_durably(frozen, frozen_heard, [b"before"])
        take(successor, "the successor by name")
        write_durably(successor, heard, [b"of the successor"])
        for _ in range(20):
            with pytest.raises(OwnedByAnother, match=r"another owner took over.*by name"):
                frozen.take_over(new_owner(), "a test", lambda _entry: None, again=True)
        successor.trim(successor.durable().offset)
        known = successor.durable()
        with pytest.raises(OwnedByAnother, match="another owner took over"):
            frozen.take_over(new_owner(), "a test", lambda _entry: None, known, again=True)
        write_durably(successor, heard, [b"undisturbed"])
        assert heard.doubts == []

    @pytest.mark.parametrize("instead_of", [b"", b"another owner id"])
    def test_a_standby_replaces_only_whom_it_found_silent(
        self, place: Place, instead_of: bytes
    ) -> None:
        """Nobody is one of those: of two standbys of a new ledger, one follows the other."""
        fast, slow = place.ledger(), place.ledger()
        heard = Heard(fast)
        fast.take_over(new_owner(), "the fast one by name", lambda _entry: None, instead_of=b"")
        with pytest.raises(OwnedByAnother, match=r"another owner took over.*the fast one by name"):
            slow.take_over(new_owner(), "a test", lambda _entry: None, instead_of=instead_of)
        write_durably(fast, heard, [b"undisturbed"])
        assert heard.doubts == []

    def test_an_owner_takes_over_again_from_itself(self, place: Place, ledger: Ledger) -> None:
        heard = Heard(ledger)
        take(ledger)
        write_durably(ledger, heard, [b"one"])
        again = Heard(ledger)
        for _ in range(3):
            ledger.take_over(new_owner(), "a test", lambda _entry: None, again=True)
        write_durably(ledger, again, [b"two"])
        assert payloads_of(read_exactly(place.reader(), 2)) == [b"one", b"two"]

    def test_an_owner_is_itself_however_many_of_its_announcements_failed(
        self, place: Place, ledger: Ledger
    ) -> None:
        """Kafka may take no writes for hours, as without enough replicas or a right."""
        heard = Heard(ledger)
        take(ledger)
        write_durably(ledger, heard, [b"one"])
        place.refuse_writes(refused=True)
        failed: list[bytes] = []
        for _ in range(FAILED_ANNOUNCEMENTS):
            failed.append(new_owner())
            with pytest.raises(LedgerUnavailable):
                ledger.take_over(failed[-1], "a test", lambda _entry: None, again=True)
        place.refuse_writes(refused=False)
        in_force = place.ledger().last_record()
        assert in_force is not None
        place.write(encode_change(failed[0], in_force.owner, b"the first attempt, landing late"))
        again = Heard(ledger)
        ledger.take_over(new_owner(), "a test", lambda _entry: None, again=True)
        write_durably(ledger, again, [b"two"])
        assert payloads_of(read_exactly(place.reader(), 2)) == [b"one", b"two"]

    def test_what_an_owner_says_of_itself_outlives_trims(
        self, place: Place, ledger: Ledger
    ) -> None:
        """Said again at any moment between entries, it is in nobody's way."""
        chance, heard, other = random.Random(5), Heard(ledger), place.ledger()
        owner, who, written = new_owner(), "a test\0and its key", []
        ledger.take_over(owner, who, lambda _entry: None)
        trimmed_n = 0
        for _ in range(12):
            more = [b"%d" % chance.randrange(1_000) for _ in range(chance.randrange(1, 6))]
            last_n = [ledger.append(payload) for payload in more][-1]
            written += more
            if chance.random() < 0.5:
                heard.wait_durable(last_n)
            ledger.announce_again()
            if chance.random() < 0.5:
                ledger.append(b"behind it")
                written.append(b"behind it")
                last_n += 1
            heard.wait_durable(last_n)
            if chance.random() < 0.7:
                position, trimmed_n = ledger.durable(), len(written)
                ledger.announce_again()
                ledger.trim(position.offset)
            assert other.announcement_of(owner) == who
            sign = other.last_record()
            assert sign is not None
            assert (sign.owner, sign.payload) == (owner, written[-1])
        assert trimmed_n
        assert not heard.doubts
        read = payloads_of(read_exactly(place.reader(position), len(written) - trimmed_n))
        assert read == written[trimmed_n:]
        successor, own = place.ledger(), []
        successor.take_over(new_owner(), "next", lambda entry: own.append(entry.payload), position)
        assert own == read
        with pytest.raises(LedgerClosed):
            other.announce_again()

    def test_a_take_over_that_was_prepared_is_one_like_others(
        self, place: Place, ledger: Ledger
    ) -> None:
        """What was prepared has waited while another owner wrote, and was asked for signs of it."""
        standby, heard = place.ledger(), Heard(ledger)
        take(ledger)
        write_durably(ledger, heard, [b"one"])
        standby.prepare()
        write_durably(ledger, heard, [b"two"])
        for _ in range(3):
            sign = standby.last_record()
            assert sign is not None
            assert sign.payload == b"two"
            standby.prepare()  # now and again
        deposed = ledger.durable().owner
        own, found = Heard(standby), []
        standby.take_over(
            new_owner(), "a standby", lambda entry: found.append(entry.payload), instead_of=deposed
        )
        assert found == [b"one", b"two"]
        write_durably(standby, own, [b"three"])
        with pytest.raises(OwnedByAnother):
            place.ledger().take_over(new_owner(), "", lambda _entry: None, instead_of=deposed)

    def test_what_was_prepared_ends_with_the_ledger(self, place: Place) -> None:
        unused = place.ledger()
        unused.prepare()
        unused.close()
        given_up = place.ledger()
        given_up.give_up()
        given_up.prepare()
        given_up.close()

    @pytest.mark.parametrize("again", [False, True])
    def test_of_two_take_overs_at_once_the_first_counts(self, place: Place, again: bool) -> None:
        """The rival's change comes in while the other one still reads whom it is to replace."""
        ledger, rival = place.ledger(), new_owner()
        first = Heard(ledger)
        take(ledger)
        write_durably(ledger, first, [b"one"])
        owner = ledger.durable().owner

        def race(_entry: Entry) -> None:
            place.write(encode_change(rival, owner, b"the rival by name"))
            place.write(encode(ENTRY, rival, 1, b"of the rival"))

        with pytest.raises(OwnedByAnother, match=r"another owner took over.*the rival by name"):
            ledger.take_over(new_owner(), "a test", race, again=again)
        with pytest.raises(LedgerClosed):
            ledger.append(b"void")
        place.write(encode(ENTRY, rival, 2, b"of the rival still"))
        expected = [b"one", b"of the rival", b"of the rival still"]
        assert payloads_of(read_exactly(place.reader(), 3)) == expected

    def test_the_new_owner_is_not_disturbed_by_the_old_ones_void_records(
        self, place: Place
    ) -> None:
        old, new = place.ledger(), place.ledger()
        old_heard, new_heard = Heard(old), Heard(new)
        take(old)
        take(new)
        write_durably(new, new_heard, [b"new 1"])
        old.append(b"void")
        old_heard.wait_doubt()
        assert old_heard.durable == []
        write_durably(new, new_heard, [b"new 2", b"new 3"])
        assert new_heard.doubts == []
        assert payloads_of(take(place.ledger())[1]) == [b"new 1", b"new 2", b"new 3"]

    def test_an_owner_that_wakes_up_after_the_ledger_was_trimmed_promises_nothing(
        self, place: Place
    ) -> None:
        """The record that deposed it is gone, and what it has written is void all the same."""
        frozen, successor = place.ledger(), place.ledger()
        frozen_heard, heard = Heard(frozen), Heard(successor)
        take(frozen)
        write_durably(frozen, frozen_heard, [b"before"])
        promised = list(frozen_heard.durable)
        take(successor)
        write_durably(successor, heard, [b"one", b"two"])
        successor.trim(successor.durable().offset)
        frozen.append(b"void")
        frozen_heard.wait_doubt()
        assert frozen_heard.durable == promised
        write_durably(successor, heard, [b"three"])
        assert heard.doubts == []
