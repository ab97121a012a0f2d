"""The receiver while Kafka does not answer, for which it looks after longer and longer pauses; and
the queue manager's entry in the directory.
"""

from collections.abc import Sequence
from threading import Semaphore
from types import SimpleNamespace

import pytest

from adapter.runtime.network import receiver
from adapter.runtime.network.collecting import ReadyUnit
from adapter.runtime.network.directory import Directory, DirectoryEntry, entry_record
from adapter.runtime.network.memory import MemoryFollower, MemoryNetwork
from adapter.runtime.network.port import NetworkError, ReceivedRecord, SentRecord, TopicLost
from adapter.runtime.network.receiver import PAUSES_S, NetworkReceiver
from adapter.storage.format.names import DIRECTORY_TOPIC, inbound_topic
from tests.support.backlog import until

WITHIN_S = 20.0


class CountingNetwork(MemoryNetwork):
    """A network that is away, and counts who looks for it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_away = True
        self.asked = self.followers = self.closed = 0

    def identities(self, topics: Sequence[str], *, to_write: bool = False) -> dict[str, str]:
        self.asked += 1
        return super().identities(topics, to_write=to_write)

    def follower(self) -> MemoryFollower:
        self.followers += 1
        return super().follower()

    def close(self) -> None:
        self.closed += 1


class SecretNetwork(MemoryNetwork):
    """A network whose directory may not be written until that is granted."""

    is_granted = False

    def open_directory(self, topic: str) -> str:
        if not self.is_granted:
            raise NetworkError(f"Kafka denies Create on topic {topic}")
        return super().open_directory(topic)


class MuteFollower(MemoryFollower):
    """Says nothing of topics that are gone, as Kafka's client does for minutes."""

    def read(self, timeout_s: float) -> list[ReceivedRecord | TopicLost]:
        return [one for one in super().read(timeout_s) if not isinstance(one, TopicLost)]


class MuteNetwork(MemoryNetwork):
    def follower(self) -> MemoryFollower:
        return MuteFollower(self)


class FollowerByName(MemoryFollower):
    """Reads on in a topic that was made again, as Kafka's client does if it has the offset."""

    def _take(self) -> list[ReceivedRecord | TopicLost]:
        topics = self._network.topics
        for name, (_, offset) in list(self._next.items()):
            if name not in topics or offset > topics[name].end:
                return []  # the client says so minutes later
            self._next[name] = topics[name].identity, offset
        return super()._take()


class NetworkByName(MemoryNetwork):
    def follower(self) -> MemoryFollower:
        return FollowerByName(self)


class Pauses:
    """The event of a receiver's stop: it is set after so many pauses, which it notes."""

    def __init__(self, most: int) -> None:
        self.noted: list[float] = []
        self._most = most

    def is_set(self) -> bool:
        return len(self.noted) >= self._most

    def wait(self, pause_s: float) -> None:
        self.noted.append(pause_s)


def test_finding_reliability_kafka_gone_the_receiver_looks_for_it_ever_more_rarely(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also if each attempt takes long, as Kafka's time-outs do; no consumer is made to look."""
    now_s = iter(range(0, 100_000, 30))
    clock = SimpleNamespace(monotonic=lambda: next(now_s), time_ns=lambda: 0)
    monkeypatch.setattr(receiver, "time", clock)
    network = CountingNetwork()
    receiving = NetworkReceiver("QM1", network, Directory(), lambda _term, _units: None)
    pauses = Pauses(len(PAUSES_S) + 2)
    vars(receiving)["_stopping"] = pauses
    receiving._run()
    assert pauses.noted == [0.5, 1.0, 2.0, 5.0, 10.0, 10.0, 10.0]
    assert network.followers == 1
    assert network.asked == len(pauses.noted) - 1
    assert network.closed == len(pauses.noted), "nothing looks for it in a pause"
    assert receiving.figures().trouble == "the network in memory is away"


def test_a_topic_that_may_not_be_read_is_a_problem_until_the_next_sweep() -> None:
    """And is opened again then: the right may have been granted."""
    receiving = NetworkReceiver("QM1", MemoryNetwork(), Directory(), lambda _term, _units: None)
    lost = TopicLost(DIRECTORY_TOPIC, "Kafka denies Read on topic mq.directory", is_there=True)
    receiving._take([lost])
    assert receiving._problems == {DIRECTORY_TOPIC: lost.why}
    assert DIRECTORY_TOPIC in receiving._wanted
    assert receiving.figures().failures == 1


def test_who_enters_itself_is_told_when_that_has_failed_and_when_it_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that a start ends when programs find the queue manager, or cannot for now."""
    monkeypatch.setattr(receiver, "SWEEP_S", 0.05)
    network, directory, tried = SecretNetwork(), Directory(), Semaphore(0)
    entry = DirectoryEntry("QM1", "127.0.0.1:1515")
    receiving = NetworkReceiver("QM1", network, directory, lambda _term, _units: None)
    receiving.start(lambda *_: None)
    try:
        receiving.enter(lambda: entry_record(entry), tried.release)
        assert tried.acquire(timeout=WITHIN_S)
        assert directory.entry("QM1") is None
        network.is_granted = True
        assert directory.await_entry("QM1", WITHIN_S)
        assert tried.acquire(timeout=WITHIN_S)
    finally:
        receiving.stop()


@pytest.mark.parametrize("event", ["the topic is deleted", "a replaced process writes late"])
def test_who_is_not_in_the_directory_any_more_enters_itself_again(
    event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else programs that name the Kafka would not find it before its next start."""
    monkeypatch.setattr(receiver, "SWEEP_S", 0.05)
    network, directory, tried = MuteNetwork(), Directory(), Semaphore(0)
    entry, late = (DirectoryEntry("QM1", f"127.0.0.1:{port}") for port in (1515, 1414))
    receiving = NetworkReceiver("QM1", network, directory, lambda _term, _units: None)
    receiving.start(lambda *_: None)
    try:
        receiving.enter(lambda: entry_record(entry), tried.release)
        assert tried.acquire(timeout=WITHIN_S)
        assert directory.await_entry("QM1", WITHIN_S)
        for _ in range(2):
            if event == "the topic is deleted":
                network.delete(DIRECTORY_TOPIC)
            else:
                network.writer().append(DIRECTORY_TOPIC, [entry_record(late)])
            assert tried.acquire(timeout=WITHIN_S)
            assert network.topics[DIRECTORY_TOPIC].records[-1].value == entry_record(entry).value
    finally:
        receiving.stop()
    assert not tried.acquire(timeout=0), "once for each event"


def plain(body: bytes) -> SentRecord:
    return SentRecord(body, [("mq.queue", b"Q")])


def test_a_topic_that_is_made_again_is_read_from_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its records are none of the old topic's, whose offset they are read on from; whenever the
    next sweep is.
    """
    monkeypatch.setattr(receiver, "SWEEP_S", 3_600.0)
    network, topic = NetworkByName(), inbound_topic("QM1", "")
    given: list[ReadyUnit] = []
    receiving = NetworkReceiver("QM1", network, Directory(), lambda _, units: given.extend(units))
    receiving.start(lambda *_: None)
    try:
        receiving.begin_at(1, {})
        until(lambda: topic in network.topics)
        network.writer().append(topic, [plain(b"old"), plain(b"old, too")])
        until(lambda: len(given) == 2)
        network.delete(topic)
        network.open(topic)
        network.writer().append(topic, [plain(b"%d" % n) for n in range(4)])
        until(lambda: len(given) == 6)
    finally:
        receiving.stop()
    bodies = [one.given.messages[0].message.body for one in given]
    assert bodies == [b"old", b"old, too", b"0", b"1", b"2", b"3"]
    assert len({one.given.topic_id for one in given}) == 2


def test_nothing_of_a_topic_that_was_made_again_is_deleted() -> None:
    network = MemoryNetwork()
    receiving = NetworkReceiver("QM1", network, Directory(), lambda _term, _units: None)
    old = network.open("mq.QM1.in")
    network.delete("mq.QM1.in")
    network.open("mq.QM1.in")
    network.open("mq.QM1.in.QM2")
    for topic in ("mq.QM1.in", "mq.QM1.in.QM2"):
        network.writer().append(topic, [plain(b"x")] * 3)
    here = network.topics["mq.QM1.in.QM2"].identity
    offsets = {("mq.QM1.in", old): 2, ("mq.QM1.in.QM2", here): 2, ("mq.gone", old): 1}
    tried: list[bool] = []
    network.is_away = True
    receiving.trim(offsets, tried.append)
    receiving._obey()
    assert tried == [False]
    network.is_away = False
    receiving.trim(offsets, tried.append)
    receiving._obey()
    assert tried == [False, True]
    assert network.bounds("mq.QM1.in") == (0, 3)
    assert network.bounds("mq.QM1.in.QM2") == (2, 3)
