"""What a statement and a restart cost, however many conversations there are."""

import os
import time
from collections.abc import Callable

from adapter.core.attributes.broker import QUEUE, SERVICE
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract.results import Descriptions, Messages, Refused, Result
from tests.support.core import Core

FEW = 1_000
MANY = 12_000
TIMES = 25
RATIO_MAX = 3
"""A heap of twelve times as many entries is a third higher; the rest is what timing needs."""
PER_UNIT = 1_000
WAITING = "Waiting"
Statement = b.BrokerBegin | b.BrokerSend | b.BrokerReceive | b.BrokerMove


class Dialogs:
    """Dialogs from one service to another, whose messages wait."""

    def __init__(self) -> None:
        self.core = Core()
        self.client = self.core.connect()
        for queue, service in ((WAITING, "target"), ("Own", "initiator")):
            self._done(b.BrokerCreate(QUEUE, queue))
            self._done(b.BrokerCreate(SERVICE, service, {"queue": queue, "contracts": b.DEFAULT}))

    def _done(self, command: c.Command) -> Result:
        answer = self.client.do(command)
        assert not isinstance(answer, Refused), answer
        return answer

    def commit(self, *wanted: Statement) -> list[Result]:
        """Do all in one unit."""
        unit = self.client.begin()
        answers = []
        for command in wanted:
            command.unit = unit
            answers.append(self._done(command))
        self._done(c.Commit(unit))
        self.client.seen(*range(max(1, self.client.issued - 1), self.client.issued + 1))
        self.core.answers.clear()
        return answers

    def begin(self, count: int = 1, group: bytes = b"") -> None:
        """Begin so many dialogs, each with a message; group: of all, or each has its own."""
        for at in range(0, count, PER_UNIT):
            wanted: list[Statement] = []
            for _ in range(min(PER_UNIT, count - at)):
                handle = os.urandom(16)
                names = ("initiator", "target", b.DEFAULT)
                own = group or os.urandom(16)
                wanted.append(b.BrokerBegin(b"", handle, *names, 0, b"", own))
                wanted.append(b.BrokerSend(b"", [handle], b.DEFAULT, b"x"))
            self.commit(*wanted)

    def receive(self, group: bytes = b"") -> None:
        """Receive a message."""
        (answer,) = self.commit(b.BrokerReceive(b"", WAITING, 1, b"", group))
        assert isinstance(answer, Messages), answer
        assert len(answer.messages) == 1

    def count(self) -> int:
        """Return how many of the endpoints a page of them shows."""
        answer = self._done(b.BrokerInquire(b.ENDPOINTS, "", "", PER_UNIT))
        assert isinstance(answer, Descriptions), answer
        return len(answer.queues)


def fastest_s(work: Callable[[], object], times: int = TIMES) -> float:
    """Return how long it takes when nothing disturbs it."""
    found = []
    for _ in range(times):
        began_s = time.perf_counter()
        work()
        found.append(time.perf_counter() - began_s)
    return min(found)


def test_a_statement_costs_the_same_however_many_conversations_wait() -> None:
    at = Dialogs()
    at.begin(FEW)
    before = fastest_s(at.begin), fastest_s(at.receive)
    at.begin(MANY - FEW)
    after = fastest_s(at.begin), fastest_s(at.receive)
    assert after[0] < RATIO_MAX * before[0], (before, after)
    assert after[1] < RATIO_MAX * before[1], (before, after)
    assert at.count() == PER_UNIT
    assert fastest_s(at.core.crash, 1) < 30.0
    at.client = at.core.connect()
    at.receive()
    at.core.snapshot()
    assert fastest_s(at.core.crash, 1) < 30.0
    at.client = at.core.connect()
    again_s = fastest_s(at.receive)
    assert again_s < RATIO_MAX * before[1], (before, again_s)


def test_a_statement_costs_the_same_however_many_conversations_a_group_has() -> None:
    at = Dialogs()
    group = os.urandom(16)
    at.begin(FEW // 2, group)
    before_s = fastest_s(lambda: at.begin(1, group))
    _move_all(at, group)
    received_s = fastest_s(lambda: at.receive(group))
    at.begin(MANY // 2, group)
    after_s = fastest_s(lambda: at.begin(1, group))
    assert after_s < RATIO_MAX * before_s, (before_s, after_s)
    _move_all(at, group)
    again_s = fastest_s(lambda: at.receive(group))
    assert again_s < RATIO_MAX * received_s, (received_s, again_s)


def _move_all(at: Dialogs, group: bytes) -> None:
    """Move the conversations that wait into one group."""
    mine = [
        endpoint.state.handle
        for endpoint in at.core.qm.conversations.endpoints.values()
        if not endpoint.state.is_initiator and endpoint.group.ident != group
    ]
    for first in range(0, len(mine), PER_UNIT):
        at.commit(*(b.BrokerMove(b"", one, group) for one in mine[first : first + PER_UNIT]))
