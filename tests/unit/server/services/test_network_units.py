"""Units that are sent to other queue managers: whole, in their order, and to one of them."""

import itertools
from collections.abc import Sequence

import pytest

import adapter
from adapter.runtime.network.memory import MemoryNetwork, MemoryWriter
from adapter.runtime.network.port import NetworkError, SentRecord
from adapter.storage.format import names
from adapter.testing import TestQueueManager
from tests.support.sending import define_transmission_queue, send
from tests.unit.server.services.test_network import WITHIN_S, Two, await_that, bodies, sender, two

__all__ = ["two"]


def test_units_as_large_as_a_unit_may_be_are_sent() -> None:
    with adapter.testing.network("QMA", "QMB", max_uncommitted_messages=300) as (a, b):
        define_transmission_queue(a, "QMB")
        with a.connect() as here, b.connect() as there:
            there.define_queue("ORDERS", msg_delivery_sequence="FIFO")
            for unit in range(4):
                send(here, "QMB", "ORDERS", [b"%d %d" % (unit, n) for n in range(299)])
            found = [there.get("ORDERS", timeout=WITHIN_S) for _ in range(4 * 299)]
    assert [one.body for one in found if one] == [
        b"%d %d" % (unit, n) for unit in range(4) for n in range(299)
    ]
    assert len({one.unit_id for one in found if one}) == 4


def units_of(manager: TestQueueManager, count: int) -> list[list[bytes]]:
    """Get messages; return their bodies, by the unit that they arrived in."""
    with manager.connect() as qm:
        found = [qm.get("ORDERS", timeout=WITHIN_S) for _ in range(count)]
    return [
        [one.body for one in unit]
        for _, unit in itertools.groupby(filter(None, found), lambda one: one.unit_id)
    ]


@pytest.mark.parametrize("invalid", [0, 4, 10])
def test_units_that_together_are_more_than_a_unit_may_be_arrive_whole(invalid: int) -> None:
    """Also before and behind units that are cut, as they are too large with their dead letters."""
    with adapter.testing.network("QMA", "QMB", max_uncommitted_messages=10) as (a, b):
        define_transmission_queue(a, "QMB")
        a.mqsc("DEFINE QLOCAL(DEAD)\nALTER QMGR DEADQ(DEAD)\nALTER QLOCAL(QMB) GET(DISABLED)")
        b.mqsc("DEFINE QLOCAL(ORDERS) MSGDLVSQ(FIFO)")
        units = [[b"%d %d" % (n, at) for at in range(1 + n % 9)] for n in range(40)]
        with a.connect() as here:
            for n, unit in enumerate(units):
                if n % 3 == 0:
                    with here.unit():
                        for number in range(invalid):
                            here.put("QMB", str(number))
                send(here, "QMB", "ORDERS", unit)
            a.mqsc("ALTER QLOCAL(QMB) GET(ENABLED)")
            assert units_of(b, sum(map(len, units))) == units
            assert here.queue("DEAD").depth() == 14 * invalid


def test_no_unit_overtakes_one_whose_records_were_refused(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka may take the later ones of what is appended at once."""
    a, b = two
    a.mqsc("ALTER QLOCAL(QMB) GET(DISABLED)")
    with a.connect() as here:
        for n in range(20):
            send(here, "QMB", "ORDERS", [b"%d" % n])
    append, refused = MemoryWriter.append, list[int]()

    def refuse_some(writer: MemoryWriter, topic: str, records: Sequence[SentRecord]) -> None:
        if topic == "mq.QMB.in.QMA" and len(records) > 3 and not refused:
            refused.append(3)
            append(writer, topic, records[3:])
            raise NetworkError("three records were refused")
        append(writer, topic, records)

    monkeypatch.setattr(MemoryWriter, "append", refuse_some)
    a.mqsc("ALTER QLOCAL(QMB) GET(ENABLED)")
    assert bodies(b, 20) == [b"%d" % n for n in range(20)]
    assert refused


def test_nothing_is_sent_before_the_directory_was_read(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says where the transmission queue leads."""
    a, b = two
    with a.connect() as here:
        send(here, "QMB", "ORDERS", [b"1"])
        assert bodies(b, 1) == [b"1"]
        a.mqsc("ALTER QLOCAL(QMB) GET(DISABLED)")
        send(here, "QMB", "ORDERS", [b"2"])
    a.crash()
    with monkeypatch.context() as patched:
        patched.setattr(MemoryNetwork, "open_directory", no_leader)
        a.start()
        a.mqsc("ALTER QLOCAL(QMB) GET(ENABLED)")
        await_that(lambda: "mq.directory has not been read" in str(sender(a)["error"]))
        assert sender(a)["state"] == "retrying"
        assert bodies(b, 0) == []
    assert bodies(b, 1) == [b"2"]


def no_leader(_: MemoryNetwork, topic: str) -> str:
    raise NetworkError(f"{topic} has no leader")


def test_what_may_have_been_sent_is_sent_again_where_it_was_sent_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each destination knows only what came to itself, whatever the directory says by now."""
    with adapter.testing.network("QMA", "HUB", "QMC") as (a, _, c):
        c.mqsc("DEFINE QLOCAL(ORDERS) MSGDLVSQ(FIFO)")
        define_transmission_queue(a, "HUB")
        a.mqsc("DEFINE QREMOTE(R) RNAME(ORDERS) RQMNAME(QMC) XMITQ(HUB) DEFPSIST(YES)")
        append, failures = MemoryWriter.append, list[str]()

        def lose_the_answer(writer: MemoryWriter, topic: str, sent: Sequence[SentRecord]) -> None:
            append(writer, topic, sent)
            if topic == "mq.HUB.in.QMA" and not failures:
                failures.append(topic)
                append(writer, names.DIRECTORY_TOPIC, [SentRecord(None, key=b"queue-manager HUB")])
                server = a._server
                assert server is not None
                await_that(lambda: server.directory.entry("HUB") is None)
                raise NetworkError("the answer was lost")

        with a.connect() as here:
            here.put("ORDERS", "0", queue_manager="QMC")
            assert bodies(c, 1) == [b"0"]
            monkeypatch.setattr(MemoryWriter, "append", lose_the_answer)
            here.put("R", "1")
            assert bodies(c, 1) == [b"1"]
            await_that(lambda: sender(a, "HUB").get("messages") == 1)
            here.put("R", "2")
        assert bodies(c, 1) == [b"2"]
        assert failures


def test_a_unit_of_dead_letters_as_large_as_a_unit_may_be() -> None:
    with adapter.testing.network("QMA", "QMB", max_uncommitted_messages=40) as (a, _):
        define_transmission_queue(a, "QMB")
        a.mqsc("DEFINE QLOCAL(DEAD)\nALTER QMGR DEADQ(DEAD)")
        with a.connect() as here:
            with here.unit():
                for n in range(40):
                    here.put("QMB", str(n))
            found = [here.get("DEAD", timeout=WITHIN_S) for _ in range(40)]
            assert here.queue("QMB").depth() == 0
    assert [one.text for one in found if one] == [str(n) for n in range(40)]


def test_a_unit_that_is_too_large_with_its_dead_letters_is_cut() -> None:
    """It would wait for ever; as many messages as a unit may have have been got by then."""
    with adapter.testing.network("QMA", "QMB", max_uncommitted_messages=40) as (a, b):
        define_transmission_queue(a, "QMB")
        a.mqsc("DEFINE QLOCAL(DEAD)\nALTER QMGR DEADQ(DEAD)")
        a.mqsc("DEFINE QREMOTE(R) RNAME(ORDERS) RQMNAME(QMB) XMITQ(QMB)")
        b.mqsc("DEFINE QLOCAL(ORDERS)")
        with a.connect() as here:
            with here.unit():
                here.put("R", b"debit")
                for n in range(38):
                    here.put("QMB", str(n))
                here.put("R", b"credit")
            assert bodies(b, 2) == [b"debit", b"credit"]
            assert here.queue("QMB").depth() == 0
            assert here.queue("DEAD").depth() == 38
