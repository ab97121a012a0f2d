"""Tables on a real Kafka: what a topic has, and what a queue manager has committed before."""

import asyncio
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

import adapter
from adapter import errors as e
from adapter import testing
from adapter.aio.handles import TaskHandles
from adapter.connection.channel.requests import Handle
from adapter.core.contract import commands as c
from adapter.core.contract.message import Property
from adapter.kafka import Table
from tests.support.export_site import ExportedTopic
from tests.support.feed_site import WITHIN_S
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka

Named = Callable[..., str]
CLAIMS = "CLAIMS"


@pytest.fixture
def manager(kafka: AnyKafka, unique_name: Named) -> Iterator[testing.TestQueueManager]:
    servers = kafka.bootstrap_servers
    with testing.queue_manager(unique_name("QM"), bootstrap_servers=servers) as running:
        yield running


@pytest.fixture
def qm(manager: testing.TestQueueManager) -> Iterator[adapter.Connection]:
    with manager.connect() as connection:
        yield connection


@pytest.fixture
def topic(kafka: AnyKafka, unique_name: Named) -> ExportedTopic:
    """A compacted topic of three partitions."""
    made = ExportedTopic(kafka.bootstrap_servers, unique_name("balances"), 3)
    made.set(cleanup_policy="compact")
    return made


@pytest.fixture
def table_of(kafka: AnyKafka) -> Iterator[Callable[..., Table]]:
    """Makes tables that are closed behind the test."""
    made: list[Table] = []

    def make(topic: ExportedTopic | str, **options: Any) -> Table:
        name = topic if isinstance(topic, str) else topic.name
        made.append(Table(name, bootstrap_servers=kafka.bootstrap_servers, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


TableOf = Callable[..., Table]


# What a topic has.


def test_a_table_has_the_last_value_of_each_key(topic: ExportedTopic, table_of: TableOf) -> None:
    topic.set(cleanup_policy="delete")  # a compacted topic takes no record without a key
    assert dict(table_of(topic)) == {}
    topic.produce(b"1", b"2", key=b"a")
    topic.produce(b"", key=b"empty")
    topic.produce(b"3", key=b"")
    topic.produce(b"4", None, key=b"gone")
    topic.produce(b"no key")
    topic.produce("ż".encode(), key="ключ".encode(), partition=2)
    table = table_of(topic)
    assert dict(table) == {b"a": b"2", b"empty": b"", b"": b"3", "ключ".encode(): "ż".encode()}
    assert (table["a"], table[b"a"], table.get("gone"), table.get("no", b"-")) == (
        b"2",
        b"2",
        None,
        b"-",
    )
    assert "empty" in table
    assert "gone" not in table
    assert len(table) == len(list(table)) == len(table.values()) == 4
    with pytest.raises(KeyError):
        table["gone"]
    with pytest.raises(e.InvalidType, match="a key is bytes or text"):
        table[1]
    figures = table.statistics()
    assert (figures["records"], figures["tombstones"], figures["without_key"]) == (8, 1, 1)


def test_a_table_follows_its_topic(topic: ExportedTopic, table_of: TableOf) -> None:
    table = table_of(topic)
    topic.produce(b"1", key=b"a")
    wait_for(lambda: table.get("a") == b"1")
    topic.produce(None, key=b"a")
    wait_for(lambda: "a" not in table)


def test_serializers(topic: ExportedTopic, table_of: TableOf) -> None:
    topic.produce(b"12", key=b"0007")
    table = table_of(
        topic,
        key_serializer=lambda number: b"%04d" % number,
        key_deserializer=int,
        value_deserializer=int,
    )
    assert dict(table) == {7: 12}
    assert (table[7], table.get(8), 7 in table, 8 in table) == (12, None, True, False)


def test_only_what_was_committed_and_is_there_still(
    topic: ExportedTopic, table_of: TableOf
) -> None:
    topic.set(cleanup_policy="compact,delete")
    topic.produce(b"old", b"older", key=b"a")
    topic.trim(1)
    others = transactional(topic, "others")
    others.begin_transaction()
    others.produce(topic.name, b"aborted", b"a", 0)
    others.flush(WITHIN_S)
    others.abort_transaction(WITHIN_S)
    assert dict(table_of(topic)) == {b"a": b"older"}


def test_a_topic_that_does_not_exist(table_of: TableOf, unique_name: Named) -> None:
    with pytest.raises(e.TableError, match=r"does not exist on .*: create it first"):
        table_of(unique_name("nothing"))


def test_a_kafka_that_does_not_answer(table_of: TableOf) -> None:
    began_s = time.monotonic()
    with pytest.raises(e.TableBehind):
        Table("t", bootstrap_servers="127.0.0.1:1", timeout=0.1)
    assert time.monotonic() - began_s < 5
    with pytest.raises(e.TableError, match="are not accepted"):
        Table("t", bootstrap_servers="127.0.0.1:1", kafka_options={"no.such": "1"})


def test_a_topic_that_is_deleted_and_made_again(
    qm: adapter.Connection, topic: ExportedTopic, table_of: TableOf
) -> None:
    table = table_of(topic)
    topic.delete()
    topic.create(3)
    with pytest.raises(e.TableError, match=r"was deleted and made again|does not exist|reading"):
        table.sync(qm)


def test_a_table_that_is_closed(
    qm: adapter.Connection, topic: ExportedTopic, table_of: TableOf
) -> None:
    with table_of(topic) as table:
        assert len(table) == 0
    table.close()
    for use in (lambda: table["a"], lambda: dict(table), lambda: table.sync(qm)):
        with pytest.raises(e.TableError, match="is closed"):
            use()
    assert topic.name in repr(table)


def test_a_table_that_is_dropped(kafka: AnyKafka, topic: ExportedTopic) -> None:
    threads = threading.active_count()
    with pytest.warns(ResourceWarning, match="was dropped and not closed"):
        Table(topic.name, bootstrap_servers=kafka.bootstrap_servers)
    wait_for(lambda: threading.active_count() == threads)


def test_a_forked_child_makes_a_table_of_its_own(topic: ExportedTopic, table_of: TableOf) -> None:
    table = table_of(topic)
    child = os.fork()
    if not child:
        try:
            table.get("a")
        except e.TableError as error:
            os._exit(17 if "make it after the fork" in str(error) else 1)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17
    assert table.get("a") is None


# What a queue manager has committed.


def test_a_table_has_what_was_committed_before_sync(
    qm: adapter.Connection, topic: ExportedTopic, table_of: TableOf
) -> None:
    table = table_of(topic)
    table.sync(qm)  # there is no export yet
    for number in range(6):
        with qm.unit() as unit:
            unit.produce(table.topic, str(number), key="a")
            unit.produce(table.topic, None if number % 2 else b"1", key="b")
        table.sync(qm)
        assert (table["a"], "b" in table) == (b"%d" % number, number % 2 == 0)
        with table_of(topic) as another:  # as after a restart of the worker
            another.sync(qm)
            assert another["a"] == b"%d" % number


def test_sync_waits_for_what_is_not_copied_and_says_for_what(
    qm: adapter.Connection, topic: ExportedTopic, table_of: TableOf
) -> None:
    table = table_of(topic)
    qm.define_queue("Q")
    qm.define_object("export", "E", queue="Q", topic=topic.name, state="PAUSED")
    qm.put("Q", b"1", properties={"KafkaKey": "a"})
    with pytest.raises(e.TableBehind, match=r"export E .* it is paused, resume it"):
        table.sync(qm, timeout=0.3)
    assert "a" not in table
    resuming = threading.Timer(0.3, lambda: qm.alter_object("export", "E", state="RUNNING"))
    resuming.start()
    table.sync(qm)
    resuming.join()
    assert table["a"] == b"1"


def test_sync_does_not_wait_for_what_comes_later(
    manager: testing.TestQueueManager, topic: ExportedTopic, table_of: TableOf
) -> None:
    table, ended = table_of(topic), threading.Event()

    def produce_all_the_time() -> None:
        with manager.connect() as busy, busy.kafka_topic(topic.name) as target:
            while not ended.wait(0.002):  # the queue is hardly ever empty
                target.produce_many([adapter.KafkaRecord("1", "busy")] * 10)

    busy = threading.Thread(target=produce_all_the_time)
    busy.start()
    try:
        with manager.connect() as qm:
            for number in range(20):
                qm.produce(topic.name, str(number), "a")
                table.sync(qm)
                assert table["a"] == b"%d" % number
    finally:
        ended.set()
        busy.join()


def test_several_exports_write_one_topic(
    qm: adapter.Connection, topic: ExportedTopic, table_of: TableOf
) -> None:
    table = table_of(topic)
    for number in range(3):
        qm.define_queue(f"Q{number}")
        qm.define_object("export", f"E{number}", queue=f"Q{number}", topic=topic.name)
    for count in range(10):
        with qm.unit() as unit:
            for number in range(3):
                where: dict[str, Property] = {"KafkaKey": f"k{number}", "KafkaToPartition": number}
                qm.put(f"Q{number}", f"{count}", priority=count % 10, properties=where)
            unit.produce(topic.name, f"{count}", "produced")
        table.sync(qm)
        assert set(table.values()) == {b"%d" % count}
        assert len(table) == 4


def test_new_partitions_are_read(
    qm: adapter.Connection, topic: ExportedTopic, table_of: TableOf
) -> None:
    table = table_of(topic)
    topic.add_partitions(5)
    wait_for(lambda: topic.partitions() == 5)
    qm.produce(topic.name, b"1", "a", partition=4)
    table.sync(qm, timeout=60)
    assert table["a"] == b"1"


def test_a_transaction_of_others_that_hides_records(
    qm: adapter.Connection, topic: ExportedTopic, table_of: TableOf
) -> None:
    table, others = table_of(topic), transactional(topic, "others")
    qm.produce(topic.name, None, "a", partition=0)  # the export begins while nothing is open
    table.sync(qm)
    others.begin_transaction()
    others.produce(topic.name, b"open", b"b", 0)
    others.flush(WITHIN_S)
    qm.produce(topic.name, b"1", "a", partition=0)

    def is_hidden() -> bool:  # once the export has written it
        with pytest.raises(e.TableBehind) as behind:
            table.sync(qm, timeout=0.5)
        return "a transaction that is open hides" in str(behind.value)

    wait_for(is_hidden)
    assert "a" not in table
    others.commit_transaction(WITHIN_S)
    table.sync(qm)
    assert dict(table) == {b"a": b"1", b"b": b"open"}


def test_tasks_sync_too(
    manager: testing.TestQueueManager, topic: ExportedTopic, table_of: TableOf
) -> None:
    async def run() -> None:
        table = await asyncio.to_thread(table_of, topic, claims=CLAIMS)
        async with await manager.connect_aio() as qm:
            for number in range(10):
                async with qm.unit() as unit:
                    value = await table.async_claim(unit, "a")
                    assert int(value or 0) == number
                    await unit.produce(topic.name, str(number + 1), "a")
            await qm.produce(topic.name, b"x", "b")
            await table.async_sync(qm)
            assert dict(table) == {b"a": b"10", b"b": b"x"}
            await asyncio.gather(*(count(qm, table) for _ in range(5)))
            await table.async_sync(qm)
            assert table["c"] == b"25"

    async def count(qm: adapter.aio.Connection, table: Table) -> None:
        for _ in range(5):
            async with qm.unit() as unit:
                value = (await table.async_claim_all(unit, ["c", "d"]))["c"]
                await unit.produce(topic.name, str(int(value or 0) + 1), "c")

    asyncio.run(run())


# Claims.


def test_units_that_claim_a_key_come_one_after_the_other(
    manager: testing.TestQueueManager, topic: ExportedTopic, table_of: TableOf
) -> None:
    """Threads with tables of their own add to keys at random; some units are backed out."""

    def work(seed: int) -> dict[str, int]:
        chance, own = random.Random(seed), dict.fromkeys("abc", 0)
        with manager.connect() as qm, table_of(topic, claims=CLAIMS) as table:
            for _ in range(30):
                keys = chance.sample("abc", chance.randint(1, 2))
                unit = qm.unit()
                unit.begin()
                values = table.claim_all(unit, keys)
                for key in keys:
                    unit.produce(topic.name, str(int(values[key] or 0) + 1), key, wait=False)
                if chance.random() < 0.2:
                    unit.backout()
                    continue
                unit.commit()
                for key in keys:
                    own[key] += 1
        return own

    with ThreadPoolExecutor(3) as threads:
        added = list(threads.map(work, range(3), timeout=100))
    with manager.connect() as qm:
        table = table_of(topic)
        table.sync(qm)
        for key in "abc":
            assert table[key] == b"%d" % sum(own[key] for own in added)


def test_a_key_that_another_unit_has(
    manager: testing.TestQueueManager, topic: ExportedTopic, table_of: TableOf
) -> None:
    table = table_of(topic, claims=CLAIMS)
    with manager.connect() as qm, manager.connect() as other:
        with qm.unit() as unit:
            assert table.claim(unit, "a") is None
            assert table.claim(unit, "a") is None  # it has it
            late = other.unit()
            late.begin()
            began_s = time.monotonic()
            with pytest.raises(e.ClaimNotFree):
                table.claim(late, "a", timeout=0.3)
            # The queue manager counts whole milliseconds.
            assert time.monotonic() - began_s >= 0.3 - 0.001
            unit.produce(topic.name, b"1", "a")
        assert table.claim(late, "a") == b"1"
        late.backout()
    with pytest.raises(e.InvalidOption, match="no queue of claims"), table_of(topic) as without:
        without.claim(late, "a")


def test_a_claim_waits_for_a_program_that_looks_for_the_tokens(
    manager: testing.TestQueueManager, topic: ExportedTopic, table_of: TableOf
) -> None:
    """It has the queue open exclusively when the tokens are there already."""
    table = table_of(topic, claims=CLAIMS)
    with manager.connect() as first, first.unit() as unit:
        table.claim(unit, "a")  # puts the tokens
    with manager.connect() as qm, manager.connect() as other:
        looking = other.queue(CLAIMS, open_for="input_exclusive")
        assert looking.get(correlation_id=b"none") is None
        unit = qm.unit()
        unit.begin()
        with pytest.raises(e.ClaimNotFree, match="open in another program, and not for claims"):
            table.claim(unit, "a", timeout=0.1)
        timer = threading.Timer(0.2, looking.close)
        timer.start()
        assert table.claim(unit, "a") is None
        timer.join()
        unit.backout()


def test_a_claim_of_a_task_waits_for_a_program_that_looks_for_the_tokens(
    manager: testing.TestQueueManager, topic: ExportedTopic, table_of: TableOf
) -> None:
    async def run() -> None:
        table = await asyncio.to_thread(table_of, topic, claims=CLAIMS)
        async with await manager.connect_aio() as first, first.unit() as unit:
            await table.async_claim(unit, "a")  # puts the tokens
        async with await manager.connect_aio() as qm, await manager.connect_aio() as other:
            looking = other.queue(CLAIMS, open_for="input_exclusive")
            assert await looking.get(correlation_id=b"none") is None
            async with qm.unit() as unit:
                with pytest.raises(e.ClaimNotFree, match="and not for claims"):
                    await table.async_claim(unit, "a", timeout=0.1)
                closing = asyncio.create_task(close_later(looking))
                assert await table.async_claim(unit, "a") is None
                await closing

    async def close_later(looking: adapter.aio.Queue) -> None:
        await asyncio.sleep(0.2)
        await looking.close()

    asyncio.run(run())


def test_a_claim_that_is_cancelled_is_given_back(
    manager: testing.TestQueueManager,
    topic: ExportedTopic,
    table_of: TableOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its unit is committed all the same."""
    opened = TaskHandles.get

    async def cancelled(self: TaskHandles, name: str, modes: int) -> Handle:
        if modes == c.OUTPUT:
            raise asyncio.CancelledError
        return await opened(self, name, modes)

    async def run() -> None:
        table = await asyncio.to_thread(table_of, topic, claims=CLAIMS)
        async with await manager.connect_aio() as qm:
            with monkeypatch.context() as patch:
                patch.setattr(TaskHandles, "get", cancelled)
                async with qm.unit() as unit:
                    with pytest.raises(asyncio.CancelledError):
                        await table.async_claim(unit, "a")
            async with qm.unit() as unit:
                assert await table.async_claim(unit, "a", timeout=5) is None

    asyncio.run(run())


def test_sync_is_right_though_everything_is_killed(
    kafka: AnyKafka, unique_name: Named, topic: ExportedTopic, table_of: TableOf, tmp_path: Path
) -> None:
    """The queue manager is killed at random; each value that was committed is in the table."""
    chance, table = random.Random(3), table_of(topic, claims=CLAIMS)
    with ServerProcess(unique_name("QM"), kafka.bootstrap_servers, tmp_path) as server:
        server.start()
        with adapter.connect(server.address) as qm:
            number = 0
            for kill in range(3):
                timer = threading.Timer(0.1 + chance.random(), restart, args=(server,))
                timer.start()
                while timer.is_alive() or not number:
                    try:
                        with qm.unit() as unit:
                            assert int(table.claim(unit, "a", timeout=60) or 0) == number
                            unit.produce(topic.name, str(number + 1), "a")
                    except (e.BackedOut, e.ConnectionBroken):
                        continue
                    except e.InDoubt:
                        if qm.outcome(unit.id) != "committed":
                            continue
                    number += 1
                timer.join()
                with table_of(topic) as another:
                    another.sync(qm, timeout=60)
                    assert another.snapshot() == {b"a": b"%d" % number}, kill


def restart(server: ServerProcess) -> None:
    server.kill()
    server.start()


def transactional(topic: ExportedTopic, name: str) -> Producer:
    made = topic.producer(**{"transactional.id": f"{topic.name} {name}"})
    made.init_transactions(WITHIN_S)
    return made


def wait_for(wanted: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WITHIN_S
    while not wanted():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
