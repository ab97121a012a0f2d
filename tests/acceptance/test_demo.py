"""The demo as a user runs it: the whole story, its end by Ctrl-C, and the judge on real topics."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from adapter.storage.format.descriptor import VERSION
from adapter.storage.format.schemas import Codec
from adapter.storage.ledger.kafka_settings import BATCH_BY_BATCH
from adapter.storage.topics.admin import TopicAdmin as KafkaTopics
from adapter.storage.topics.specs import TopicSettings, queue_spec
from mqk_demo import checker
from mqk_demo.checker import FoundRecord
from tests.support.examples import chosen, few
from tests.support.shared_kafka import AnyKafka
from tests.unit.mqk_demo.flight_lines import Topics, make_archive, table

TIMEOUT_S = 100.0
FLIGHTS = 1500
LINES = table(730)
RIGHT = Topics(LINES).records


class Run:
    """One `mqk demo` process; its children and its files can be told from all others."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.mark = f"TEST_MARK={uuid.uuid4()}"
        self.folder = folder
        name, value = self.mark.split("=")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "adapter.cli", "demo", *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {name: value, "TMPDIR": str(folder)},
        )  # fmt: skip

    def await_words(self, words: str) -> str:
        """Read what it says until these words come."""
        assert self.process.stderr is not None
        said = ""
        for line in self.process.stderr:
            said += line
            if words in line:
                return said
        raise AssertionError(f"it ended without a word of {words!r}: {said}")

    def finish(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, out, err

    def relatives(self) -> list[str]:
        """The commands of all processes that it started and that still run."""
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdecimal() and folder.name != str(self.process.pid):
                try:
                    if self.mark.encode() in (folder / "environ").read_bytes():
                        command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                        if command:  # a process that has ended and is not reaped has none
                            found.append(command)
                except OSError:
                    continue
        return found

    def await_alone(self) -> None:
        """Everything that it started ends, and soon."""
        until_s = time.monotonic() + 30.0
        while left := self.relatives():
            assert time.monotonic() < until_s, left
            time.sleep(0.05)


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def start(*arguments: str) -> Run:
        runs.append(Run(tmp_path, *arguments))
        return runs[-1]

    yield start
    for run in runs:
        run.process.kill()
        run.process.communicate()
        run.await_alone()


@pytest.mark.parametrize("options", chosen([[], ["--standby"]], bool))
def test_real_flights_come_through_a_kill_complete_once_and_in_order(
    options: list[str], demo: Callable[..., Run], tmp_path: Path
) -> None:
    run = demo("--flights", str(FLIGHTS), "--json", *options)
    status, out, err = run.finish()
    assert status == 0, err
    told = json.loads(out)
    assert told["ok"] is True
    assert told["put"] == told["flights"] == told["done"] + told["backed_out"] == FLIGHTS
    assert told["backed_out"] == told["never_departed"] > 0
    assert told["left"] == told["lost"] == told["duplicated"] == told["out_of_order"] == 0
    assert told["commits_unanswered"] >= 1
    assert told["units_failed"] >= 2 * told["backed_out"] + 1
    assert told["restart_s"] > 0
    assert told["back_by"] == ("take-over" if options else "restart")
    assert "SIGKILL" in err
    run.await_alone()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", few([signal.SIGINT, signal.SIGTERM], 1))
def test_an_interruption_leaves_nothing_behind(
    number: signal.Signals, demo: Callable[..., Run], tmp_path: Path
) -> None:
    run = demo("--flights", "100000")
    run.await_words("a producer and two workers begin")
    commands = " ".join(run.relatives())
    for part in ("kafka.Kafka", "qmgr start DEMO", "mqk_demo.worker", "mqk_demo.producer"):
        assert part in commands
    run.process.send_signal(number)
    status, out, err = run.finish()
    assert status == 130, err
    assert out == ""
    assert "mqk: interrupted" in err
    assert "Traceback" not in err
    run.await_alone()
    assert list(tmp_path.iterdir()) == []


def test_even_a_killed_demo_leaves_no_process(demo: Callable[..., Run]) -> None:
    run = demo("--flights", "100000")
    run.await_words("a producer and two workers begin")
    assert len(run.relatives()) >= 5
    run.process.kill()
    run.process.communicate()
    run.await_alone()


Fault = Callable[[list[FoundRecord]], None]


def drop(records: list[FoundRecord]) -> None:
    del records[300]


def duplicate(records: list[FoundRecord]) -> None:
    records.insert(300, records[300])


def swap(records: list[FoundRecord]) -> None:
    lane = [at for at, found in enumerate(records) if found[:2] == ("IN", 0)]
    first, second = lane[40], lane[41]
    records[first], records[second] = records[second], records[first]


def alter(records: list[FoundRecord]) -> None:
    records[300] = records[300]._replace(body=records[300].body + b"0")


def nothing(_records: list[FoundRecord]) -> None:
    """A faultless run."""


@pytest.mark.parametrize(
    ("fault", "status"), [(nothing, 0), (drop, 1), (duplicate, 1), (swap, 1), (alter, 1)]
)
def test_the_judge_on_real_topics(
    fault: Fault, status: int, kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    """What was not committed is not seen, and every fault in what was is exit status 1."""
    name = unique_name("J").replace(".", "")
    records = list(RIGHT)
    fault(records)
    prefix = f"mq.{name}.q.FLIGHTS."
    write(kafka.bootstrap_servers, prefix, records)
    archive = make_archive(tmp_path / "small.tar.gz", LINES)
    done = subprocess.run(
        [sys.executable, "-P", checker.__file__, "--bootstrap-server", kafka.bootstrap_servers,
         "--archive", str(archive), "--queue-manager", name, "--json"],
        capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["ok"] is (status == 0)
    assert report["in"] + report["done"] + report["backout"] == len(records)


def write(servers: str, prefix: str, records: list[FoundRecord]) -> None:
    """Write the topics as a mover does, with an aborted transaction in the middle."""
    topics = {queue: f"{prefix}{queue}" for queue in ("IN", "DONE", "BACKOUT")}
    settings = TopicSettings(replication=1, min_insync_replicas=1)
    KafkaTopics(servers, settings).ensure([queue_spec(topic, 10) for topic in topics.values()])
    producer = Producer(
        {"bootstrap.servers": servers, "transactional.id": prefix, **BATCH_BY_BATCH}
    )
    producer.init_transactions(TIMEOUT_S)
    codec = Codec("descriptor", VERSION)
    half = len(records) // 2
    for part, commit in ((records[:half], True), (records[:50], False), (records[half:], True)):
        producer.begin_transaction()
        for found in part:
            producer.produce(
                topics[found.queue], found.body, partition=found.lane, timestamp=found.time_ms,
                headers={checker.HEADER: codec.encode(found.descriptor)},
            )  # fmt: skip
        assert producer.flush(TIMEOUT_S) == 0  # what is aborted is to be in the log
        (producer.commit_transaction if commit else producer.abort_transaction)(TIMEOUT_S)
