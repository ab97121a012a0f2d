"""Steps of core that fail, and outcomes that were asked for, on a real Kafka: others hear nothing.

One program puts numbered messages all the while, and snapshots are written every few entries.
"""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import msgspec
import pytest

import adapter
from adapter import errors as e
from adapter.connection.channel.numbering import OWN_UNIT
from adapter.localkafka import free_port
from adapter.server.monitor.http import Readiness
from benchmarks.numbered import Judgement, NumberedProgram
from tests.support.backlog import until
from tests.support.failing_steps import FAILS
from tests.support.server_process import HOST, ServerProcess
from tests.support.shared_kafka import AnyKafka

PORT = free_port()
COMES_S = 30.0
FEW = 30


@pytest.fixture
def server(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> Iterator[ServerProcess]:
    name, servers = unique_name("QM"), kafka.bootstrap_servers
    with ServerProcess(name, servers, tmp_path, http_port=PORT, steps_fail=True) as one:
        one.start()
        yield one


def ready() -> Readiness:
    with urllib.request.urlopen(f"http://{HOST}:{PORT}/ready") as answer:
        return msgspec.json.decode(answer.read(), type=Readiness)


def snapshots() -> int:
    """How many have been written in this term."""
    with urllib.request.urlopen(f"http://{HOST}:{PORT}/metrics") as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith("mqk_snapshots_total "):
                return int(float(line.split()[1]))
    return 0


def test_a_step_that_fails_costs_others_nothing(server: ServerProcess) -> None:
    """Twice the ledger is taken over again; the third time the command is refused."""
    program = NumberedProgram(server.address, "Q")
    program.start()
    program.await_more(FEW)
    with adapter.connect(server.address) as qm:
        qm.define_queue("P")
        qm.put("P", b"before")
        with pytest.raises(e.CommandFailed, match="it failed twice: ZeroDivisionError"):
            qm.put("P", FAILS)
        qm.put("P", b"behind")
        program.await_more(FEW)
        assert [message.body for message in qm.queue("P").browse()] == [b"before", b"behind"]
        undone = ready().undone
        assert any("ZeroDivisionError" in why for why in undone.values()), undone
        failed = (event for event in qm.events(COMES_S) if event.kind == "step_failed")
        assert [one.details["failed_steps"] for one in islice(failed, 2)] == ["1", "2"]
    server.kill()
    server.start()
    program.await_more(FEW)
    assert program.end() == Judgement()
    with adapter.connect(server.address) as qm:
        assert [message.body for message in qm.queue("P").browse()] == [b"before", b"behind"]


def test_an_outcome_that_was_asked_for_is_in_snapshots(server: ServerProcess) -> None:
    """What never came is fenced: snapshots are written with it, and each next life reads them."""
    program = NumberedProgram(server.address, "Q")
    program.start()
    program.await_more(FEW)
    with adapter.connect(server.address) as qm:
        qm.define_queue("P")
        with qm.unit() as unit:
            qm.put("P", b"1")
        never = unit.id[:16] + (OWN_UNIT | 1_000).to_bytes(8, "big")
        assert qm.outcome(never) == "backed out"
        before = snapshots()
        until(lambda: snapshots() > before + 1)
        assert ready().undone == {}
    for end in (server.kill, server.ask_to_end):
        end()
        if end == server.ask_to_end:
            assert server.await_end() == 0
        server.start()
        program.await_more(FEW)
    assert program.end() == Judgement()
    assert ready().ok
