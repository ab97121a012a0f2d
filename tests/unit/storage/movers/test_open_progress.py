"""A progress that Kafka left open: what counts of it, judged by the lanes."""

from __future__ import annotations

import contextlib
import os
import random

import pytest

from adapter.cli.verify import Verifier
from adapter.core.contract import records as r
from adapter.core.contract.message import NO_ID, MessageData
from adapter.storage.format import descriptor, entries
from adapter.storage.format.progress import CopyProgress
from adapter.storage.ledger.memory import MemoryLedger, MemoryLedgerReader, MemoryLog
from adapter.storage.ledger.port import Entry, LedgerReader, Position, Raw
from adapter.storage.movers.errors import Doubtful
from adapter.storage.movers.events import Events
from adapter.storage.movers.mover import Mover
from adapter.storage.movers.open_progress import Undecided, count_decided
from adapter.storage.movers.projection import Projection
from adapter.storage.movers.recorded import copied_messages, lanes_behind
from adapter.storage.movers.settings import KafkaCluster, MoverSettings
from adapter.storage.movers.stream import Stream
from adapter.storage.movers.transactions import PRODUCERS
from adapter.storage.topics.specs import TopicSettings
from tests.simulation import transactions as t

SETTINGS = MoverSettings(
    queue_manager="QM1",
    source=KafkaCluster("nowhere:9"),
    destination=KafkaCluster("nowhere:9"),
    topics=TopicSettings.for_brokers(1),
    interval_ms=0,
)
TOPIC = "mq.QM1.q.Q"
LANES = 4
UNITS = 12
MESSAGE = MessageData(
    body=b"body", message_id=NO_ID, correlation_id=NO_ID, group_id=NO_ID, put_time_ms=1
)


def undecided(**last: int) -> Undecided:
    """A progress with the last copy to each of some lanes."""
    return Undecided(CopyProgress(), 0, {(lane, 0): seq for lane, seq in last.items()})


def shown(**last: int | None) -> dict[tuple[str, int], object]:
    """What lanes show."""
    return {(lane, 0): seq for lane, seq in last.items()}


def test_a_progress_counts_if_a_lane_shows_its_copies() -> None:
    two = [undecided(a=3, b=1), undecided(a=5, c=1)]
    assert count_decided(two, shown(a=2)) == 0
    assert count_decided(two, shown(a=None, c=None)) == 0
    assert count_decided(two, shown(a=3)) == 1
    assert count_decided(two, shown(a=3, b=1, c=None)) == 1
    assert count_decided(two, shown(a=5)) == 2
    assert count_decided(two, shown(c=1)) == 2
    assert count_decided(two, {}) == 0


def test_lanes_that_contradict_each_other_hold_the_mover() -> None:
    with pytest.raises(Doubtful, match=r"copies are missing on b\[0\].*restore the topic"):
        count_decided([undecided(a=3, b=1)], shown(a=3, b=None))
    with pytest.raises(Doubtful, match=r"copies are missing on a\[0\]"):
        count_decided([undecided(a=3), undecided(c=1)], shown(a=2, c=1))


class BrokersFail:
    """A mover's nth commit meets the loss of partitions: it is killed before it, or it commits.

    The partitions come back once the next mover has initialised its producers: the markers are
    dropped by then.
    """

    def __init__(self, rng: random.Random, progress: int, own: str, commits: int) -> None:
        self.rng = rng
        self.kafka = t.Kafka(self)
        self._fails_at = 3 + rng.randrange(commits)  # two marks come first
        self._commits_before = rng.random() < 0.3
        self._progress = progress
        self._own = own
        self._commits = 0
        self._initialised: int | None = None
        self.away: list[t.Partition] = []

    def at_commit(self) -> str:
        """See transactions.Trouble."""
        self._commits += 1
        if self._commits != self._fails_at:
            return ""
        self._initialised = 0
        self.away = [self.kafka.topics["mq.QM1.progress"][self._progress]]
        lanes = self.kafka.topics[self._own]
        self.away += [one for one in lanes if self.rng.random() < 0.4]
        for one in self.away:
            one.has_leader = False
        return t.UNANSWERED if self._commits_before else t.BEFORE_COMMIT

    def at_step(self, step: str) -> None:
        """See transactions.Trouble."""
        if self._initialised is None:
            return
        self._initialised += step == "while it begins"
        if step == "between transactions" or self._initialised > PRODUCERS:
            for one in self.away:
                one.has_leader = True

    def arrives(self) -> bool:
        """See transactions.Trouble."""
        return True


class Reader:
    """Gives an entry or two at a time; stops its mover at the end, brings brokers back before."""

    def __init__(self, log: MemoryLog, brokers: BrokersFail, position: Position | None) -> None:
        self._inner = MemoryLedgerReader(log, position)
        self._left: list[Entry] = []
        self._brokers = brokers
        self._dry = 0
        self.mover: Mover | None = None

    def read(self, _timeout_s: float) -> list[Entry]:
        """See LedgerReader."""
        self._left += self._inner.read(0.0)
        self._dry = 0 if self._left else self._dry + 1
        if self._dry > 2 and self.mover is not None:  # what was read last has been taken
            self.mover.stop()
        count = self._brokers.rng.randint(1, 2)
        found, self._left = self._left[:count], self._left[count:]
        return found

    def offset_and_end(self) -> tuple[int, int]:
        """See LedgerReader."""
        offset, end = self._inner.offset_and_end()
        return (self._left[0].offset if self._left else offset), end

    def close(self) -> None:
        """See LedgerReader."""


def filled(rng: random.Random) -> tuple[MemoryLog, dict[int, list[int]], list[str]]:
    """A ledger of units and events, the seqs of each lane, and the names of the events."""
    log = MemoryLog()
    ledger = MemoryLedger(log)
    ledger.take_over(b"o" * 16, "a test", lambda _entry: None)
    ledger.append(entries.encode([r.QueueDefined("Q", 0, {})]))
    seqs: dict[int, list[int]] = {lane: [] for lane in range(LANES)}
    raised: list[str] = []
    for number in range(UNITS):
        puts: list[r.Placed] = []
        for lane in rng.choices(range(LANES), k=rng.randint(1, 5)):
            seqs[lane].append(len(seqs[lane]) + 1)
            puts.append(r.Placed("Q", lane, seqs[lane][-1], 0, len(puts), 0, 1, MESSAGE))
        raised.append(f"Q{number}")
        event = r.EventRaised("queue_full", raised[-1], number, {})
        unit = r.UnitCommitted(os.urandom(24), len(puts), puts, [], "put", None)
        ledger.append(entries.encode([unit, event]))
    return log, seqs, raised


def run_movers(log: MemoryLog, brokers: BrokersFail, make: type[Stream | Events]) -> None:
    """Let movers copy it all, the next one when one is killed."""
    brokers.kafka.ledger_end = lambda: log.end
    lives = [t.Life()]
    with brokers.kafka.installed(lambda: lives[-1]):
        for _ in range(20):
            with contextlib.suppress(t.Killed):
                run_mover(log, brokers, make(SETTINGS))
                return
            lives.append(t.Life())
    pytest.fail("the movers do not come to an end")


def run_mover(log: MemoryLog, brokers: BrokersFail, projection: Projection) -> None:
    """Let one mover copy what there is."""

    def reader(position: Position | None) -> LedgerReader:
        made = Reader(log, brokers, position)
        made.mover = mover if mover.is_over_its_start else None
        return made

    mover = Watched(SETTINGS, projection, reader)
    mover.run()


class Watched(Mover):
    """A mover that knows whether it reads on, and not only to judge what is open."""

    is_over_its_start = False

    def _resume(self) -> Position | None:
        self.is_over_its_start = False
        position = super()._resume()
        self.is_over_its_start = True
        return position


@pytest.mark.parametrize("seed", range(50))
def test_finding_reliability_d1_a_mark_commits_no_progress_without_its_copies(seed: int) -> None:
    rng = random.Random(seed)
    log, seqs, _ = filled(rng)
    brokers = BrokersFail(rng, 0, TOPIC, 6)
    run_movers(log, brokers, Stream)
    assert brokers.away, "the fault was met"
    reader = descriptor.DescriptorReader()
    for lane, wanted in seqs.items():
        found = []
        for _, record in brokers.kafka.topics[TOPIC][lane].committed(0):
            headers = dict(record.headers)
            if "mqck" not in headers:
                found.append(reader.read(headers[descriptor.HEADER], b"")[1].seq)
        assert found == wanted, f"lane {lane}"


@pytest.mark.parametrize("seed", range(20))
def test_finding_reliability_d1_events_are_there_once(seed: int) -> None:
    rng = random.Random(seed)
    log, _, raised = filled(rng)
    brokers = BrokersFail(rng, 1, "mq.QM1.events", 2)
    run_movers(log, brokers, Events)
    assert brokers.away, "the fault was met"
    (partition,) = brokers.kafka.topics["mq.QM1.events"]
    assert [record.key for _, record in partition.committed(0)] == raised


def test_finding_reliability_d1_lanes_behind_the_progress_are_told() -> None:
    log, seqs, _ = filled(random.Random(1))
    brokers = BrokersFail(random.Random(1), 0, TOPIC, 6)
    run_movers(log, brokers, Stream)
    wanted = {(TOPIC, lane): found[-1] for lane, found in seqs.items()}
    with brokers.kafka.installed(t.Life):
        at = copied_messages(SETTINGS)
        assert at is not None
        assert at.offset == log.end - 1
        assert lanes_behind(SETTINGS, wanted | {("mq.QM1.q.GONE", 0): 3}) == []
        (said,) = lanes_behind(SETTINGS, wanted | {(TOPIC, 2): seqs[2][-1] + 1})
    assert said.startswith(f"{TOPIC}[2] ends with message {seqs[2][-1]}, and the stream mover has")


def test_finding_reliability_d1_verify_knows_what_must_be_on_the_lanes() -> None:
    log, seqs, _ = filled(random.Random(2))
    verifier = Verifier("QM1", None, CopyProgress(log.end - 1))
    for offset, one in enumerate(log.read(0, log.end)):
        assert verifier.take(Raw(offset, one.time_ms, one.value)) == []
    assert verifier.copies() == {(TOPIC, lane): found[-1] for lane, found in seqs.items()}
