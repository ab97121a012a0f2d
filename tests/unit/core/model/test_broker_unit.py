"""A unit's conversations and its savepoints, against a model that copies all at each of them."""

import random

import pytest
from msgspec import structs

from adapter.core.contract.broker_header import BrokerHeader
from adapter.core.contract.message import MessageData
from adapter.core.model.broker_unit import BrokerWork, EndpointChange
from adapter.core.model.unit_mark import UnitMark
from tests.support.steps import operations

HANDLES = [bytes([n]) * 16 for n in range(4)]
SIDES = [(handle, is_initiator) for handle in HANDLES[:2] for is_initiator in (True, False)]
NAMES = ["a", "b", "c"]
MARK = UnitMark([], 0, [], 0, 0)


def message(side: tuple[bytes, bool], number: int) -> MessageData:
    header = BrokerHeader(conversation=side[0], from_initiator=side[1])
    return MessageData(b"%d" % number, broker=header)


def work() -> BrokerWork:
    return BrokerWork(lambda *_: ([], list), lambda *_: [])


class Model:
    """What is sent and changed, whole, at each savepoint."""

    def __init__(self) -> None:
        self.sends: list[MessageData] = []
        self.changes: dict[bytes, EndpointChange] = {}
        self.saved: dict[str, tuple[list[MessageData], dict[bytes, EndpointChange]]] = {}

    def save(self, name: str) -> None:
        self.saved.pop(name, None)
        copies = {handle: structs.replace(one) for handle, one in self.changes.items()}
        self.saved[name] = list(self.sends), copies

    def return_to(self, name: str) -> tuple[list[MessageData], list[MessageData]]:
        before = self.sends
        sends, changes = self.saved[name]
        self.sends = list(sends)
        self.changes = {handle: structs.replace(one) for handle, one in changes.items()}
        while next(reversed(self.saved)) != name:
            self.saved.popitem()
        now, were = {id(one) for one in self.sends}, {id(one) for one in before}
        lost = [one for one in before if id(one) not in now]
        return lost, [one for one in self.sends if id(one) not in were]


@pytest.mark.parametrize("seed", range(300))
def test_savepoints_are_as_if_all_had_been_copied(seed: int) -> None:
    draw, real, model = random.Random(seed), work(), Model()
    for number in range(60):
        action = draw.choice(["send", "send", "drop", "change", "change", "save", "return"])
        if action == "send":
            one = message(draw.choice(SIDES), number)
            real.sends.add(one)
            model.sends.append(one)
        elif action == "drop":
            side = draw.choice(SIDES)
            lost = [
                one
                for one in model.sends
                if one.broker and (one.broker.conversation, one.broker.from_initiator) == side
            ]
            model.sends = [one for one in model.sends if one not in lost]
            assert real.sends.drop(side) == lost
        elif action == "change":
            handle = draw.choice(HANDLES)
            real.change(handle).sent += 1
            model.changes.setdefault(handle, EndpointChange()).sent += 1
        elif action == "save":
            name = draw.choice(NAMES)
            real.save(name, MARK)
            model.save(name)
        elif model.saved:
            name = draw.choice(list(model.saved))
            assert real.return_to(name) == model.return_to(name)
        assert list(real.sends) == model.sends
        assert len(real.sends) == len(model.sends)
        assert real.changes == model.changes
        assert list(real.savepoints) == list(model.saved)


def cost_of(count: int) -> int:
    """Begin and send in so many conversations, with a savepoint for each, and end them all with an
    error.
    """
    real = work()
    sides = [(n.to_bytes(16, "big"), True) for n in range(count)]

    def all_of_it() -> None:
        for number, side in enumerate(sides):
            real.sends.add(message(side, number))
            real.change(side[0]).sent += 1
            real.save("again", MARK)
        for side in sides:
            real.sends.drop(side)

    return operations(all_of_it)


def test_each_end_and_each_savepoint_takes_what_it_takes_alone() -> None:
    assert cost_of(400) < 4.4 * cost_of(100)
