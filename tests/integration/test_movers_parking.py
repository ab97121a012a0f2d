"""Topics that cannot be written: the others go on, and nothing is skipped, doubled or reordered."""

import time
from collections.abc import Callable

import msgspec
import pytest
from confluent_kafka import Message

import adapter
from adapter import testing
from adapter.core.contract import records as r
from adapter.errors import QueueParked
from adapter.localkafka import LocalKafka
from adapter.storage.format import events, names
from adapter.storage.ledger.kafka_reader import LedgerSource
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.movers import batch, transactions
from adapter.storage.movers.errors import Doubtful
from adapter.storage.movers.process import MoverProcess
from adapter.storage.movers.thread import MoverThread
from adapter.storage.movers.transactions import AlternatingProducers
from adapter.storage.topics.specs import queue_spec
from tests.support.backlog import until
from tests.support.mover_place import LANES, WAIT_S, MoverPlace
from tests.support.shared_kafka import AnyKafka
from tests.support.topic_settings import configure


@pytest.fixture
def missing_topics_are_soon_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.storage.movers.settings.MISSING_TOPIC_MS", 1000)


def spoil(place: MoverPlace, queue: str) -> None:
    """Let a queue's topic refuse what is written to it, but for the ends of transactions."""
    limit(place, queue, "150")


def mend(place: MoverPlace, queue: str) -> None:
    """Let it take everything again."""
    limit(place, queue, queue_spec("any", 1).settings["max.message.bytes"])


def limit(place: MoverPlace, queue: str, message_bytes: str) -> None:
    """Set the length of the longest record that a queue's topic takes."""
    topic = place.topic(queue)
    configure(place.servers, topic, {"max.message.bytes": message_bytes})


def copy(place: MoverPlace, movers: MoverThread) -> None:
    """Wait until the whole ledger is copied, but for what is parked."""
    assert movers.caught_up(place.flush(), WAIT_S), movers.failure()


def figure(movers: MoverThread, name: str) -> int:
    return movers.statistics()["stream"][name]


@pytest.mark.usefixtures("missing_topics_are_soon_made")
def test_a_topic_that_is_deleted_comes_back_with_all_that_the_ledger_has(
    place: MoverPlace, movers: MoverThread
) -> None:
    place.define("A", "B")
    place.append(place.unit(["A", "B"]))
    movers.start()
    copy(place, movers)
    place.topics.delete([place.topic("A")])
    for _ in range(3):
        place.append(place.unit(["B"]), place.unit(["A", "B"]))
        place.flush()
    copy(place, movers)
    assert movers.none_parked(WAIT_S)
    copy(place, movers)
    place.check("A", "B")
    assert movers.failure() is None


@pytest.mark.usefixtures("missing_topics_are_soon_made")
def test_a_topic_that_is_deleted_stays_parked_once_the_ledger_is_trimmed(
    place: MoverPlace, movers: MoverThread
) -> None:
    """What was on it is gone, and the others do not suffer. A new queue of its name ends that."""
    place.define("A", "B")
    place.append(place.unit(["A", "B"]))
    movers.start()
    copy(place, movers)
    place.trim(figure(movers, "written"))
    place.topics.delete([place.topic("A")])
    for _ in range(3):
        place.append(place.unit(["A", "B"]), place.unit(["B"]))
        copy(place, movers)
    place.check("B")
    assert movers.failure() is None
    deadline_s = time.monotonic() + WAIT_S
    while not any("restore the topic from a copy" in one.why for one in movers.parked.values()):
        assert time.monotonic() < deadline_s, movers.parked
        place.append(place.unit(["B"]))
        copy(place, movers)
    place.check("B")
    place.append(r.QueueDeleted("A"), r.QueueDefined("A", 1, {}))
    while not movers.none_parked(0.1):
        assert time.monotonic() < deadline_s + WAIT_S, movers.parked
        place.append(place.unit(["B"]))
        copy(place, movers)
    place.check("B")
    assert movers.failure() is None


def test_the_others_go_on_while_a_topic_is_parked(place: MoverPlace, movers: MoverThread) -> None:
    place.define("A", "B")
    place.append(place.unit(["A", "B"]))
    movers.start()
    copy(place, movers)
    spoil(place, "A")
    for _ in range(5):
        place.append(place.unit(["A", "B"]), place.unit(["A"]), place.unit(["B"]))
    copy(place, movers)
    place.check("B")
    assert (figure(movers, "parked"), figure(movers, "holding")) == (1, 0)
    assert figure(movers, "parked_messages") == 100
    assert figure(movers, "parked_bytes") == 800
    assert figure(movers, "pinned_records") > figure(movers, "lag_records") == 0
    assert figure(movers, "pinned_bytes") > 0
    (held,) = movers.parked.values()
    assert held.messages == 100
    mend(place, "A")
    assert movers.none_parked(WAIT_S)
    place.check("A", "B")
    assert (figure(movers, "parked"), figure(movers, "parked_bytes")) == (0, 0)


def test_a_topic_that_refuses_even_the_ends_of_transactions(
    killable_kafka: LocalKafka, unique_name: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds everything, and is named; the cure is to mend it, and to restart the broker."""
    place = MoverPlace(killable_kafka.bootstrap_servers, unique_name())
    movers = MoverThread(place.settings)
    try:
        with monkeypatch.context() as soon:
            soon.setattr(transactions, "INIT_TIMEOUT_S", 1.0)
            end = refuse_all(place, movers)
        killable_kafka.kill(1)
        killable_kafka.start(1)
        assert movers.caught_up(end, 2 * WAIT_S), movers.failure()
        assert movers.none_parked(WAIT_S), movers.failure()
        place.check("A", "B")
    finally:
        movers.stop()
        place.close()


def refuse_all(place: MoverPlace, movers: MoverThread) -> int:
    """Let a topic refuse everything for a while, and see that it is blamed; the ledger's end."""
    place.define("A", "B")
    place.append(place.unit(["A", "B"]))
    movers.start()
    copy(place, movers)
    limit(place, "A", "10")
    place.append(place.unit(["A", "B"]), place.unit(["B"]))
    end = place.flush()
    blames = f"end of a transaction: correct the settings of topic {place.topic('A')} ("
    until(lambda: blames in (said := movers.holding) and "MSG_SIZE_TOO_LARGE" in said)
    mend(place, "A")
    assert not movers.caught_up(end, 0.0), "Kafka has given up to end the transaction"
    return end


@pytest.mark.usefixtures("missing_topics_are_soon_made")
def test_what_is_parked_outlives_the_mover(
    place: MoverPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that dies between two slices of a queue that it catches up with."""
    monkeypatch.setattr(batch, "MESSAGES_MAX", 30)
    place.define("A", "B")
    parked = place.topic("A")
    place.topics.ensure([queue_spec(parked, 1)])  # another program's
    for _ in range(2):
        one = MoverThread(place.settings)
        for _ in range(4):
            place.append(place.unit(["A", "B"]), place.unit(["B", "A"]))
        one.start()
        copy(place, one)
        one.stop()
        assert figure(one, "parked_messages") == len(place.written["A", 0]) * LANES
    assert place.progress()[-1].parked[parked].messages == 160
    place.topics.delete([parked])
    commits = 0
    commit = AlternatingProducers.commit

    def doubt_some(turns: AlternatingProducers) -> None:
        nonlocal commits
        commit(turns)
        if turns._writer.name.startswith("the stream mover"):
            commits += 1
            if commits in (4, 5, 8):
                raise Doubtful("as the test wants it", late=True)

    monkeypatch.setattr(AlternatingProducers, "commit", doubt_some)
    again = MoverThread(place.settings)
    again.start()
    assert again.none_parked(WAIT_S)
    copy(place, again)
    again.stop()
    assert commits > 8
    place.check("A", "B")
    assert place.progress()[-1].parked == {}


def test_each_incarnation_is_parked_for_itself(place: MoverPlace) -> None:
    """A queue that is parked, deleted and defined again; the movers restart in between."""
    place.define("A")
    place.append(place.unit(["A"]))
    one = MoverThread(place.settings)
    one.start()
    copy(place, one)
    spoil(place, "A")
    place.append(place.unit(["A"]))
    copy(place, one)
    place.append(place.unit(["A"]), r.QueueDeleted("A"))
    copy(place, one)
    one.stop()
    old = {lane: list(place.written["A", lane]) for lane in range(LANES)}
    place.define("A", incarnation=1)
    place.append(place.unit(["A"]))
    two = MoverThread(place.settings)
    two.start()
    copy(place, two)
    new = {lane: place.written["A", lane][3:] for lane in range(LANES)}
    bodies = {lane: [one.body for one in got] for lane, got in place.copies("A", 1).items()}
    assert bodies == new, "the new incarnation's topic does not wait for the old one's"
    assert list(two.parked) == [place.topic("A")]
    mend(place, "A")
    assert two.none_parked(WAIT_S)
    two.stop()
    bodies = {lane: [one.body for one in got] for lane, got in place.copies("A").items()}
    assert bodies == old
    bodies = {lane: [one.body for one in got] for lane, got in place.copies("A", 1).items()}
    assert bodies == new


def test_the_process_tells_what_is_parked(place: MoverPlace) -> None:
    place.define("A")
    place.topics.ensure([queue_spec(place.topic("A"), 1)])
    place.append(place.unit(["A"]))
    process = MoverProcess(place.settings)
    process.start()
    try:
        assert process.caught_up(place.flush(), WAIT_S), process.failure()
        (held,) = process.parked.values()
        assert held.messages == LANES
        assert "has 1 partitions and needs 10" in held.why
    finally:
        process.stop()


def test_an_application_on_a_parked_queue(
    kafka: AnyKafka, place: MoverPlace, unique_name: Callable[..., str]
) -> None:
    """Puts are refused in time, gets and commits go on, operators are told, and it resumes."""
    name = unique_name()
    servers = kafka.bootstrap_servers
    place.settings = msgspec.structs.replace(place.settings, queue_manager=name)
    running = testing.queue_manager(name, bootstrap_servers=servers, parked_bytes=2000)
    with running as manager, manager.connect() as qm:
        qm.define_queue("Q")
        qm.put("Q", "first")
        all_copied(manager, place)
        spoil(place, "Q")
        bodies = [b"first"]
        with pytest.raises(QueueParked, match="MQRC_STORAGE_MEDIUM_FULL"):
            put_without_end(qm, bodies)
        bodies.pop()
        with qm.unit() as unit:
            assert body(qm.get("Q", unit=unit)) == b"first"
        qm.put("Q", "soft", persistent=False)
        mend(place, "Q")
        until_taken(lambda: qm.put("Q", "again"))
        all_copied(manager, place)
    found = [one.value() for one in place.read(place.topic("Q"))]
    assert found == [*bodies, b"again"]
    raised = [events.decode(one.value() or b"")[1] for one in read_events(place)]
    kinds = [one.kind for one in raised if one.name == "Q"]
    assert kinds == ["queue_parked", "queue_resumed"]


def test_a_restart_reads_a_snapshot_though_a_topic_is_parked(
    kafka: AnyKafka, place: MoverPlace, unique_name: Callable[..., str]
) -> None:
    """What is on no topic is in the snapshot; the ledger is kept until it has been copied."""
    name = unique_name()
    place.settings = msgspec.structs.replace(place.settings, queue_manager=name)
    running = testing.queue_manager(
        name, bootstrap_servers=kafka.bootstrap_servers, snapshot_entries=20, window_messages=10
    )
    bodies = [b"%0200d" % number for number in range(90)]
    with running as manager:
        with manager.connect() as qm:
            for queue in ("Q", "R"):
                qm.define_queue(queue)
            qm.put("Q", bodies[0])
            all_copied(manager, place)
            spoil(place, "Q")
            for one in bodies[1:60]:
                qm.put("Q", one)
                qm.put("R", one)
            until(lambda: manager.statistics()["snapshots"] > 0)
        manager.crash()
        manager.start()
        with manager.connect() as qm:
            for one in bodies[60:]:
                qm.put("Q", one)
            assert [body(qm.get("Q")) for _ in range(70)] == bodies[:70]
            assert [body(qm.get("R")) for _ in range(59)] == bodies[1:60]
            until(lambda: manager.statistics()["snapshots"] > 0)
            assert first_of(place.settings.ledger) == 0
            mend(place, "Q")
            all_copied(manager, place)
            until(lambda: first_of(place.settings.ledger) > 0)
        manager.restart()
        with manager.connect() as qm:
            assert [body(qm.get("Q")) for _ in range(20)] == bodies[70:]
    assert [one.value() for one in place.read(place.topic("Q"))] == bodies


@pytest.mark.usefixtures("missing_topics_are_soon_made")
def test_finding_users_6_a_deleted_topic_of_a_deleted_queue_is_parked_no_more(
    place: MoverPlace, movers: MoverThread
) -> None:
    """It cannot be written, as another program made it: `mqk queue topics --orphaned --delete`."""
    spec = msgspec.structs.replace(queue_spec(place.topic("A"), LANES), partitions=1)
    place.topics.ensure([spec])
    place.define("A", "B")
    place.append(place.unit(["A", "B"]))
    movers.start()
    copy(place, movers)
    until(lambda: place.topic("A") in movers.parked)
    place.append(r.QueueDeleted("A"))
    copy(place, movers)
    place.topics.delete([place.topic("A")])
    assert movers.none_parked(WAIT_S)
    place.append(place.unit(["B"]))
    copy(place, movers)
    place.check("B")
    assert movers.failure() is None


def test_a_queue_deleted_and_defined_again(
    kafka: AnyKafka, place: MoverPlace, unique_name: Callable[..., str]
) -> None:
    """Each incarnation's messages are on a topic of its own; the movers restart in between."""
    name = unique_name()
    place.settings = msgspec.structs.replace(place.settings, queue_manager=name)
    with testing.queue_manager(name, bootstrap_servers=kafka.bootstrap_servers) as manager:
        for incarnation in range(3):
            with manager.connect() as qm:
                qm.define_queue("Q")
                qm.put("Q", f"{incarnation} before")
            manager.restart()
            with manager.connect() as qm:
                qm.put("Q", f"{incarnation} after")
                assert body(qm.get("Q")) == b"%d before" % incarnation
                qm.delete_queue("Q", purge=True)
            if incarnation == 1:
                manager.restart()
        all_copied(manager, place)
    for incarnation in range(3):
        found = [one.value() for one in place.read(place.topic("Q", incarnation))]
        assert found == [b"%d before" % incarnation, b"%d after" % incarnation]


def put_without_end(qm: adapter.Connection, bodies: list[bytes]) -> None:
    for number in range(100_000):
        bodies.append(b"%100d" % number)
        qm.put("Q", bodies[-1])


def body(message: adapter.Message | None) -> bytes:
    assert message is not None
    return message.body


def all_copied(manager: testing.TestQueueManager, place: MoverPlace) -> None:
    movers = manager._movers
    assert isinstance(movers, MoverThread)
    assert movers.none_parked(WAIT_S)
    assert movers.caught_up(place.end(place.settings.ledger.topic) - 1, WAIT_S)


def until_taken(put: Callable[[], object]) -> None:
    """Put again until the owner knows that the topic is well."""
    deadline_s = time.monotonic() + WAIT_S
    while True:
        try:
            put()
            return
        except QueueParked:
            assert time.monotonic() < deadline_s


def first_of(ledger: LedgerSettings) -> int:
    with LedgerSource(ledger) as source:
        return source.bounds()[0]


def read_events(place: MoverPlace) -> list[Message]:
    return place.read(names.events_topic(place.settings.queue_manager))
