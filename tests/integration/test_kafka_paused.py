"""A client that sends on while Kafka does not answer: memory has a bound, and all is done once."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import adapter
from adapter.core.contract import commands as c
from adapter.localkafka import LocalKafka
from tests.support.raw_client import RawClient
from tests.support.server_process import ServerProcess

STOP_S = 20.0
MEGABYTE = 1024 * 1024


def test_a_client_that_sends_on_while_kafka_is_away(
    killable_kafka: LocalKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    """It is read no further than memory allows; others are told how it stands; all is done once."""
    puts = 120
    with ServerProcess(unique_name(), killable_kafka.bootstrap_servers, tmp_path) as server:
        server.start()
        with adapter.connect(server.address) as qm, RawClient(server.address) as client:
            qm.define_queue("Q")
            client.hello()
            client.open_session(bytes(16))
            client.ask(c.Open(1, "Q", c.OUTPUT))
            server.forget_peak()
            before = server.rss_bytes()
            killable_kafka.pause(1)
            sender = threading.Thread(target=send_puts, args=(client, puts), daemon=True)
            sender.start()
            while server.rss_bytes() < before + 60 * MEGABYTE:
                time.sleep(0.01)  # bounded by the test's own time
            assert qm.figures()["entries_in_flight"]
            sender.join(1.0)
            assert sender.is_alive(), "all of it was taken"
            grown = server.peak_rss_bytes() - before
            killable_kafka.resume(1)
            sender.join(STOP_S)
            answered = 0
            while answered < puts:
                answered += len(client.receive()[1])
            assert qm.queue("Q").depth() == puts
    assert grown < 180 * MEGABYTE, f"memory grew by {grown / MEGABYTE:.0f} MiB"


def send_puts(client: RawClient, count: int) -> None:
    for number in range(1, count + 1):
        client.request([5, 1, [[bytes(MEGABYTE)]]], number=number)
