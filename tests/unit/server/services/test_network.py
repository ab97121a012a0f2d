"""A queue manager's part in the network, in memory: what goes wrong, and goes on again."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

import adapter
from adapter.cli.qmgr import network_summary
from adapter.core.model.queue import LocalQueue
from adapter.msmq import Message, QueueAccessMode
from adapter.runtime.network import receiver
from adapter.runtime.network import sender as sending
from adapter.runtime.network.memory import MemoryFollower, MemoryNetwork, MemoryWriter
from adapter.runtime.network.port import NetworkError, ReceivedRecord, SentRecord, TopicLost
from adapter.runtime.own_clients import client as own_client
from adapter.runtime.owner import inbound
from adapter.storage.format import names, transfer
from adapter.testing import TestQueueManager
from tests.support.sending import define_transmission_queue, send

WITHIN_S = 20.0
Two = tuple[TestQueueManager, TestQueueManager]


@pytest.fixture
def two() -> Iterator[Two]:
    with adapter.testing.network("QMA", "QMB") as (a, b):
        define_transmission_queue(a, "QMB")
        with b.connect() as there:
            there.define_queue("ORDERS", msg_delivery_sequence="FIFO")
        yield a, b


def transport_of(manager: TestQueueManager) -> MemoryNetwork:
    link = manager._network
    assert link is not None
    assert isinstance(link.transport, MemoryNetwork)
    return link.transport


def sender(manager: TestQueueManager, queue: str = "QMB") -> dict[str, object]:
    found: dict[str, dict[str, object]] = manager.statistics()["network"]["senders"]
    return found.get(queue, {"state": "", "error": ""})


def await_that(what: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WITHIN_S
    while not what():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def bodies(manager: TestQueueManager, count: int, queue: str = "ORDERS") -> list[bytes]:
    with manager.connect() as qm:
        found = [qm.get(queue, timeout=WITHIN_S) for _ in range(count)]
        assert qm.get(queue) is None
    return [one.body for one in found if one is not None]


class Appends:
    """Counts what is appended to topics in memory."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._counts: dict[str, list[int]] = {}
        append = MemoryWriter.append

        def count(writer: MemoryWriter, topic: str, records: Sequence[SentRecord]) -> None:
            append(writer, topic, records)
            self._counts.setdefault(topic, []).append(len(records))

        monkeypatch.setattr(MemoryWriter, "append", count)

    def of(self, topic: str) -> list[int]:
        """How many records each append to a topic had."""
        return self._counts.get(topic, [])


def test_the_next_term_knows_where_messages_can_be_sent_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else what clients send right behind an append that was in doubt would be refused."""
    monkeypatch.setattr(inbound, "LOOK_S", 3600.0)  # nobody tells it again
    with adapter.testing.network("QMA", "QMB") as (a, _):
        a._running().owner._parts.ledger.on_doubt("Kafka did not answer")
        await_that(lambda: bool(a.statistics().get("terms") == 2))
        with a.connect() as here:
            here.put("ORDERS", b"", queue_manager="QMB")


def test_a_client_that_comes_right_behind_a_restart_can_send_to_all_queue_managers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It connects again by itself, and would be refused while the directory is not read."""
    read = MemoryFollower.read

    def read_late(follower: MemoryFollower, timeout_s: float) -> list[ReceivedRecord | TopicLost]:
        time.sleep(0.3)
        return read(follower, timeout_s)

    with adapter.testing.network("QMA", "QMB") as (a, _):
        a.stop()
        monkeypatch.setattr(MemoryFollower, "read", read_late)
        a.start()
        with a.connect() as here:
            here.put("ORDERS", b"", queue_manager="QMB")


def test_nothing_is_lost_while_the_network_is_away(two: Two) -> None:
    a, b = two
    network = transport_of(a)
    with a.connect() as here:
        send(here, "QMB", "ORDERS", [b"1"])
        assert bodies(b, 1) == [b"1"]
        network.is_away = True
        send(here, "QMB", "ORDERS", [b"2", b"3"])
        await_that(lambda: "away" in str(sender(a)["error"]))
        assert sender(a)["state"] == "retrying"
        await_that(lambda: "away" in b.statistics()["network"]["receiver"]["trouble"])
        network.is_away = False
        assert bodies(b, 2) == [b"2", b"3"]
        await_that(lambda: sender(a)["error"] == "")


def test_a_unit_of_persistent_and_other_messages_arrives_whole(two: Two) -> None:
    """A batch of the sender ends where the last persistent message does."""
    a, b = two
    persistence = [0] * 250 + [1] * 250 + [0] * 700
    wanted = [b"%d" % n for n in range(1200)]
    with a.connect() as here, b.connect() as there:
        for _ in range(2):
            send(here, "QMB", "ORDERS", wanted, persistence=persistence)
        found = [there.get("ORDERS", timeout=WITHIN_S) for _ in range(2400)]
        whole = [one for one in found if one is not None]
    assert [one.body for one in whole] == wanted * 2
    assert [bool(one.persistent) for one in whole] == [bool(one) for one in persistence * 2]
    assert {(one.persistent, one.unit_size) for one in whole} == {(False, 950), (True, 250)}
    assert sender(a)["units"] == 2


def test_units_that_wait_are_sent_together(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    """Units of one message each: an append for each would wait for Kafka as often."""
    a, b = two
    network = transport_of(a)
    with a.connect() as here:
        send(here, "QMB", "ORDERS", [b"0"])
        assert bodies(b, 1) == [b"0"]
        network.is_away = True
        await_that(lambda: "away" in b.statistics()["network"]["receiver"]["trouble"])
        for n in range(100):
            send(here, "QMB", "ORDERS", [b"%d" % n])
        appends = Appends(monkeypatch)
        network.is_away = False
        assert bodies(b, 100) == [b"%d" % n for n in range(100)]
    await_that(lambda: sender(a)["messages"] == 101)
    assert sender(a)["units"] == 101
    assert sum(appends.of("mq.QMB.in.QMA")) == 100
    assert len(appends.of("mq.QMB.in.QMA")) < 10


def test_units_before_one_without_destination_are_sent_and_leave_the_queue(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A destination that is not there yet: what was put before neither waits for it nor is sent
    again by each attempt.
    """
    a, b = two
    network = transport_of(a)
    define_transmission_queue(a, "X")
    with a.connect() as here:
        send(here, "QMB", "ORDERS", [b"first"])
        assert bodies(b, 1) == [b"first"]
        network.is_away = True
        await_that(lambda: "away" in b.statistics()["network"]["receiver"]["trouble"])
        for n in range(50):
            send(here, "QMB", "ORDERS", [b"%d" % n], transmission_queue="X")
        send(here, "NOBODY", "ORDERS", [b"2"], transmission_queue="X")
        appends = Appends(monkeypatch)
        network.is_away = False
        await_that(lambda: here.queue("X").depth() == 1)
        assert bodies(b, 50) == [b"%d" % n for n in range(50)]
        await_that(lambda: "NOBODY" in str(sender(a, "X")["error"]))
        sent, failures = appends.of("mq.QMB.in.QMA"), sender(a, "X")["failures"]
        assert sum(sent) < 150
        await_that(lambda: sender(a, "X")["failures"] != failures)
        assert appends.of("mq.QMB.in.QMA") == sent


def test_a_unit_with_a_dead_letter_in_its_midst_arrives_whole(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever a get of the sender ends."""
    monkeypatch.setattr(sending, "GET_MESSAGES", 2)
    a, b = two
    with a.connect() as here:
        here.define_queue("DEAD")
        a.mqsc("ALTER QMGR DEADQ(DEAD)\nDEFINE QREMOTE(R) RNAME(ORDERS) RQMNAME(QMB) XMITQ(QMB)")
        appends = Appends(monkeypatch)
        with here.unit():
            here.put("R", b"debit")
            here.put("QMB", b"not behind a header")
            here.put("R", b"credit")
        assert bodies(b, 2) == [b"debit", b"credit"]
        assert appends.of("mq.QMB.in.QMA") == [2]
        assert here.queue("DEAD").depth() == 1


def test_a_destination_that_is_not_there_is_named(two: Two) -> None:
    a, b = two
    b.stop()
    transport_of(a).topics.pop("mq.QMB.in.QMA", None)
    with a.connect() as here:
        send(here, "QMB", "ORDERS", [b"1"])
    await_that(lambda: sender(a)["state"] == "waiting for the destination")
    assert "queue manager QMB has not made the topic" in str(sender(a)["error"])
    b.start()
    assert bodies(b, 1) == [b"1"]


@pytest.mark.parametrize("hardened", ["HARDENBO", "NOHARDENBO"])
def test_finding_mq_1_waiting_for_a_destination_is_no_backout(two: Two, hardened: str) -> None:
    a, b = two
    b.stop()
    transport_of(a).topics.pop("mq.QMB.in.QMA", None)
    assert "No command failed" in a.mqsc(f"ALTER QLOCAL(QMB) {hardened}")
    with a.connect() as here:
        send(here, "QMB", "ORDERS", [b"1", b"2"])
        await_that(lambda: int(str(sender(a).get("failures", 0))) > 3)
        waiting = here.queue("QMB")
        await_that(lambda: [one.backout_count for one in waiting.browse()] == [0, 0])
    b.start()
    with b.connect() as there:
        found = [there.get("ORDERS", timeout=WITHIN_S) for _ in range(2)]
    assert [one.backout_count for one in found if one is not None] == [0, 0]


def test_finding_msmq_d6_a_destination_that_nobody_knows_is_asked_for_seldom() -> None:
    pauses, waited_s = own_client.Pauses(), 0.0
    attempts = 0
    while waited_s < 3600:
        waited_s += pauses.next_s(sending.UNKNOWN_S_MAX)
        attempts += 1
    assert attempts < 150
    pauses.begin_again()
    assert pauses.next_s(sending.UNKNOWN_S_MAX) == own_client.PAUSE_S


def unknown(manager: TestQueueManager) -> list[str]:
    """Return what senders say of computers that no queue manager has."""
    senders = manager.statistics()["network"]["senders"].values()
    return [one["error"] for one in senders if "has the computer" in one["error"]]


def test_finding_msmq_d6_the_directory_ends_the_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_client, "PAUSE_S", 600.0)
    monkeypatch.setattr(sending, "UNKNOWN_S_MAX", 600.0)
    with adapter.testing.network("QMA", "QMB") as (a, b), b.connect_msmq() as there:
        queue = there.create(r".\private$\orders")
        with a.connect_msmq() as here:
            here.open(r"LATER\private$\orders", access=QueueAccessMode.SEND).send("x")
            await_that(lambda: unknown(a) != [])
            b.mqsc("ALTER QMGR MSMQCOMP(LATER)")
            await_that(lambda: a.statistics()["network"]["queue_managers"] == 2 and not unknown(a))
        assert queue.receive(WITHIN_S).body == "x"


def test_finding_msmq_d6_a_name_without_messages_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "UNKNOWN_S_MAX", 0.05)
    with adapter.testing.network("QMA", "QMB") as (a, _), a.connect_msmq() as here:
        queue = here.open(r"NOWHERE\private$\orders", access=QueueAccessMode.SEND)
        queue.send(Message("x", time_to_reach_queue=1))
        await_that(lambda: unknown(a) != [])
        await_that(lambda: a.statistics()["network"]["senders"] == {})
        queue.send(Message("y"))
        await_that(lambda: unknown(a) != [])


def test_an_arrival_without_room_waits_and_other_sources_go_on(two: Two) -> None:
    a, b = two
    b.mqsc("DEFINE QLOCAL(SMALL) MAXDEPTH(1)")
    with a.connect() as here:
        send(here, "QMB", "SMALL", [b"1"])
        send(here, "QMB", "SMALL", [b"2"])
        send(here, "QMB", "ORDERS", [b"3"])
    topic = names.inbound_topic("QMB", "QMA")
    await_that(lambda: b.statistics()["network"]["receiver"]["blocked"] == {topic: "SMALL"})
    writer = transport_of(b).writer()
    record = adapter.kafka.inbound_record("ORDERS", "beside it", queue_manager="QMB")
    writer.append(record[0], [SentRecord(record[2], record[3])])
    with b.connect() as there:
        beside = there.get("ORDERS", timeout=WITHIN_S)
        assert beside is not None
        assert beside.text == "beside it"
        for body in (b"1", b"2"):
            message = there.get("SMALL", timeout=WITHIN_S)
            assert message is not None
            assert message.body == body
    assert bodies(b, 1) == [b"3"]


def test_what_no_queue_takes_is_a_dead_letter(two: Two) -> None:
    a, b = two
    b.mqsc("DEFINE QLOCAL(DEAD)\nALTER QMGR DEADQ(DEAD)")
    with a.connect() as here, b.connect() as there:
        send(here, "QMB", "NOWHERE", [b"1"])
        letter = there.get("DEAD", timeout=WITHIN_S)
    assert letter is not None
    assert letter.dead_letter is not None
    assert letter.dead_letter.reason == 2085
    assert letter.dead_letter.destination == "NOWHERE"


def test_what_a_program_put_without_a_header_is_a_dead_letter(two: Two) -> None:
    a, b = two
    a.mqsc("DEFINE QLOCAL(DEAD)\nALTER QMGR DEADQ(DEAD)\nDEFINE QLOCAL(REPLIES)")
    with a.connect() as here:
        send(here, "QMB", "ORDERS", [b"1"])
        here.put("QMB", b"raw", reply_to="REPLIES", report=0x3F00, expiry_s=60)
        send(here, "QMB", "ORDERS", [b"2"])
        letter = here.get("DEAD", timeout=WITHIN_S)
        assert bodies(b, 2) == [b"1", b"2"]
    assert letter is not None
    assert letter.body == b"raw"
    assert letter.dead_letter is not None
    assert letter.dead_letter.reason == 271
    assert letter.dead_letter.destination == "QMB"
    assert letter.dead_letter.destination_queue_manager == "QMA"
    assert letter.expiry_s is not None
    assert 0 < letter.expiry_s <= 60
    assert letter.report == 0
    await_that(lambda: a.statistics()["network"]["senders"]["QMB"]["dead_letters"] == 1)
    assert a.statistics()["network"]["senders"]["QMB"]["messages"] == 2


def test_without_a_dead_letter_queue_with_room_a_sender_waits(two: Two) -> None:
    a, b = two
    a.mqsc("ALTER QMGR DEADQ(' ')")
    with a.connect() as here:
        send(here, "QMB", "ORDERS", [b"1"])
        here.put("QMB", b"raw")
        send(here, "QMB", "ORDERS", [b"2"])
        assert bodies(b, 1) == [b"1"]
        await_that(lambda: "no dead-letter queue" in str(sender(a)["error"]))
        assert "has no valid MQXQH" in str(sender(a)["error"])
        await_that(lambda: here.queue("QMB").depth() == 2)
        a.mqsc("DEFINE QLOCAL(DEAD) PUT(DISABLED)\nALTER QMGR DEADQ(DEAD)")
        await_that(lambda: "does not take it" in str(sender(a)["error"]))
        a.mqsc("ALTER QLOCAL(DEAD) PUT(ENABLED)")
        assert bodies(b, 1) == [b"2"]
        letter = here.get("DEAD", timeout=WITHIN_S)
        assert letter is not None
        assert letter.body == b"raw"


def test_a_sender_that_ends_unexpectedly_is_started_again(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = two
    failures = [RuntimeError("unexpected")] * 2
    encode = transfer.encode

    def fail(*arguments: object) -> object:
        if failures:
            raise failures.pop()
        return encode(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(transfer, "encode", fail)
    with a.connect() as here:
        send(here, "QMB", "ORDERS", [b"1", b"2"])
    assert bodies(b, 2) == [b"1", b"2"]
    assert not failures
    assert a.is_running


def test_finding_mq_4_the_backlog_of_a_destination_that_is_away_is_seen(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka has the messages, and nobody receives them: senders, status and MQSC say so."""
    monkeypatch.setattr(inbound, "TRIM_LOOKS", 1)
    monkeypatch.setattr(sending, "AWAY_S", 0.0)
    a, b = two
    with a.connect() as here:
        send(here, "QMB", "ORDERS", [b"0"])
        assert bodies(b, 1) == [b"0"]
        topic = transport_of(a).topics["mq.QMB.in.QMA"]
        await_that(lambda: topic.first == topic.end)  # what was received has been deleted
        b.stop()
        send(here, "QMB", "ORDERS", [b"1", b"2"])
        await_that(lambda: sender(a)["not_received"] == 2)
        await_that(lambda: sender(a)["state"] == "waiting for the destination")
        assert "QMB has received nothing" in str(sender(a)["error"])
        shown = a.mqsc("DISPLAY CHSTATUS(TO.QMB) STATUS XQMSGS")
        assert "STATUS(RETRYING)" in shown
        assert "XQMSGS(2)" in shown
        figures = a.statistics()["network"]
        ((_, said),) = network_summary(figures | {"receiver": {}})
        assert "3 messages sent, 2 records not yet received" in str(said)
        b.start()
        assert bodies(b, 2) == [b"1", b"2"]
        await_that(lambda: sender(a)["not_received"] == 0)
        await_that(lambda: (sender(a)["state"], sender(a)["error"]) == ("waiting", ""))


def test_received_records_are_deleted(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = two
    monkeypatch.setattr(inbound, "TRIM_LOOKS", 1)
    with a.connect() as here:
        send(here, "QMB", "ORDERS", [b"%d" % n for n in range(10)])
    assert len(bodies(b, 10)) == 10
    topic = transport_of(b).topics["mq.QMB.in.QMA"]
    await_that(lambda: topic.first == 10 and not topic.records)
    b.crash()
    b.start()
    with a.connect() as here:
        send(here, "QMB", "ORDERS", [b"last"])
    assert bodies(b, 1) == [b"last"]


def test_an_inbound_topic_that_is_deleted_is_made_again(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = two
    with a.connect() as here:
        send(here, "QMB", "ORDERS", [b"1"])
        assert bodies(b, 1) == [b"1"]
        transport_of(a).delete("mq.QMB.in.QMA")
        send(here, "QMB", "ORDERS", [b"2"])
        assert bodies(b, 1) == [b"2"]


def test_a_topic_that_cannot_be_opened_keeps_no_other_from_being_read(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = two
    network, topic = transport_of(b), names.inbound_topic("QMB", "QMA")
    usual, wrong = network.open, [True]

    def refuse(name: str) -> str:
        if name == topic and wrong:
            raise NetworkError(f"{name} has wrong settings")
        return usual(name)

    monkeypatch.setattr(network, "open", refuse)
    monkeypatch.setattr(receiver, "SWEEP_S", 0.1)
    b.restart()
    with a.connect() as here:
        send(here, "QMB", "ORDERS", [b"1"])
    await_that(lambda: "wrong settings" in b.statistics()["network"]["receiver"]["trouble"])
    record = adapter.kafka.inbound_record("ORDERS", "beside it", queue_manager="QMB")
    network.writer().append(record[0], [SentRecord(record[2], record[3])])
    assert bodies(b, 1) == [b"beside it"]
    wrong.clear()
    assert bodies(b, 1) == [b"1"]
    await_that(lambda: b.statistics()["network"]["receiver"]["trouble"] == "")


def test_a_topic_that_lost_records_is_named(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = two
    monkeypatch.setattr(receiver, "SWEEP_S", 0.1)
    with a.connect() as here:
        send(here, "QMB", "ORDERS", [b"1", b"2"])
        assert bodies(b, 2) == [b"1", b"2"]
        b.stop()
        transport_of(b).topics["mq.QMB.in.QMA"].records.pop()
        b.start()
        await_that(lambda: "lost records" in b.statistics()["network"]["receiver"]["trouble"])
        transport_of(b).delete("mq.QMB.in.QMA")
        send(here, "QMB", "ORDERS", [b"3"])
    assert bodies(b, 1) == [b"3"]


def test_messages_that_are_not_persistent_travel_too(two: Two) -> None:
    a, b = two
    with a.connect() as here:
        send(here, "QMB", "ORDERS", [b"1", b"2"], persistence=0)
        send(here, "QMB", "ORDERS", [b"3"])
    with b.connect() as there:
        found = [there.get("ORDERS", timeout=WITHIN_S) for _ in range(3)]
    assert [(one.body, one.persistent) for one in found if one] == [
        (b"1", False),
        (b"2", False),
        (b"3", True),
    ]


def test_a_transmission_queue_that_a_program_has_open_is_named(two: Two) -> None:
    a, b = two
    with a.connect() as here:
        mine = here.queue("QMB", open_for="input")
        send(here, "QMB", "ORDERS", [b"1"])
        await_that(lambda: sender(a)["state"] == "retrying")
        assert "QMB" in str(sender(a)["error"])
        mine.close()
    assert bodies(b, 1) == [b"1"]


def test_the_computer_of_msmq_is_in_the_directory(two: Two) -> None:
    a, b = two
    server = a._server
    assert server is not None
    await_that(lambda: server.directory.of_computer("qmb") == "QMB")
    b.mqsc("ALTER QMGR MSMQCOMP(PC2)")
    await_that(lambda: server.directory.of_computer("pc2") == "QMB")


class CountedQueues(dict[str, LocalQueue]):
    """Counts how often somebody goes through all queues."""

    def __init__(self, queues: dict[str, LocalQueue]) -> None:
        super().__init__(queues)
        self.scans = 0

    def items(self) -> Any:
        self.scans += 1
        return super().items()

    def values(self) -> Any:
        self.scans += 1
        return super().values()

    def __iter__(self) -> Iterator[str]:
        self.scans += 1
        return super().__iter__()


def test_the_look_for_transmission_queues_goes_through_no_others(two: Two) -> None:
    a, b = two
    with a.connect() as here:
        send(here, "QMB", "ORDERS", [b"1"])
        assert bodies(b, 1) == [b"1"]
        network = a._running()._network
        assert network is not None
        term = network._term()
        assert term is not None

        async def look() -> int:
            counted = term.qm.queues = CountedQueues(term.qm.queues)
            assert network._timer is not None
            network._timer.cancel()
            network._look()
            return counted.scans

        assert a._run(look()) == 0
        a.mqsc("ALTER QLOCAL(QMB) USAGE(NORMAL)")
        await_that(lambda: sender(a)["state"] == "")
