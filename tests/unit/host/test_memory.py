"""Memory of long blocks goes back when they are freed; nothing is left for a collection to find."""

import gc
import subprocess
from collections.abc import Callable
from contextlib import ExitStack, closing

import pytest

import adapter
from adapter import msmq, testing
from adapter.host import launch
from adapter.testing import TestQueueManager

PROGRAM = """
from pathlib import Path
from adapter.host import memory
assert memory.give_back_long_blocks()
MIB = 1024 * 1024
def rss():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
for _time in range(3):
    long = [bytearray(size * MIB) for size in (2, 8, 30)]
    for one in long:
        one[::4096] = b"x" * len(one[::4096])
    del long, one
before = rss()
kept, freed = [], []
for _block in range(100):
    freed.append(bytearray(2 * MIB))
    freed[-1][::4096] = b"x" * 512
    kept.append(bytearray(64 * 1024))
del freed
print(max(0, rss() - before) // MIB)
"""


def test_freed_blocks_are_not_kept_between_others() -> None:
    """200 MiB in blocks with something that stays behind each: without it, they stay all."""
    done = subprocess.run(
        launch.python("-c", PROGRAM), stdout=subprocess.PIPE, text=True, check=True, timeout=60
    )
    assert int(done.stdout) < 20


BURST = """
import gc
from pathlib import Path
from adapter.host import memory
gc.set_threshold(100_000)
memory.give_back_long_blocks()
burst = memory.Burst()
def rss():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 // (1024 * 1024)
messages = [((n, n, n), bytes(200)) for n in range(100_000)]
before = rss()
messages.clear()
def looks(freed):
    return sum(burst.look(freed) for _ in range(3 * memory.CALM_LOOKS))
assert not burst.look(50_000) and not burst.look(100_000), "it goes on"
steady = [freed for freed in range(50_000, 100_001, 1_000) for _ in range(5)]
assert not any(burst.look(freed) for freed in steady), "in portions"
assert looks(100_000) == 1, "once"
assert looks(104_999) == 0, "few"
print(before - rss())
"""


def test_memory_of_a_burst_goes_back_when_it_is_over() -> None:
    done = subprocess.run(
        launch.python("-c", BURST), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20, "MiB"


SINGLE = msmq.MessageQueueTransactionType.SINGLE
TIMES = 20


def units(stack: ExitStack, manager: TestQueueManager) -> Callable[[], None]:
    """Units of puts and gets, one of them backed out, what is refused, and a get that waits."""
    qm = stack.enter_context(manager.connect())
    qm.define_queue("Q")
    queue = qm.queue("Q")

    def work() -> None:
        with qm.unit():
            queue.put("a")
            queue.put("b", wait=False)
        with qm.unit() as unit:
            queue.get()
            unit.backout()
        for got in queue.units(timeout=0.005, prefetch=4, commits=4):
            with got:
                list(queue.browse())
        with pytest.raises(adapter.QueueNotFound):
            qm.get("MISSING")

    return work


def transactions(stack: ExitStack, manager: TestQueueManager) -> Callable[[], None]:
    """Sends, receives and cursors of MSMQ."""
    host = stack.enter_context(manager.connect_msmq())
    queue = host.create(r".\private$\q", transactional=True)

    def work() -> None:
        for _ in range(2):
            queue.send("a", transaction=SINGLE)
        with closing(queue.enumerate()) as found:
            assert found.move_next()
            found.remove_current()
        queue.receive(1, transaction=SINGLE)
        with pytest.raises(msmq.MessageQueueTimeout):
            queue.receive(0)

    return work


def dialogs(stack: ExitStack, manager: TestQueueManager) -> Callable[[], None]:
    """A dialog of Service Broker, from its begin to both ends."""
    broker = stack.enter_context(manager.connect_servicebroker())
    broker.create_message_type("M")
    broker.create_contract("C", {"M": "ANY"})
    for name in "AB":
        broker.create_queue(f"{name}Q")
        broker.create_service(name, f"{name}Q", contracts=["C"])

    def work() -> None:
        with broker.transaction() as transaction:
            handle = transaction.begin_dialog("A", "B", contract="C")
            transaction.send(handle, message_type="M", body="a")
        (row,) = broker.receive("BQ")
        broker.end_conversation(row.conversation_handle)
        assert broker.receive("AQ")
        broker.end_conversation(handle)

    return work


@pytest.mark.parametrize("program", [units, transactions, dialogs])
def test_no_verb_leaves_a_cycle_behind(
    program: Callable[[ExitStack, TestQueueManager], Callable[[], None]],
) -> None:
    """Collections are rare for that reason, and stop the queue manager for long."""
    with testing.queue_manager() as manager, ExitStack() as stack:
        work = program(stack, manager)
        work()
        gc.collect()
        gc.disable()
        try:
            for _ in range(TIMES):
                work()
            assert gc.collect() < TIMES
        finally:
            gc.enable()
