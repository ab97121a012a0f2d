"""A ledger that has lost what was confirmed is never served, nor is one that cannot be written.

Whoever is told so learns which ledger, up to where it goes, what is known to have been there, and
what to do. Nothing is written to a ledger that is refused.
"""

import re
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from confluent_kafka.admin import AdminClient

import adapter
from adapter import testing
from adapter.cli.main import run
from adapter.errors import StartError
from adapter.localkafka import LocalKafka
from adapter.storage.format import names
from adapter.storage.ledger.kafka_reader import Whole, read_values
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.ledger.port import LedgerUnavailable
from adapter.storage.topics.admin import TopicAdmin
from adapter.storage.topics.specs import TopicSettings, ledger_spec
from tests.support.backlog import until
from tests.support.log_file import LENGTH_AT, MAGIC_AT, RECORDS_AT, LogFile
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka
from tests.support.topic_settings import configure

MESSAGES = 60
LOST = 20
END_S = 60.0


@pytest.fixture(scope="module")
def own_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalKafka]:
    """Of these tests alone: it is killed, stopped, and its files are damaged."""
    with LocalKafka(data_dir=tmp_path_factory.mktemp("kafka")) as kafka:
        yield kafka


def ledger_of(kafka: AnyKafka, name: str) -> LedgerSettings:
    return LedgerSettings(bootstrap_servers=kafka.bootstrap_servers, topic=names.ledger_topic(name))


def fill(address: str) -> None:
    """Put messages, each an entry of its own, and wait until they are copied."""
    with adapter.connect(address) as qm:
        qm.define_queue("Q")
        with qm.queue("Q") as queue:
            for number in range(MESSAGES):
                queue.put(b"%06d" % number)
        until(lambda: copied(qm) >= MESSAGES)


def copied(qm: adapter.Connection) -> int:
    figures = qm.figures()["movers"].get("stream", {})
    written = figures.get("written", -1) >= figures.get("position", 0)
    return int(figures.get("copied", 0)) if written else 0


def test_a_tail_that_is_cut_under_a_running_owner(
    own_kafka: LocalKafka,
    unique_name: Callable[..., str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As a power cut does: librdkafka's producer is of no more use, and the tail is gone."""
    name = unique_name()
    ledger = ledger_of(own_kafka, name)
    with ServerProcess(name, own_kafka.bootstrap_servers, tmp_path) as server:
        server.start()
        fill(server.address)
        own_kafka.kill(1)
        end = LogFile(own_kafka, ledger.topic).cut(LOST)
        own_kafka.start(1)
        assert server.await_end(END_S) == 1
        assert f"{ledger.topic} has lost entries that Kafka had confirmed" in server.sentence()
        whole = Whole(ledger)
        assert whole.end <= end + 2, "no more than owners wrote to it"
        server.launch()
        assert server.await_end(END_S) == 1
        assert f"ends at offset {whole.end}, and was copied up to offset" in server.sentence()
        assert "mqk ledger restore" in server.sentence()
        assert Whole(ledger).end == whole.end, "it was written to"
        kafka = ["--bootstrap-server", own_kafka.bootstrap_servers]
        assert run(["ledger", "verify", name, *kafka]) == 1
        assert f"ends at offset {whole.end}, and was copied up to" in capsys.readouterr().out
        go_on_with_what_is_left(name, kafka, tmp_path / "left", capsys)
        server.start()
        with adapter.connect(server.address) as qm:
            left = qm.queue("Q").depth()
            assert 0 < left < MESSAGES
            assert [qm.get("Q") for _ in range(left)][-1] is not None
            qm.put("Q", b"and on")
            until(lambda: copied(qm) >= 1)


def go_on_with_what_is_left(
    name: str, kafka: list[str], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the runbook says, where there is no backup."""
    assert run(["ledger", "backup", name, str(file), *kafka]) == 0
    assert "The backup holds what the ledger still says" in capsys.readouterr().err
    assert run(["ledger", "restore", name, str(file), "--delete-topics", *kafka]) == 0


# The broker takes a batch whose magic byte is damaged for one of an old format. The next byte then
# names its compression: there is a code for what the broker cannot unpack, and none for a
# compression that does not exist.
GZIP, UNKNOWN_COMPRESSION = 1, 7


@pytest.mark.parametrize(
    ("at", "new", "how_near"),
    [
        (RECORDS_AT, b"\xff", "at"),
        (MAGIC_AT, bytes([253, GZIP]), "near"),
        (MAGIC_AT, bytes([253, UNKNOWN_COMPRESSION]), "near"),
    ],
    ids=["record", "magic", "magic, no code"],
)
def test_a_batch_with_damaged_bytes_is_named(
    own_kafka: LocalKafka,
    unique_name: Callable[..., str],
    tmp_path: Path,
    at: int,
    new: bytes,
    how_near: str,
) -> None:
    name = unique_name()
    ledger = ledger_of(own_kafka, name)
    with ServerProcess(name, own_kafka.bootstrap_servers, tmp_path) as server:
        server.start()
        look_for_every_offset_from_the_first(own_kafka, ledger.topic)
        fill(server.address)
        server.kill()
        own_kafka.stop()
        offset = LogFile(own_kafka, ledger.topic).overwrite(LOST, at, new)
        own_kafka.start()
        server.launch()
        assert server.await_end(END_S) == 1
        found = re.search(rf"{ledger.topic} is damaged (at|near) offset (\d+)", server.sentence())
        assert found, server.sentence()
        assert found[1] == how_near
        assert int(found[2]) >= offset if how_near == "near" else int(found[2]) == offset
        assert "mqk ledger restore" in server.sentence()


def look_for_every_offset_from_the_first(kafka: AnyKafka, topic: str) -> None:
    """Have the broker meet what is damaged, whichever offset behind it is asked for."""
    configure(kafka.bootstrap_servers, topic, {"index.interval.bytes": str(2**31 - 1)})


def test_records_that_never_come_are_missed(
    own_kafka: LocalKafka, unique_name: Callable[..., str]
) -> None:
    """At a batch with a damaged length a broker answers as at the end of the log, for ever."""
    name = unique_name()
    ledger = msgspec.structs.replace(ledger_of(own_kafka, name), read_timeout_s=2.0)
    with testing.queue_manager(name, bootstrap_servers=own_kafka.bootstrap_servers) as one:
        fill(one.address)
        one.crash()
    end = Whole(ledger).end
    own_kafka.stop()
    offset = LogFile(own_kafka, ledger.topic).overwrite(LOST, LENGTH_AT, struct.pack(">i", 2**20))
    own_kafka.start()
    nothing = (
        rf"nothing came from offset {offset} on within 2 s, and the topic ends at offset {end}"
    )

    def is_missed() -> bool:  # a broker that has just started may answer nothing at all by then
        with pytest.raises(LedgerUnavailable) as caught:
            read_values(ledger, range(offset, end))
        return re.search(nothing, str(caught.value)) is not None

    until(is_missed)


@pytest.mark.parametrize("is_empty", [False, True], ids=["gone", "made again"])
def test_a_ledger_that_was_deleted_before_its_first_snapshot(
    kafka: AnyKafka, unique_name: Callable[..., str], is_empty: bool
) -> None:
    name = unique_name()
    ledger = ledger_of(kafka, name)
    topics = TopicAdmin(kafka.bootstrap_servers, TopicSettings.for_brokers(1))
    with testing.queue_manager(name, bootstrap_servers=kafka.bootstrap_servers) as one:
        fill(one.address)
        one.crash()
    topics.delete([ledger.topic])
    until(lambda: not topics.identities([ledger.topic]))  # Kafka answers before the broker knows
    if is_empty:
        topics.ensure([ledger_spec(ledger.topic)])
    with (
        pytest.raises(StartError, match=r"other topics of queue manager.*mqk ledger restore"),
        testing.queue_manager(name, bootstrap_servers=kafka.bootstrap_servers),
    ):
        pytest.fail("it began")
    assert run(["ledger", "verify", name, "--bootstrap-server", kafka.bootstrap_servers]) == 1
    if is_empty:
        assert Whole(ledger).end == 0
    else:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        assert ledger.topic not in admin.list_topics(timeout=END_S).topics


def test_what_kafka_refuses_ends_the_owner_and_is_done_when_that_is_put_right(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    """Taking over again would meet the same refusal, several times a second and for ever."""
    name = unique_name()
    ledger = ledger_of(kafka, name)
    with ServerProcess(name, kafka.bootstrap_servers, tmp_path) as server:
        server.start()
        with adapter.connect(server.address) as qm, ThreadPoolExecutor(1) as putting:
            qm.define_queue("Q")
            configure(kafka.bootstrap_servers, ledger.topic, {"max.message.bytes": "1000"})
            put = putting.submit(qm.put, "Q", bytes(5000))
            assert server.await_end(END_S) == 1
            assert f"set max.message.bytes of {ledger.topic} to 8388608" in server.sentence()
            assert server.said().count("ledger taken over") == 1
            server.launch()
            assert server.await_end(END_S) == 1
            assert "has max.message.bytes=1000 and needs 8388608" in server.sentence()
            configure(kafka.bootstrap_servers, ledger.topic, {"max.message.bytes": "8388608"})
            server.start()
            put.result(END_S)
            assert qm.queue("Q").depth() == 1


def test_movers_whose_progress_was_deleted_hold(
    kafka: AnyKafka, unique_name: Callable[..., str]
) -> None:
    name = unique_name()
    topics = TopicAdmin(kafka.bootstrap_servers, TopicSettings.for_brokers(1))
    with testing.queue_manager(name, bootstrap_servers=kafka.bootstrap_servers) as one:
        fill(one.address)
        one.crash()
        topics.delete([names.progress_topic(name)])
        one.start()
        until(lambda: "finds no progress" in str(one.statistics()["movers_hold"]))
        until(lambda: one.statistics()["movers"]["stream"]["holding"] == 1)
