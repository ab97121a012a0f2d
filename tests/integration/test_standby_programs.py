"""Programs that know an owner and its standby by a list of addresses, or by the directory: workers
and commands go on by themselves when the owner is killed, and when it is switched to the standby.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import adapter
from adapter.cli.main import run
from tests.support.backlog import until
from tests.support.shared_kafka import AnyKafka
from tests.support.standby_pair import Pair, await_standbys
from tests.support.worker_process import WorkerProcess, bodies

WAIT_S = 60.0
MESSAGES = 400
OPTIONS = ("--processes", 2, "--threads", 2, "--prefetch", 2, "--retry-times", 1000)


@pytest.fixture
def pair(kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path) -> Iterator[Pair]:
    with Pair(unique_name("QM"), kafka, tmp_path, network=True) as made:
        yield made


def kill(pair: Pair) -> None:
    pair.owner.kill()


def switch(pair: Pair) -> None:
    with adapter.connect(pair.owner.address) as qm:
        qm.switch_queue_manager()


@pytest.mark.parametrize("strike", [kill, switch])
@pytest.mark.parametrize(
    ("function", "handles", "looks_up"),
    [("copy", 4, False), ("copy_in_loop", 2, True)],
    ids=["threads, addresses", "tasks, directory"],
)
def test_a_worker_does_each_message_once(
    pair: Pair,
    kafka: AnyKafka,
    tmp_path: Path,
    strike: Callable[[Pair], None],
    function: str,
    handles: int,
    looks_up: bool,
) -> None:
    """handles: of all processes together, when they are connected."""
    name = pair.owner.queue_manager
    address = f"kafka://{kafka.bootstrap_servers}/{name}" if looks_up else pair.addresses
    sent = [b"%06d" % number for number in range(MESSAGES)]
    log = tmp_path / "worker.log"
    with adapter.connect(address, reconnect_timeout_s=WAIT_S) as qm:
        for one in ("Q", "OUT"):
            qm.define_queue(one)
        queue, out = qm.queue("Q"), qm.queue("OUT")
        with WorkerProcess(address, function, *OPTIONS, log=log) as worker:
            until(lambda: queue.status().open_input_count == handles)
            queue.put_many(sent)
            until(lambda: out.depth() >= MESSAGES // 4)
            strike(pair)
            until(lambda: out.depth() >= MESSAGES)
            assert worker.stop() == 0
        assert sorted(bodies(qm, "OUT")) == sent
        status = queue.status()
        assert (status.current_depth, status.delayed, status.uncommitted) == (0, 0, 0)
    pair.standby.await_said("ledger taken over")
    assert "another one is started" not in log.read_text()


def test_commands_find_the_owner(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is the second address first, then the first one."""
    monkeypatch.setenv("MQK_QMGR", pair.addresses)
    name = pair.owner.queue_manager

    def say(*arguments: str) -> str:
        capsys.readouterr()
        assert run(list(arguments)) == 0
        return capsys.readouterr().out

    say("queue", "define", "Q")
    say("put", "Q", "1")
    assert json.loads(say("qmgr", "switch", name, "--json"))["address"] == pair.standby.address
    say("put", "Q", "2")
    await_standbys(pair.standby, 1)
    say("qmgr", "stop", name, "--hand-over")
    assert pair.standby.await_end() == 0
    assert json.loads(say("qmgr", "status", "--json"))["address"] == pair.owner.address
    assert [say("get", "Q").strip() for _ in range(2)] == ["1", "2"]
    say("qmgr", "stop", name)
    assert pair.owner.await_end() == 0
