"""How long a statement waits that is given again and again, because connections are lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from adapter.core.contract import broker as b
from adapter.core.contract.results import Descriptions, Messages
from adapter.errors import BackedOut
from adapter.servicebroker import statements

UNTIL_LINKED, UNTIL_LOST = st.floats(0, 3), st.floats(0, 3)
"""Seconds: until a statement is sent, and from then on until its connection is lost."""


class Unit:
    id = b"u" * 24


class Unlucky(statements.Statements):
    """A session whose connections are lost. sent: the time and the wait of each statement."""

    lock_timeout_ms = -1
    _may_repeat = True

    def __init__(self, outages: list[tuple[float, float]]) -> None:
        self.now_s = 100.0
        self.sent: list[tuple[float, int]] = []
        self._outages = outages

    @contextmanager
    def _unit(self) -> Iterator[tuple[Any, Any]]:
        if self._outages:
            self.now_s += self._outages[0][0]
        yield None, Unit()

    def perform(self, _channel: Any, _unit: Any, requests: list[Any], *_: Any) -> Any:
        command = requests[0].command
        self.sent.append((self.now_s - 100.0, command.wait_ms))
        if self._outages:
            self.now_s += self._outages.pop(0)[1]
            raise BackedOut("the connection was lost")
        return Messages([]) if isinstance(command, b.BrokerReceive) else Descriptions([])


@given(
    st.lists(st.tuples(UNTIL_LINKED, UNTIL_LOST), max_size=statements.ATTEMPTS_MAX - 1),
    st.sampled_from([-1, 0, 1, 500, 4_000]),
    st.booleans(),
)
def test_it_waits_until_its_time_is_over_whatever_is_lost(
    outages: list[tuple[float, float]], timeout_ms: int, is_receive: bool
) -> None:
    at = Unlucky(list(outages))
    with (
        patch.object(statements, "perform", at.perform),
        patch("time.monotonic", lambda: at.now_s),
    ):
        if is_receive:
            assert at.receive("Q", timeout_ms=timeout_ms) == []
        else:
            assert at.get_conversation_group("Q", timeout_ms=timeout_ms) is None
    assert len(at.sent) == len(outages) + 1
    for then_s, wait_ms in at.sent:
        if timeout_ms <= 0:
            assert wait_ms == timeout_ms
        else:
            left_ms = timeout_ms - then_s * 1000
            assert 1 <= wait_ms <= max(left_ms, 0) + 1
