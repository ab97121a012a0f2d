"""The ledger on a real Kafka: responses lost, connections cut, owners rivalled and stopped.

In each case: no promise is ever untrue, and replay gives exactly what was promised plus at most
what was in flight. The owner under test goes through a proxy (its byte counts are asserted, or
the test would prove nothing); rivals and the judge go to the broker directly.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from adapter.localkafka import LocalKafka
from adapter.storage.ledger import kafka as ledger_on_kafka
from adapter.storage.ledger.kafka_reader import LedgerSource
from adapter.storage.ledger.port import Deposed, Entry, Ledger, LedgerClosed
from mqk_demo.proxy import Proxy
from tests.contract.audit import Account, raw_records
from tests.contract.kafka_place import KafkaPlace
from tests.contract.ledger_contract import WAIT_S, Heard, new_owner, take
from tests.contract.owner_process import payload_of
from tests.support.topic_settings import configure
from tests.support.watch import Watch

APPENDS_MAX = 60_000
"""Far more than there are until a rival has come: on a busy machine that takes some seconds."""
IN_FLIGHT = 5
# One record a request, so that several requests are really in flight.
ONE_BY_ONE = {"batch.num.messages": 1}
# Far below the ledger's own, so that a test can wait for them; far above what a busy machine takes.
IMPATIENT = {"socket.timeout.ms": 1000}
MESSAGE_TIMEOUT_MS = 3000


class Owner:
    """A ledger under test, with its account for the judge."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.heard = Heard(ledger)
        self.account = Account(new_owner())
        self.replayed: list[Entry] = []
        ledger.take_over(self.account.owner, "under test", self.replayed.append)

    def append(self, count: int = 1) -> None:
        for _ in range(count):
            payload = payload_of(len(self.account.appended) + 1)
            self.account.appended.append(payload)
            self.ledger.append(payload)

    def append_durably(self, count: int) -> None:
        self.append(count)
        self.heard.wait_durable(len(self.account.appended))

    def append_until_doubt(self, count: int, at: Mapping[int, Callable[[], object]]) -> None:
        """Append with a few in flight; at: what happens just before the n-th append."""
        for n in range(1, count + 1):
            if n in at:
                at[n]()
            if n > IN_FLIGHT and not self._wait_for(n - IN_FLIGHT):
                return
            try:
                self.append()
            except LedgerClosed:
                self.account.appended.pop()
                self.heard.wait_doubt()
                return

    def check(self, records: list[bytes]) -> int:
        """Close, and judge; how many of its entries are valid."""
        self.ledger.close()
        self.account.promised_n = self.heard.last_n
        assert len(self.heard.doubts) <= 1
        return self.account.check(records)

    def _wait_for(self, n: int) -> bool:
        try:
            self.heard.wait_durable(n)
        except AssertionError:
            self.heard.wait_doubt()
            return False
        return True


class Stage:
    """A fresh ledger topic, and a proxy before the broker."""

    def __init__(self, broker: LocalKafka, topic: str) -> None:
        self.kafka = broker
        self.place = KafkaPlace(broker.bootstrap_servers, topic)
        self.watch = Watch()
        self.proxy = Proxy(
            *broker.behind_proxy(1),
            listen_port=int(broker.proxied_bootstrap_servers.split(":")[1]),
            tap=self.watch.tap,
        )

    def owner(self, client: dict[str, Any] | None = None, **settings: Any) -> Owner:
        """An owner behind the proxy."""
        before = self.proxy.requests.passed_bytes
        ledger = self.place.ledger(
            bootstrap_servers=self.kafka.proxied_bootstrap_servers, client=client or {}, **settings
        )
        owner = Owner(ledger)
        assert self.proxy.requests.passed_bytes > before, "the owner went round the proxy"
        return owner

    def rival(self) -> Owner:
        """An owner that reaches the broker directly."""
        return Owner(self.place.ledger())

    def records(self) -> list[bytes]:
        return raw_records(self.kafka.bootstrap_servers, self.place.settings.topic)

    def await_records(self, count: int) -> list[bytes]:
        """Every record, once there are so many."""
        seen = 0
        with LedgerSource(self.place.settings) as source:
            source.start(0)
            while seen < count:
                seen += len(source.take_some())
        return self.records()

    def replayed(self) -> list[bytes]:
        return [entry.payload for entry in take(self.place.ledger())[1]]


@pytest.fixture(scope="module")
def ready_kafka(kept_kafka: LocalKafka) -> LocalKafka:
    """The process's broker, once it hands out producer ids: one just started takes a while to."""
    place = KafkaPlace(kept_kafka.bootstrap_servers, "mq.READY.ledger")
    take(place.ledger())
    place.close()
    return kept_kafka


@pytest.fixture
def stage(ready_kafka: LocalKafka, unique_name: Callable[..., str]) -> Iterator[Stage]:
    stage = Stage(ready_kafka, f"mq.{unique_name()}.ledger")
    with stage.proxy:
        yield stage
        stage.place.close()


def test_responses_lost_beyond_the_message_timeout(stage: Stage) -> None:
    owner = stage.owner({**ONE_BY_ONE, **IMPATIENT}, message_timeout_ms=MESSAGE_TIMEOUT_MS)
    owner.append_durably(20)
    stage.proxy.drop_replies()
    owner.append(IN_FLIGHT)

    assert "doubtful" in owner.heard.wait_doubt()

    assert owner.heard.last_n == 20
    assert stage.proxy.replies.dropped_bytes > 0
    stage.proxy.release()
    stage.proxy.cut()
    replayed = stage.replayed()
    valid = owner.check(stage.records())
    assert len(replayed) == valid
    assert valid > 20, "no request reached the broker: the test showed nothing"


def test_responses_lost_and_the_same_ledger_takes_over_again(stage: Stage) -> None:
    first = stage.owner({**ONE_BY_ONE, **IMPATIENT}, message_timeout_ms=MESSAGE_TIMEOUT_MS)
    first.append_durably(5)
    stage.proxy.drop_replies()
    first.append(IN_FLIGHT)
    first.heard.wait_doubt()
    stage.proxy.release()
    stage.proxy.cut()

    second = Owner(first.ledger)
    assert 5 < len(second.replayed) <= 5 + IN_FLIGHT
    second.append_durably(10)
    records = stage.records()
    assert second.check(records) == 10
    first.account.promised_n = 5
    assert first.account.check(records) == len(second.replayed)


def test_connections_cut_after_the_request_was_forwarded(stage: Stage) -> None:
    """The producer sends again, the broker knows the batch: durable once, and no doubt."""
    owner = stage.owner(ONE_BY_ONE)
    owner.append_durably(5)
    for _ in range(10):
        stage.proxy.hold_replies()
        seen = stage.watch.reply_bytes
        owner.append(IN_FLIGHT)
        stage.watch.wait_reply(seen)
        stage.proxy.cut()
        stage.proxy.release()
        owner.heard.wait_durable(len(owner.account.appended))
    assert owner.heard.doubts == []
    assert stage.proxy.statistics()["accepted"] > 10
    assert owner.check(stage.records()) == 55


def test_delays_and_cuts_at_random_moments(stage: Stage) -> None:
    random = Random(1)
    owner = stage.owner(ONE_BY_ONE)
    stage.proxy.delay(requests_s=0.002, replies_s=0.005)
    at = dict.fromkeys(random.sample(range(1, 400), 25), stage.proxy.cut)
    owner.append_until_doubt(400, at)
    stage.proxy.delay()
    replayed = stage.replayed()
    assert owner.check(stage.records()) == len(replayed)
    assert owner.heard.last_n > 100


def limit_record_bytes(stage: Stage, limit: int) -> None:
    """Let the broker refuse what the ledger would allow."""
    topic = stage.place.settings.topic
    configure(stage.kafka.bootstrap_servers, topic, {"max.message.bytes": str(limit)})


@pytest.mark.parametrize("purge", ["in time", "too late"])
def test_a_record_rejected_in_the_middle(
    stage: Stage, purge: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was sent behind it may be written behind a hole in n; nothing of that is promised."""
    if purge == "too late":
        monkeypatch.setattr(ledger_on_kafka.LedgerWriter, "_purge", lambda _writer: None)
    owner = stage.owner(ONE_BY_ONE)
    owner.append_durably(3)
    limit_record_bytes(stage, 10_000)
    stage.proxy.hold_requests()
    owner.append(1)
    owner.account.appended.append(os.urandom(20_000))
    owner.ledger.append(owner.account.appended[-1])
    owner.append(3)
    stage.proxy.release()

    doubt = owner.heard.wait_doubt()
    assert "set max.message.bytes" in doubt, doubt

    assert owner.heard.last_n == 4
    records = stage.await_records(5 if purge == "in time" else 8)
    limit_record_bytes(stage, 8 * 1024 * 1024)
    assert owner.check(records) == len(stage.replayed()) == 4


def test_a_rival_at_a_random_moment(stage: Stage) -> None:
    """Many times: the rival appears while appends are in flight, and sees all that was promised."""
    random = Random(2)
    owners: list[Owner] = []
    for _ in range(12):
        old = stage.owner(ONE_BY_ONE)
        rivals: list[Owner] = []
        arrival = threading.Thread(target=lambda to=rivals: to.append(stage.rival()))
        old.append_until_doubt(APPENDS_MAX, {random.randrange(1, 200): arrival.start})
        arrival.join(WAIT_S)
        assert isinstance(old.heard.doubts[0], Deposed)
        assert old.heard.last_n <= sum(
            entry.owner == old.account.owner for entry in rivals[0].replayed
        )
        owners += [old, rivals[0]]
        rivals[0].append_durably(3)
    records = stage.records()
    for owner in owners:
        owner.check(records)


class OwnerProcess:
    """The owner as a process behind the proxy; what it printed is its account."""

    def __init__(self, stage: Stage) -> None:
        self.account = Account(new_owner())
        self.doubt = ""
        self._changed = threading.Condition()
        self._ended = False
        self._process = subprocess.Popen(
            [
                sys.executable,
                Path(__file__).with_name("owner_process.py"),
                stage.kafka.proxied_bootstrap_servers,
                stage.place.settings.topic,
                self.account.owner.hex(),
                "1000000",
            ],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait_durable(self, n: int) -> None:
        with self._changed:
            done = self._changed.wait_for(lambda: self.account.promised_n >= n, WAIT_S)
        assert done, "the owner's process came to nothing"

    def wait_end(self) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self._ended, WAIT_S), "it did not end"
        assert self._process.wait(WAIT_S) == 0

    def end(self) -> None:
        self._process.kill()
        self._process.wait(WAIT_S)
        self._reader.join(WAIT_S)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._take(*line.rstrip().split(" ", 1))
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _take(self, what: str, rest: str = "") -> None:
        with self._changed:
            if what == "append":
                self.account.appended.append(payload_of(int(rest)))
            elif what == "durable":
                assert not self.doubt, "promised after a doubt"
                self.account.promised_n = int(rest)
            elif what == "doubt":
                self.doubt = rest
            self._changed.notify_all()


@pytest.fixture
def process(stage: Stage) -> Iterator[OwnerProcess]:
    process = OwnerProcess(stage)
    yield process
    process.end()


@pytest.mark.parametrize("held", ["nothing", "requests", "replies"])
def test_an_owner_stopped_with_appends_in_flight_while_a_rival_takes_over(
    stage: Stage, process: OwnerProcess, held: str
) -> None:
    process.wait_durable(50)
    if held == "requests":
        stage.proxy.hold_requests()
        stage.watch.wait_request()
    elif held == "replies":
        stage.proxy.hold_replies()
        stage.watch.wait_reply(stage.watch.reply_bytes)
    process.signal(signal.SIGSTOP)
    if held == "replies":
        stage.proxy.release()  # into the sockets of a process that does not look
    rival = stage.rival()
    rival.append_durably(3)
    stage.proxy.release()
    process.signal(signal.SIGCONT)

    process.wait_end()

    assert "another owner took over" in process.doubt
    records = stage.records()
    of_old = [entry for entry in rival.replayed if entry.owner == process.account.owner]
    assert process.account.check(records) == len(of_old)
    assert len(process.account.appended) - process.account.promised_n <= IN_FLIGHT
    assert rival.check(records) == 3


def test_a_broker_killed_with_appends_in_flight(
    killable_kafka: LocalKafka, unique_name: Callable[..., str]
) -> None:
    topic = f"mq.{unique_name()}.ledger"
    place = KafkaPlace(killable_kafka.bootstrap_servers, topic)
    owner = Owner(place.ledger(client=ONE_BY_ONE))
    owner.append_durably(20)
    owner.append(IN_FLIGHT)
    killable_kafka.kill(1)
    owner.append(IN_FLIGHT)
    killable_kafka.start(1)
    owner.append_until_doubt(50, {})
    replayed = [entry.payload for entry in take(place.ledger())[1]]
    assert owner.check(raw_records(killable_kafka.bootstrap_servers, topic)) == len(replayed)
    assert owner.heard.last_n >= 20
    place.close()
