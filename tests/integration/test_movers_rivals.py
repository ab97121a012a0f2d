"""Movers of one queue manager that start at the same moment, their steps mixed on purpose."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer

from adapter.storage.movers import transactions
from adapter.storage.movers.errors import Fenced
from adapter.storage.movers.transactions import AlternatingProducers, of_mover
from adapter.storage.topics.specs import progress_spec
from tests.support.mover_place import WAIT_S, MoverPlace

ORDERS = ("a0 a1 b0 b1", "a0 b0 a1 b1", "a0 b0 b1 a1", "b0 a0 a1 b1", "b0 a0 b1 a1")


class Order:
    """Lets steps happen in a given order, whatever threads they belong to."""

    def __init__(self, steps: str) -> None:
        self._left = steps.split()
        self._changed = threading.Condition()

    def take(self, step: str, act: Callable[[], None]) -> None:
        """Wait for the turn of a step, and do it."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._left[0] == step, WAIT_S), self._left
            act()
            self._left.pop(0)
            self._changed.notify_all()


def start_both(
    place: MoverPlace, steps: str, monkeypatch: pytest.MonkeyPatch
) -> dict[str, AlternatingProducers]:
    """Let movers a and b initialise their two ids each, in this order."""
    order = Order(steps)

    class Stepped(Producer):
        """A real producer that waits for its turn to initialise."""

        def __init__(self, settings: dict[str, Any]) -> None:
            super().__init__(settings)
            self._step = threading.current_thread().name + settings["transactional.id"][-1]

        def init_transactions(self, timeout: float = WAIT_S) -> None:
            order.take(self._step, lambda: super(Stepped, self).init_transactions(timeout))

    monkeypatch.setattr(transactions, "Producer", Stepped)
    both = {name: AlternatingProducers(of_mover(place.settings, "stream")) for name in "ab"}
    threads = [threading.Thread(target=turns.renew, name=name) for name, turns in both.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
        assert not thread.is_alive()
    return both


def transact(place: MoverPlace, turns: AlternatingProducers, text: str) -> None:
    turns.begin().produce(place.settings.progress_topic, text, "key", 0)
    turns.commit()


def fenced_at(place: MoverPlace, turns: AlternatingProducers, name: str) -> int:
    """How many transactions succeed before one is refused; 3 if none is."""
    for number in range(3):
        try:
            transact(place, turns, f"{name}{number}")
        except Fenced:
            return number
    return 3


@pytest.mark.parametrize("steps", ORDERS)
@pytest.mark.parametrize("first", ["a", "b"])
def test_whoever_has_not_the_first_id_writes_nothing(
    place: MoverPlace, monkeypatch: pytest.MonkeyPatch, steps: str, first: str
) -> None:
    """So what both read as progress, when both have initialised, only one may go on from."""
    place.topics.ensure([progress_spec(place.settings.progress_topic, 2)])
    both = start_both(place, steps, monkeypatch)
    second = "b" if first == "a" else "a"
    written = {name: fenced_at(place, both[name], name) for name in (first, second)}
    has_first = max("ab", key=lambda name: steps.index(f"{name}0"))
    has_second = max("ab", key=lambda name: steps.index(f"{name}1"))
    other = "b" if has_first == "a" else "a"
    assert written == {has_first: 3 if has_first == has_second else 1, other: 0}
    place.await_settled(place.settings.progress_topic, 1)
    values = [record.value() for record in place.read(place.settings.progress_topic)]
    assert values == [b"%s%d" % (has_first.encode(), n) for n in range(written[has_first])]
    for turns in both.values():
        turns.close()
