"""The heaps of conversation groups: what they cost does not grow with what has been received."""

from collections.abc import Iterator

import pytest

from adapter.core.contract.records import ConversationSet
from adapter.core.model.conversations import SWEEP_AT, ConversationGroups, Endpoint

ROUNDS = 2_000
OWN = b"group of its own"


class Endpoints:
    """Conversation groups whose messages come and go."""

    def __init__(self) -> None:
        self.there: set[int] = set()
        self.groups = ConversationGroups(self.there.__contains__)
        self._rows = 0

    def begin(self, handle: bytes, group: bytes, priority: int = 5) -> Endpoint:
        """Add an endpoint."""
        names = ("broker$\\q", "S", "T", "", "DEFAULT")
        state = ConversationSet(handle, handle, group, *names, True, priority)
        endpoint = Endpoint(state, self.groups.need(group))
        self.groups.add(endpoint)
        return endpoint

    def put(self, endpoint: Endpoint) -> int:
        """Let a message come."""
        self._rows += 1
        self.there.add(self._rows)
        self.groups.add_row(endpoint, self._rows)
        return self._rows

    def received(self) -> Iterator[int]:
        """Receive everything, in the order of the heaps."""
        while (group := self.groups.next()) is not None:
            endpoint = self.groups.first_of(group)
            assert endpoint is not None, "next() says that the group has rows"
            row = endpoint.first(self.there.__contains__)
            assert row is not None, "first_of() says that the endpoint has rows"
            self.there.remove(row)
            yield row


@pytest.mark.parametrize("group", [OWN, b""], ids=["of one group", "of a group each"])
def test_a_message_that_nobody_receives_costs_no_memory(group: bytes) -> None:
    """Others are received by their handle meanwhile, and their conversations end."""
    at = Endpoints()
    waiting = [at.put(at.begin(b"waits", OWN))]
    for number in range(ROUNDS):
        handle = number.to_bytes(16, "big")
        endpoint = at.begin(handle, group or handle)
        at.there.remove(at.put(endpoint))
        at.groups.remove(endpoint)
    lengths = len(at.groups._offers.heap), *(len(one.heap) for one in at.groups)
    assert max(lengths) <= SWEEP_AT + 1
    waiting += [at.put(at.begin(b"later", group or b"later"))]
    assert list(at.received()) == waiting


def test_nothing_is_forgotten_while_heaps_are_made_anew() -> None:
    """Many groups have rows; those of one are received by handle again and again."""
    at = Endpoints()
    waiting = [at.put(at.begin(b"%d" % n, b"group %d" % (n // 3))) for n in range(3 * SWEEP_AT)]
    busy = at.begin(b"busy", b"group 0")
    for _ in range(ROUNDS):
        at.there.remove(at.put(busy))
    waiting.append(at.put(busy))
    assert sorted(at.received()) == waiting
    assert len(at.groups._offers.heap) == 0


@pytest.mark.parametrize("backlog", [1, 30, 150, 700])
def test_what_has_left_for_a_far_service_that_always_has_a_backlog_is_forgotten(
    backlog: int,
) -> None:
    at = Endpoints()
    endpoint = at.begin(b"sends", OWN)
    looks = 0

    def is_there(seq: int) -> bool:
        nonlocal looks
        looks += 1
        return seq in at.there

    for seq in range(20 * ROUNDS):
        at.there.add(seq)
        endpoint.add_waiting(seq, is_there)
        at.there.discard(seq - backlog)
        assert len(endpoint.waiting) <= max(SWEEP_AT, 2 * backlog + 2)
    assert {one for one in endpoint.waiting if one in at.there} == at.there
    assert looks < 5 * 20 * ROUNDS
    assert endpoint.waits(is_there)
