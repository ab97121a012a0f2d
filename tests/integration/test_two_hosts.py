"""What docs/operations/two-hosts.md promises, while snapshots are written and ledgers trimmed.

One program puts numbered messages, one unit each, on a real Kafka. What happens to the owner loses
none, doubles none and changes no order, the program hears what became of each unit, and the standby
takes over in the time that the page says. A long run does ten of each.
"""

import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import adapter
from adapter.localkafka import LocalKafka
from adapter.storage.format import names
from adapter.storage.ledger.kafka import KafkaLedger
from adapter.storage.ledger.kafka_settings import LedgerSettings
from benchmarks.numbered import Judgement, NumberedProgram
from tests.support.backlog import until
from tests.support.examples import examples
from tests.support.server_process import ServerProcess
from tests.support.standby_pair import Pair, await_standbys

Named = Callable[..., str]
NOTICED_S = 3.0
"""A frozen owner is replaced in less; twice as long where both cores are busy."""
BUSY = 2.0
LONG_S = 60.0
"""Between heartbeats: so the link alone says that an owner is frozen."""


def kill(serving: ServerProcess, waiting: ServerProcess) -> None:
    serving.kill()
    waiting.await_said("ledger taken over")
    serving.stand_by()
    serving.start()


def freeze(serving: ServerProcess, waiting: ServerProcess) -> None:
    serving.freeze()
    waiting.await_said("ledger taken over")
    serving.thaw()
    serving.await_end()
    serving.stand_by()
    serving.start()


def switch(serving: ServerProcess, waiting: ServerProcess) -> None:
    with adapter.connect(serving.address) as qm:
        assert qm.switch_queue_manager()["name"] == f"{socket.gethostname()}:{waiting.port}"
    waiting.await_said("ledger taken over")


def trimmed(kafka: LocalKafka, name: str) -> bool:
    """Whether the beginning of a ledger is gone."""
    topic = names.ledger_topic(name)
    ledger = KafkaLedger(LedgerSettings(bootstrap_servers=kafka.bootstrap_servers, topic=topic))
    try:
        return ledger.bounds()[0] > 0
    finally:
        ledger.close()


@pytest.mark.parametrize("end", [kill, freeze, switch])
def test_nothing_is_lost_doubled_or_reordered_while_the_ledger_is_trimmed(
    end: Callable[[ServerProcess, ServerProcess], None],
    kafka: LocalKafka,
    unique_name: Named,
    tmp_path: Path,
) -> None:
    name = unique_name("QM")
    with Pair(name, kafka, tmp_path, LONG_S, often_written=True) as pair:
        program = NumberedProgram(pair.addresses, "Q")
        program.start()
        program.await_more()
        serving, waiting = pair.owner, pair.standby
        for _ in range(examples(1)):
            until(lambda: trimmed(kafka, name))
            await_standbys(serving, 1)
            began_s = time.monotonic()
            end(serving, waiting)
            assert time.monotonic() - began_s < BUSY * NOTICED_S + LATER_S[end]
            program.await_more()
            serving, waiting = waiting, serving
        assert program.end() == Judgement()
        assert end is not switch or program.failed == 0


LATER_S: dict[Callable[[ServerProcess, ServerProcess], None], float] = {
    kill: 5.0,
    freeze: 10.0,
    switch: 5.0,
}
"""What a process takes to end, and another one to start."""


def test_a_standby_that_starts_when_the_ledger_was_trimmed_is_linked(
    kafka: LocalKafka, unique_name: Named, tmp_path: Path
) -> None:
    name = unique_name("QM")
    with Pair(name, kafka, tmp_path, LONG_S, often_written=True) as pair:
        pair.standby.kill()
        program = NumberedProgram(pair.addresses, "Q")
        program.start()
        program.await_more()
        until(lambda: trimmed(kafka, name))
        pair.standby.start()
        await_standbys(pair.owner, 1)
        switch(pair.owner, pair.standby)
        program.await_more()
        assert program.end() == Judgement()
        assert program.failed == 0
