"""Messages go from one queue manager to another while either fails over: each once, in order."""

import threading
from contextlib import ExitStack

import pytest

import adapter
from adapter.runtime.network.memory import MemoryNetwork
from tests.support.memory_pair import MemoryPair, SwallowedReply, memory_pair

COUNT = 300
"""Messages each way."""
WAIT_S = 60.0


class Sender(threading.Thread):
    """Puts 0, 1, 2, ... for a queue of another queue manager, one unit each."""

    def __init__(self, qm: adapter.Connection, to: str) -> None:
        super().__init__(name=f"to {to}", daemon=True)
        self._qm = qm
        self._to = to
        self.put = 0
        self._moved = threading.Condition()
        self._problem: BaseException | None = None

    def run(self) -> None:
        try:
            while self.put < COUNT:
                self._put_one()
        except BaseException as problem:  # noqa: BLE001 -- raised in the test's thread
            self._problem = problem
        with self._moved:
            self._moved.notify_all()

    def _put_one(self) -> None:
        unit = self._qm.unit()
        try:
            with unit:
                self._qm.put("Q", b"%d" % self.put, queue_manager=self._to)
        except adapter.BackedOut:
            return
        with self._moved:
            self.put += 1
            self._moved.notify_all()

    def await_put(self, count: int) -> None:
        with self._moved:
            assert self._moved.wait_for(lambda: self._problem or self.put >= count, WAIT_S)
        if self._problem is not None:
            raise self._problem


@pytest.mark.parametrize("order", [("QM1", "QM2"), ("QM2", "QM1")])
def test_either_queue_manager_fails_over_while_messages_travel(order: tuple[str, str]) -> None:
    network = MemoryNetwork()
    with ExitStack() as ends:
        pairs: dict[str, MemoryPair] = {}
        for name in ("QM1", "QM2"):
            pairs[name] = ends.enter_context(memory_pair(SwallowedReply(), name, network))
        for pair in pairs.values():
            pair.owner._await_known("QM1", "QM2")
        links = {
            name: ends.enter_context(adapter.connect(pair.addresses, reconnect_timeout_s=WAIT_S))
            for name, pair in pairs.items()
        }
        for qm in links.values():
            qm.define_queue("Q", msg_delivery_sequence="FIFO")
        senders = [Sender(links["QM1"], "QM2"), Sender(links["QM2"], "QM1")]
        for sender in senders:
            sender.start()
        for number, name in enumerate(order, 1):
            for sender in senders:
                sender.await_put(number * COUNT // 3)
            pairs[name].fail_over()
        for sender in senders:
            sender.await_put(COUNT)
        for qm in links.values():
            with qm.queue("Q") as queue:
                found = [queue.get(timeout=WAIT_S) for _ in range(COUNT)]
                assert [int(one.body) for one in found if one is not None] == list(range(COUNT))
                assert queue.get(timeout=0.2) is None
