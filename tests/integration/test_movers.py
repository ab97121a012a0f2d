"""Movers on a real Kafka: what is in the ledger is on the topics, once, whatever happens."""

import itertools
import os
import subprocess
import time
from pathlib import Path

import pytest

import adapter.kafka
from adapter.core.contract import records as r
from adapter.host import launch
from adapter.storage.format import events, names
from adapter.storage.movers import mover
from adapter.storage.movers.batch import PARTITIONS_MAX
from adapter.storage.movers.errors import Doubtful
from adapter.storage.movers.process import MoverProcess
from adapter.storage.movers.thread import MoverThread
from adapter.storage.movers.transactions import AlternatingProducers
from tests.support.mover_place import LANES, PUT_TIME_MS, WAIT_S, MoverPlace
from tests.support.shared_kafka import AnyKafka


def copy_all(place: MoverPlace, movers: MoverThread) -> None:
    """Start the movers, let them copy the whole ledger, and stop them."""
    movers.start()
    assert movers.caught_up(place.flush(), WAIT_S), movers.failure()
    movers.stop()
    assert movers.failure() is None


def test_a_copy_is_what_was_put(place: MoverPlace, movers: MoverThread) -> None:
    place.define("Q/1")
    unit = place.unit(["Q/1"], lanes=[0, 9])
    place.append(unit)
    copy_all(place, movers)
    copies = place.copies("Q/1")
    assert [len(copies[lane]) for lane in range(LANES)] == [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    for put in unit.puts:
        (copied,) = copies[put.lane]
        assert copied.message == put.message
        assert copied.timestamp == put.message.put_time_ms
        position = copied.position
        assert (position.seq, position.unit, position.unit_size) == (0, unit.unit, 2)
        assert (position.unit_index, position.queue_unit_index) == (put.index, put.queue_index)


def test_a_plain_kafka_user_reads_the_messages(place: MoverPlace, movers: MoverThread) -> None:
    place.define("ORDERS")
    unit = place.unit(["ORDERS"], lanes=[4])
    place.append(unit)
    copy_all(place, movers)
    topic = adapter.kafka.topic_name(place.settings.queue_manager, "ORDERS")
    place.await_settled(topic, LANES)
    (message,) = [adapter.kafka.decode(record) for record in place.read(topic)]
    assert (message.body, message.place) == (unit.puts[0].message.body, (4, 0, 0))
    assert (message.unit_id, message.first_in_unit, message.last_in_unit) == (unit.unit, True, True)


def test_every_unit_once_in_order(place: MoverPlace, movers: MoverThread) -> None:
    place.define("A", "B")
    for number in range(300):
        place.append(*(place.unit([("A", "B")[number % 2], "A"]) for _ in range(3)))
    copy_all(place, movers)
    place.check("A", "B")
    assert movers.statistics()["stream"]["lag_records"] == 0
    assert movers.statistics()["stream"]["copied"] == 300 * 3 * 20


def test_events_are_copied_in_order(place: MoverPlace, movers: MoverThread) -> None:
    raised = [
        r.EventRaised("queue_full", f"Q{n}", PUT_TIME_MS + n, {"n": str(n)}) for n in range(9)
    ]
    place.define("Q")
    for event in raised:
        place.append(event, place.unit(["Q"]))
    copy_all(place, movers)
    topic = names.events_topic(place.settings.queue_manager)
    records = place.read(topic)
    manager = place.settings.queue_manager
    assert [events.decode(one.value() or b"") for one in records] == [(manager, e) for e in raised]
    place.check("Q")


def test_a_queue_defined_again_has_a_topic_of_its_own(place: MoverPlace) -> None:
    """Also when the movers start after the record that said so."""
    for step in range(2):
        place.define("Q", incarnation=step)
        copy_all(place, MoverThread(place.settings))
        place.append(place.unit(["Q"]))
        copy_all(place, MoverThread(place.settings))
        place.append(place.unit(["Q"]), r.QueueDeleted("Q"))
        copy_all(place, MoverThread(place.settings))
    for step in range(2):
        for lane, copied in place.copies("Q", step).items():
            assert [one.body for one in copied] == place.written["Q", lane][2 * step : 2 * step + 2]
    assert place.progress()[-1].incarnations == {}


def test_movers_go_on_from_where_they_were(place: MoverPlace) -> None:
    place.define("Q")
    for _ in range(3):
        place.append(*(place.unit(["Q"]) for _ in range(20)))
        place.take_over()  # leaves records in the ledger that are no entries
        copy_all(place, MoverThread(place.settings))
    place.check("Q")
    assert place.progress()[-1].copied == 3 * 20 * LANES


def test_progress_over_entries_without_messages_is_written_too(
    place: MoverPlace, movers: MoverThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a clean stop, and now and then: so that what lies before it may be trimmed."""
    place.define("Q")
    place.append(r.UnitCommitted(bytes(24), 0, [], [r.Taken("Q", 0, 0)], "get", None))
    copy_all(place, movers)
    assert place.progress()[-1].offset == place.flush()
    monkeypatch.setattr(mover, "IDLE_PROGRESS_S", 0.0)
    movers.start()
    for _ in range(3):
        place.append()
        end = place.flush()
        assert movers.caught_up(end, WAIT_S)
        assert place.progress()[-1].offset == end


def test_an_entry_of_many_queues_is_copied_in_parts(
    place: MoverPlace, movers: MoverThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its units, and a mover that is stopped in the middle goes on in the middle."""
    queues = [f"Q{number}" for number in range(8)]
    place.define(*queues)
    place.append(*(place.unit([queue]) for queue in queues), place.unit(queues))
    commit = AlternatingProducers.commit
    commits = itertools.count()

    def doubt_the_second(turns: AlternatingProducers) -> None:
        if turns._writer.name.startswith("the stream mover") and next(commits) == 1:
            raise Doubtful("as the test wants it")
        commit(turns)

    monkeypatch.setattr(AlternatingProducers, "commit", doubt_the_second)
    copy_all(place, movers)
    place.check(*queues)
    assert movers.statistics()["stream"]["failures"] >= 1
    written = [(one.records, one.copied) for one in place.progress()]
    assert PARTITIONS_MAX == 64
    assert written == [(6, 60), (8, 80), (0, 160)], "the last unit is too wide, and never split"


def test_a_lost_progress_is_not_taken_for_a_new_queue_manager(
    place: MoverPlace, movers: MoverThread
) -> None:
    place.define("A")
    place.append(place.unit(["A"]))
    copy_all(place, movers)
    place.topics.delete([place.settings.progress_topic])
    movers.start()
    assert movers.wait(WAIT_S)
    text = movers.failure() or ""
    assert f"finds no progress in {place.settings.progress_topic}[0]" in text
    assert place.topic("A") in text
    assert "Restore it from a copy; or delete" in text
    movers.stop()
    place.check("A")


def test_a_ledger_that_is_another_one_is_fatal(
    place: MoverPlace, movers: MoverThread, kafka: AnyKafka
) -> None:
    place.define("A")
    place.append(place.unit(["A"]))
    copy_all(place, movers)
    place.close()
    place.topics.delete([place.settings.ledger.topic])
    again = MoverPlace(kafka.bootstrap_servers, place.settings.queue_manager)
    again.define("A")
    again.append(again.unit(["A"]))
    again.flush()
    movers.start()
    assert movers.wait(WAIT_S)
    text = movers.failure() or ""
    assert f"cannot go on from its progress in {place.settings.progress_topic}[" in text
    assert "The topic was truncated or created again: restore it from a copy" in text
    again.close()


def test_an_idle_mover_copies_at_once_and_sleeps(place: MoverPlace) -> None:
    place.define("A")
    process = MoverProcess(place.settings)
    process.start()
    try:
        assert process.caught_up(place.flush(), WAIT_S), process.failure()
        for _ in range(3):
            place.append(place.unit(["A"], lanes=[0]))
            place.flush()
            before_s, began_s = cpu_s(process), time.monotonic()
            end = place.flush()
            assert process.caught_up(end, WAIT_S)
            assert not process.wait(1.0)
            busy = (cpu_s(process) - before_s) / (time.monotonic() - began_s)
            assert busy < 0.2, "an idle mover waits, it does not look again and again"
    finally:
        process.stop()
    place.check("A")


def cpu_s(process: MoverProcess) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_settings_that_are_none_are_refused() -> None:
    run = subprocess.run(
        launch.program("adapter.storage.movers.process"),
        input=b'{"queue_manager": 7}\n',
        capture_output=True,
        timeout=WAIT_S,
        check=False,
    )
    assert run.returncode == 1
    assert b"mqk: invalid settings of the movers: " in run.stderr
    assert b"Traceback" not in run.stderr
