"""Standbys of a queue manager: real processes on a real Kafka.

One program puts numbered messages, one unit each, while its queue manager is killed, frozen,
stopped or handed over. Afterwards each message is on the queue once and in order, and the program
has heard of each unit what became of it (benchmarks/numbered.py).
"""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import adapter
from adapter.runtime.network.lookup import directory_look_up
from adapter.runtime.owner.parts import HEARTBEAT_S
from adapter.server.main import DEPOSED_STATUS
from benchmarks.numbered import Judgement, NumberedProgram
from tests.support.backlog import until
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka
from tests.support.standby_pair import Pair

Named = Callable[..., str]
SHORT_HEARTBEAT_S = 1.0
"""So that a silence that counts is 3 s."""
WAIT_S = 60.0


def begun(addresses: str) -> NumberedProgram:
    """Start a program, and wait until it has put some."""
    program = NumberedProgram(addresses, "Q")
    program.start()
    program.await_more()
    return program


@pytest.fixture
def pair(kafka: AnyKafka, unique_name: Named, tmp_path: Path) -> Iterator[Pair]:
    with Pair(unique_name("QM"), kafka, tmp_path, HEARTBEAT_S) as made:
        yield made


@pytest.fixture
def program(pair: Pair) -> Iterator[NumberedProgram]:
    made = begun(pair.addresses)
    yield made
    made.stop()


def test_a_standby_takes_over_from_an_owner_that_is_killed(
    pair: Pair, program: NumberedProgram
) -> None:
    """And so on, to and fro: a process that is started again is the next standby."""
    serving, waiting = pair.owner, pair.standby
    for _ in range(2):
        serving.kill()
        waiting.await_said("ledger taken over")
        program.await_more()
        serving.stand_by()
        serving.start()
        serving, waiting = waiting, serving
    assert program.end() == Judgement()


def test_clients_that_know_a_standby_alone_are_led_to_the_owner(pair: Pair) -> None:
    with adapter.connect(pair.standby.address, reconnect_timeout_s=WAIT_S) as qm:
        assert qm.figures()["address"] == pair.owner.address
        qm.define_queue("Q")


def test_a_stop_by_an_operator_ends_the_standby_too(pair: Pair) -> None:
    with adapter.connect(pair.owner.address) as qm:
        qm.stop_queue_manager()
    assert pair.owner.await_end() == 0
    assert pair.standby.await_end() == 0
    assert "was stopped, and its standby with it" in pair.standby.said()


@pytest.mark.parametrize("by", ["command", "signal"])
def test_a_queue_manager_is_handed_over(pair: Pair, program: NumberedProgram, by: str) -> None:
    if by == "signal":
        pair.owner.ask_to_end()
    else:
        with adapter.connect(pair.owner.address) as qm:
            qm.stop_queue_manager(hand_over=True)
    assert pair.owner.await_end() == 0
    pair.standby.await_said("reason='it was stopped'")
    program.await_more()
    assert program.end() == Judgement()


def test_a_queue_manager_is_switched_to_its_standby_and_back(
    pair: Pair, program: NumberedProgram
) -> None:
    """No unit fails, and each process goes on as the standby of the other."""
    serving, waiting = pair.owner, pair.standby
    for _ in range(2):
        with adapter.connect(serving.address) as qm:
            assert qm.switch_queue_manager() == {
                "name": f"{socket.gethostname()}:{waiting.port}",
                "address": waiting.address,
            }
        waiting.await_said("ledger taken over")
        program.await_more()
        serving, waiting = waiting, serving
    assert program.end() == Judgement()
    assert program.failed == 0


def test_a_frozen_owner_is_replaced_and_ends_when_it_comes_back(
    kafka: AnyKafka, unique_name: Named, tmp_path: Path
) -> None:
    with Pair(unique_name("QM"), kafka, tmp_path, SHORT_HEARTBEAT_S) as pair:
        program = begun(pair.addresses)
        pair.owner.freeze()
        pair.standby.await_said("ledger taken over")
        pair.owner.thaw()
        assert pair.owner.await_end() == DEPOSED_STATUS, "it was not told to stand by"
        assert "another owner took over" in pair.owner.sentence()
        program.await_more()
        assert program.end() == Judgement()


def test_a_standby_that_is_told_to_stop_ends_and_the_owner_goes_on(
    pair: Pair, program: NumberedProgram
) -> None:
    pair.standby.ask_to_end()
    assert pair.standby.await_end() == 0
    program.await_more()
    assert program.end() == Judgement()


def test_of_three_standbys_one_takes_over(
    kafka: AnyKafka, unique_name: Named, tmp_path: Path
) -> None:
    name, servers = unique_name("QM"), kafka.bootstrap_servers
    owner = ServerProcess(name, servers, tmp_path)
    standbys = [ServerProcess(name, servers, tmp_path, standby=True) for _ in range(3)]
    with owner, standbys[0], standbys[1], standbys[2]:
        owner.start()
        for one in standbys:
            one.start()
        addresses = ",".join(one.address for one in (*standbys, owner))
        with adapter.connect(addresses, reconnect_timeout_s=WAIT_S) as qm:
            qm.define_queue("Q")
            owner.kill()
            qm.queue("Q").put(b"a")
            until(lambda: any("ledger taken over" in one.said() for one in standbys))
            took_over = [one for one in standbys if "ledger taken over" in one.said()]
            assert len(took_over) == 1
            assert all("ends" not in one.said() for one in standbys)
            took_over[0].kill()
            message = qm.queue("Q").get(timeout=WAIT_S)
            assert message is not None
            assert message.body == b"a"


def test_the_directory_leads_to_the_owner_and_after_a_take_over_to_the_new_one(
    kafka: AnyKafka, unique_name: Named, tmp_path: Path
) -> None:
    """The standby leaves the owner's entry as it is; and programs need not know any host."""
    name, servers = unique_name("QM"), kafka.bootstrap_servers
    look_up = directory_look_up(name, servers, {})
    with Pair(name, kafka, tmp_path, HEARTBEAT_S, network=True) as pair:
        with adapter.connect(f"kafka://{servers}/{name}", reconnect_timeout_s=WAIT_S) as qm:
            qm.define_queue("Q")
            assert look_up(WAIT_S) == pair.owner.address
            pair.owner.kill()
            qm.put("Q", b"x", persistent=True)
        assert look_up(WAIT_S) == pair.standby.address
