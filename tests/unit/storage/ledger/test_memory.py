"""What the named faults of the ledger in memory do, and when its reports come."""

from random import Random

import pytest

from adapter.storage.ledger.memory import FAULTS, MemoryLedger, MemoryLedgerReader, MemoryLog
from adapter.storage.ledger.port import Entry, Forged, LedgerClosed, LedgerUnavailable
from adapter.storage.ledger.seals import keys_of
from tests.support.examples import examples

OWNERS = [bytes([letter]) * 16 for letter in b"ABCDEFGH"]


class Owner:
    """A ledger with everything it reported, in order."""

    def __init__(self, log: MemoryLog, *, pumped: bool = False) -> None:
        self.ledger = MemoryLedger(log, pumped=pumped)
        self.events: list[int | str] = []
        self.ledger.on_durable = self.events.append
        self.ledger.on_doubt = self.events.append
        self.replayed: list[bytes] = []
        self.ledger.take_over(OWNERS[log.end % len(OWNERS)], "an owner", self._replay)

    def _replay(self, entry: Entry) -> None:
        self.replayed.append(entry.payload)


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog(clock_ms=lambda: 1_000)


def test_append_reports_before_it_returns(log: MemoryLog) -> None:
    owner = Owner(log)
    for n in (1, 2, 3):
        assert owner.ledger.append(b"x") == n
        assert owner.events == list(range(1, n + 1))


def test_a_pumped_ledger_reports_once_for_all(log: MemoryLog) -> None:
    owner = Owner(log, pumped=True)
    for payload in (b"1", b"2", b"3"):
        owner.ledger.append(payload)
    assert owner.events == []
    owner.ledger.pump()
    owner.ledger.pump()
    assert owner.events == [3]


@pytest.mark.parametrize("pumped", [False, True])
@pytest.mark.parametrize(
    ("fault", "promised", "replayed"),
    [
        ("lost before durable", [1, 2], [b"1", b"2"]),
        ("lost after durable", [1, 2], [b"1", b"2", b"3"]),
        ("doubtful", [1, 2], [b"1", b"2"]),
        ("rival owner", [1, 2], [b"1", b"2"]),
        ("corrupt tail", [1, 2], [b"1", b"2"]),
    ],
)
def test_faults_that_end_the_term(
    log: MemoryLog, fault: str, promised: list[int], replayed: list[bytes], pumped: bool
) -> None:
    owner = Owner(log, pumped=pumped)
    log.arm(fault, at=3)
    for payload in (b"1", b"2", b"3"):
        owner.ledger.append(payload)
    owner.ledger.pump()
    *durable, doubt = owner.events
    assert durable == (promised[-1:] if pumped else promised)
    assert isinstance(doubt, str)
    with pytest.raises(LedgerClosed):
        owner.ledger.append(b"4")
    assert Owner(log).replayed == replayed
    assert owner.ledger.statistics()["doubts"] == 1


def test_appends_behind_a_failure_that_is_not_yet_known(log: MemoryLog) -> None:
    for fault, replayed in {
        "lost before durable": [b"1"],
        "lost after durable": [b"1", b"2", b"3"],
    }.items():
        log.recreate()
        owner = Owner(log, pumped=True)
        log.arm(fault, at=2)
        for payload in (b"1", b"2", b"3"):
            owner.ledger.append(payload)
        owner.ledger.pump()
        assert owner.events[0] == 1
        assert len(owner.events) == 2
        assert Owner(log).replayed == replayed


def test_a_doubtful_entry_lands_behind_the_next_take_over_and_counts_for_nobody(
    log: MemoryLog,
) -> None:
    owner = Owner(log)
    log.arm("doubtful")
    owner.ledger.append(b"late")
    next_owner = Owner(log)
    assert log.end == 3, "the record was written"
    next_owner.ledger.append(b"1")
    assert next_owner.events == [1]
    assert Owner(log).replayed == [b"1"]


def test_faults_can_be_disarmed(log: MemoryLog) -> None:
    owner = Owner(log)
    log.arm("lost before durable")
    log.disarm()
    owner.ledger.append(b"1")
    assert owner.events == [1]


def test_a_hole_is_known_only_after_the_next_append(log: MemoryLog) -> None:
    owner = Owner(log)
    log.arm("hole", at=2)
    owner.ledger.append(b"1")
    owner.ledger.append(b"2")
    assert owner.events == [1]
    owner.ledger.append(b"3")
    assert len(owner.events) == 2
    assert isinstance(owner.events[1], str)
    assert Owner(log).replayed == [b"1"]
    assert log.end == 4, "the record behind the hole was written"


def test_a_hole_that_nothing_follows_is_known_after_a_pump(log: MemoryLog) -> None:
    owner = Owner(log)
    log.arm("hole")
    owner.ledger.append(b"1")
    owner.ledger.pump()
    assert [type(event) for event in owner.events] == [str]


def test_a_duplicate_is_written_and_goes_unnoticed(log: MemoryLog) -> None:
    owner = Owner(log)
    log.arm("duplicate")
    for payload in (b"1", b"2"):
        owner.ledger.append(payload)
    assert owner.events == [1, 2]
    assert log.end == 4
    assert Owner(log).replayed == [b"1", b"2"]


@pytest.mark.parametrize("pumped", [False, True])
def test_slow_durable_waits_for_its_release(log: MemoryLog, pumped: bool) -> None:
    owner = Owner(log, pumped=pumped)
    log.arm("slow durable")
    owner.ledger.append(b"1")
    owner.ledger.append(b"2")
    owner.ledger.pump()
    assert owner.events == []
    owner.ledger.release()
    assert owner.events == [2]
    owner.ledger.append(b"3")
    owner.ledger.pump()
    assert owner.events == [2, 3]


def test_a_second_owner_deposes_the_first(log: MemoryLog) -> None:
    first = Owner(log)
    first.ledger.append(b"1")
    second = Owner(log)
    first.ledger.append(b"void")
    assert first.events[0] == 1
    assert "another owner took over" in str(first.events[1])
    assert second.replayed == [b"1"]
    second.ledger.append(b"2")
    assert second.events == [1]
    entries = MemoryLedgerReader(log).read(0.0)
    assert [entry.payload for entry in entries] == [b"1", b"2"]


def test_a_take_over_is_refused_while_the_log_is_unavailable(log: MemoryLog) -> None:
    log.unavailable = "the broker is down"
    with pytest.raises(LedgerUnavailable, match="the broker is down") as caught:
        Owner(log)
    assert caught.value.retriable
    assert log.end == 0
    log.unavailable = ""
    assert Owner(log).replayed == []


def test_stamps_go_back_with_the_clock() -> None:
    stamps = iter([10, 5, 20])
    log = MemoryLog(clock_ms=lambda: next(stamps))
    owner = Owner(log)
    owner.ledger.append(b"1")
    owner.ledger.append(b"2")
    assert [entry.time_ms for entry in MemoryLedgerReader(log).read(0.0)] == [5, 20]


def test_an_unknown_fault_is_refused(log: MemoryLog) -> None:
    with pytest.raises(ValueError, match=r"they are .*hole"):
        log.arm("no such fault")
    assert set(FAULTS) >= {"hole", "rival owner", "duplicate"}


@pytest.mark.parametrize("seed", range(examples(40)))
def test_each_forged_record_is_reported_once_however_often_the_ledger_is_read(seed: int) -> None:
    """Within a term as the owner meets them, and by take-overs, which read all again."""
    random = Random(seed)
    log = MemoryLog("mq.QM.ledger")
    ledger = MemoryLedger(log, keys=keys_of([b"k" * 32]))
    found: list[Forged] = []
    ledger.on_forged = found.append
    written: list[int] = []
    for number in range(20):
        ledger.take_over(bytes([1 + number]) * 16, "who", lambda _entry: None, again=number > 0)
        for _ in range(random.randrange(4)):
            written += [log.write(b"forged") for _ in range(random.randrange(3))]
            ledger.append(b"entry")
        ledger.close()
        written += [log.write(b"forged") for _ in range(random.randrange(3))]
    ledger.take_over(bytes([99]) * 16, "who", lambda _entry: None, again=True)
    assert ledger.statistics()["forged"] == len(written)
    assert sum(one.records for one in found) == len(written)
    for one in found:
        assert one.records == sum(one.first <= at <= one.last for at in written)
