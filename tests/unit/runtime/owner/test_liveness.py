"""Whether another owner is alive: a fresh record, a clean stop, a process that is gone."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adapter.core import inputs
from adapter.core.dispatch import step
from adapter.core.model.manager import QueueManager
from adapter.host import launch
from adapter.runtime.owner import liveness, processes
from adapter.runtime.owner.clock import Clock, ManualClock
from adapter.runtime.owner.liveness import OwnedElsewhereError, check_free, has_stopped, is_gone
from adapter.runtime.owner.replay import LedgerUnreadableError
from adapter.storage.format import entries
from adapter.storage.format.schemas import VERSION
from adapter.storage.ledger.envelope import NEWER_VERSIONS, OWNER_CHANGED, encode
from adapter.storage.ledger.memory import MemoryLedger, MemoryLog
from adapter.storage.ledger.port import LedgerMismatch
from tests.unit.runtime.owner.test_owner import Bench

HEARTBEAT_S = 5.0
OF_ANOTHER_MACHINE = bytes(range(16))


def owned(owner: bytes, payload: bytes | None, clock: Clock) -> MemoryLog:
    """A ledger that has had an owner, with an entry of it."""
    log = MemoryLog(clock_ms=clock.now_ms)
    ledger = MemoryLedger(log)
    ledger.take_over(owner, "QM1 (process 7 on elsewhere)", lambda _entry: None)
    if payload is not None:
        ledger.append(payload)
    ledger.close()
    return log


@pytest.mark.parametrize("payload", [None, entries.encode([])])
def test_a_fresh_record_of_another_machine_refuses(payload: bytes | None) -> None:
    clock = ManualClock()
    log = owned(OF_ANOTHER_MACHINE, payload, clock)
    clock.advance(14.9)
    with pytest.raises(OwnedElsewhereError) as refused:
        check_free("QM1", MemoryLedger(log), HEARTBEAT_S)
    assert str(refused.value) == (
        "queue manager QM1 is owned by QM1 (process 7 on elsewhere), which wrote to its ledger "
        "14.9 s ago: stop that one first; if it is dead, try again when it has been silent for "
        "15 s, or start with --take-over"
    )
    clock.advance(0.1)
    check_free("QM1", MemoryLedger(log), HEARTBEAT_S)


def test_asking_is_no_sign_of_life() -> None:
    clock = ManualClock()
    log = owned(OF_ANOTHER_MACHINE, None, clock)
    for _ in range(3):
        clock.advance(4)
        with pytest.raises(OwnedElsewhereError):
            check_free("QM1", MemoryLedger(log), HEARTBEAT_S)
    clock.advance(4)
    check_free("QM1", MemoryLedger(log), HEARTBEAT_S)


class Wayward(Clock):
    """A clock that goes where it is told to."""

    def __init__(self) -> None:
        self.ms = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.ms

    def elapsed_ms(self) -> int:
        raise AssertionError("a ledger has the time of day only")


@pytest.mark.parametrize("back_s", [1, 3600, 10 * 365 * 86_400])
def test_a_clock_that_was_set_back_makes_it_watch(back_s: int) -> None:
    """Its owner is dead: it may be taken over from, after as long as it may be silent."""
    clock = Wayward()
    log = owned(OF_ANOTHER_MACHINE, None, clock)
    clock.ms -= back_s * 1000
    pauses: list[float] = []
    check_free("QM1", MemoryLedger(log), HEARTBEAT_S, pauses.append)
    assert pauses == [HEARTBEAT_S] * liveness.SILENCES


def test_a_clock_that_was_set_back_under_an_owner_that_lives() -> None:
    clock = Wayward()
    log = MemoryLog(clock_ms=clock.now_ms)
    ledger = MemoryLedger(log)
    ledger.take_over(OF_ANOTHER_MACHINE, "QM1 (process 7 on elsewhere)", lambda _entry: None)
    clock.ms -= 3_600_000
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            ledger.append(entries.encode([]))

    with pytest.raises(OwnedElsewhereError, match=r"elsewhere.*0\.0 s ago"):
        check_free("QM1", MemoryLedger(log), HEARTBEAT_S, pause)
    assert len(pauses) == 2
    ledger.close()


def test_a_clock_that_was_set_ahead_only_makes_its_owner_look_silent() -> None:
    clock = Wayward()
    log = owned(OF_ANOTHER_MACHINE, None, clock)
    clock.ms += 3_600_000
    check_free("QM1", MemoryLedger(log), HEARTBEAT_S)


def test_an_empty_ledger_is_free() -> None:
    check_free("QM1", MemoryLedger(MemoryLog()), HEARTBEAT_S)


def test_a_later_release_is_not_taken_over_from() -> None:
    """Whose ledger cannot be read is not written to either."""
    later = bytes((VERSION + 1,)) + entries.encode([])[1:]
    log = owned(OF_ANOTHER_MACHINE, later, ManualClock())
    end = log.end
    with pytest.raises(LedgerUnreadableError) as refused:
        check_free("QM1", MemoryLedger(log), HEARTBEAT_S)
    assert str(refused.value) == (
        "the ledger of QM1 was written by a later release: its entries have schema version 2, and "
        "this release reads version 1. Nothing was written; start that release, or a later one"
    )
    envelope = log.read(end - 1, end)[0].value
    log.write(bytes((NEWER_VERSIONS[0],)) + envelope[1:])
    with pytest.raises(LedgerMismatch, match="use the newer mqk that wrote it"):
        check_free("QM1", MemoryLedger(log), HEARTBEAT_S)
    assert log.end == end + 1


@pytest.mark.parametrize("part", ["record", "entry"])
def test_a_later_release_is_told_when_it_is_taken_over_by_force(part: str) -> None:
    async def main() -> None:
        entry = entries.encode([])
        log = owned(OF_ANOTHER_MACHINE, entry, ManualClock())
        envelope = log.read(log.end - 1, log.end)[0].value
        at = 0 if part == "record" else len(envelope) - len(entry)
        later = NEWER_VERSIONS[0] if part == "record" else VERSION + 1
        log.recreate()
        log.write(encode(OWNER_CHANGED, OF_ANOTHER_MACHINE, 0, b""))
        log.write(envelope[:at] + bytes((later,)) + envelope[at + 1 :])
        bench = Bench(log)
        wanted = LedgerMismatch if part == "record" else LedgerUnreadableError
        with pytest.raises(wanted, match=rf"offset 1.* version {later}"):
            await bench.owner.start()
        await bench.owner.stop()

    asyncio.run(main())


def test_one_that_was_stopped_is_not_waited_for() -> None:
    qm = QueueManager("QM1", bytes(16))
    mark = entries.encode(step(qm, inputs.Now(1, 1, 1), inputs.Stopped()).records)
    log = owned(OF_ANOTHER_MACHINE, mark, ManualClock())
    end = log.end
    check_free("QM1", MemoryLedger(log), HEARTBEAT_S)
    assert log.end == end, "nothing is written to find that out"
    assert has_stopped(mark)
    assert not has_stopped(b"")


def test_an_owner_says_with_its_last_entry_that_it_has_stopped() -> None:
    async def main() -> None:
        bench = Bench(MemoryLog())
        await bench.begin()
        with pytest.raises(OwnedElsewhereError):
            check_free("QM1", MemoryLedger(bench.log), HEARTBEAT_S)
        await bench.owner.stop()
        check_free("QM1", MemoryLedger(bench.log), HEARTBEAT_S)
        second = Bench(bench.log)
        await second.owner.start(take_over=False)
        third = Bench(bench.log)
        with pytest.raises(OwnedElsewhereError):
            await third.owner.start(take_over=False)
        await third.owner.stop()
        assert second.owner.running
        await second.owner.stop()

    asyncio.run(main())


def test_a_process_that_has_ended_is_gone() -> None:
    code = "from adapter.runtime.owner.liveness import new_owner_id; print(new_owner_id().hex())"
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, timeout=30
    )
    dead = bytes.fromhex(done.stdout)
    mine = liveness.new_owner_id()
    assert is_gone(dead)
    assert not is_gone(mine), "this process runs"
    assert not is_gone(OF_ANOTHER_MACHINE)
    assert dead[8:12] == mine[8:12], "of one machine"
    log = owned(dead, None, ManualClock())
    check_free("QM1", MemoryLedger(log), HEARTBEAT_S)


def test_a_zombie_is_gone() -> None:
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    mark = processes.process(process.pid)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    owner = bytes(8) + liveness.new_owner_id()[8:12] + mark
    assert is_gone(owner)
    process.wait(30)


def test_owner_ids_differ() -> None:
    assert len({liveness.new_owner_id()[:12] for _ in range(1000)}) == 1000


def test_a_process_that_is_hidden_has_not_ended(tmp_path: Path) -> None:
    """Where /proc shows a process those of its own user alone."""
    boot, own = tmp_path / "sys/kernel/random", tmp_path / "self/ns"
    for folder in (boot, own):
        folder.mkdir(parents=True)
    (boot / "boot_id").write_text("boot")
    (own / "pid").symlink_to("pid:[4026531836]")
    hidden = bytes(8) + processes.machine(tmp_path) + b"mark"
    assert not is_gone(hidden, tmp_path)
    (tmp_path / "1").mkdir()
    (tmp_path / "1/stat").write_text("1 (init) S 0 " + "0 " * 40)
    assert is_gone(hidden, tmp_path)


NAMES = st.binary(min_size=1, max_size=15).filter(lambda name: b"\0" not in name)


@given(name=NAMES)
@example(name="prüfungsläufüb".encode()[:15])
@example(name=b") Z 7 7 (")
def test_names_of_other_processes_decide_nothing(name: bytes) -> None:
    """A process chooses its name; Linux cuts it after 15 bytes, within a letter too."""
    with TemporaryDirectory() as folder:
        proc = Path(folder)
        for below in ("sys/kernel/random", "self/ns", "1", "7"):
            (proc / below).mkdir(parents=True)
        (proc / "sys/kernel/random/boot_id").write_text("boot")
        (proc / "self/ns/pid").symlink_to("pid:[4026531836]")
        (proc / "1/stat").write_text("1 (init) S 0 " + "0 " * 40)
        (proc / "7/stat").write_bytes(b"7 (" + name + b") S 1 7 " + b"5 " * 40)
        dead = bytes(8) + processes.machine(proc) + b"mark"
        assert is_gone(dead, proc)
        alive = bytes(8) + processes.machine(proc) + processes.process(7, proc)
        assert not is_gone(alive, proc)
        assert list(processes.children(1, proc)) == [7]
        with patch.object(launch, "PROCESSES", proc):
            assert launch.has_living(7)
            assert not launch.has_living(8)


def test_a_system_that_tells_nothing_of_its_processes(tmp_path: Path) -> None:
    owner = liveness.new_owner_id(tmp_path)
    assert len(owner) == 16
    assert not is_gone(owner, tmp_path)
