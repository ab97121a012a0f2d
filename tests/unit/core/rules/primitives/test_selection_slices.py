"""A selection that costs much is judged in slices: no step of core looks at all messages."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Messages, Refused
from adapter.core.effects import Effects
from adapter.core.model import selector
from adapter.core.model.indexes import USED_MAX
from adapter.core.model.like import like
from tests.support.core import IN_OUT, Client, Core

PATTERN = "%" + "a_" * 2_500 + "c%"
SELECTION = f"s LIKE '{PATTERN}'"
LONG = "a" * 20_000
PLAIN, SELECTING = 1, 2
PER_STEP = 8
"""Looks at such messages: one is what a request may cost, and a slice is some."""


class CountingCore(Core):
    """A core that notes how often texts were compared with patterns in each step."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self.looks = 0
        self.most = 0
        self.together = 0

    def give(self, given: inputs.Input) -> Effects:
        before = self.looks
        effects = super().give(given)
        self.most = max(self.most, self.looks - before)
        self.together += self.looks - before
        return effects


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> CountingCore:
    core = CountingCore(Limits(window_messages=64))
    known = like

    def counted(pattern: str, escape: str = "") -> Callable[[str], bool]:
        matches = known(pattern, escape)

        def match(text: str) -> bool:
            core.looks += 1
            return matches(text)

        return match

    monkeypatch.setattr(selector, "like", counted)
    return core


def opened(core: Core) -> Client:
    client = core.connect()
    client.define()
    assert not isinstance(client.do(c.Open(PLAIN, "Q", IN_OUT)), Refused)
    return client


def select(client: Client, selection: str = SELECTION, handle: int = SELECTING) -> None:
    assert not isinstance(client.do(c.Open(handle, "Q", IN_OUT, selection=selection)), Refused)


def put(client: Client, text: str, body: bytes = b"") -> None:
    client.do(c.Put(PLAIN, [MessageData(body, properties={"s": text})]))


def bodies(client: Client, command: c.Get | c.Browse) -> list[bytes]:
    found = client.do(command)
    assert isinstance(found, Messages), found
    return [one.message.body for one in found.messages]


@pytest.mark.parametrize("count", [40, 300], ids=["in memory", "mostly paged out"])
def test_a_get_looks_at_many_messages_in_many_steps(core: CountingCore, count: int) -> None:
    client = opened(core)
    for _ in range(count):
        put(client, LONG)
    put(client, LONG + "zc", b"the one")
    select(client)
    assert bodies(client, c.Get(SELECTING)) == [b"the one"]
    assert core.most <= PER_STEP
    assert count < core.together <= 2 * count  # each is looked at about once


def test_a_get_by_id_and_selection_too(core: CountingCore) -> None:
    client = opened(core)
    for number in range(40):
        ident = bytes([number]) * 24
        message = MessageData(b"%d" % number, correlation_id=ident, properties={"s": LONG + "zc"})
        client.do(c.Put(PLAIN, [message]))
    select(client)
    wanted = c.Get(SELECTING, correlation_id=bytes([17]) * 24)
    assert bodies(client, wanted) == [b"17"]
    assert core.most <= PER_STEP


def test_a_put_looks_at_nothing_that_costs_much(core: CountingCore) -> None:
    client = opened(core)
    select(client)
    put(client, LONG + "zc", b"first")
    assert bodies(client, c.Get(SELECTING)) == [b"first"]
    before = core.looks
    put(client, LONG + "zc", b"second")
    put(client, LONG, b"third")
    assert core.looks == before
    assert bodies(client, c.Get(SELECTING)) == [b"second"]


def test_a_message_is_judged_once_for_all_ids_that_are_asked_for_with_a_selection(
    core: CountingCore,
) -> None:
    client = opened(core)
    select(client)
    some = b"i" * 24
    asked: list[dict[str, bytes]] = [
        {"message_id": some},
        {"correlation_id": some},
        {"message_id": some, "group_id": some},
        {"correlation_id": some, "group_id": some},
    ]
    for ids in asked:
        assert bodies(client, c.Get(SELECTING, **ids)) == []  # type: ignore[arg-type]
    before = core.looks
    message = MessageData(b"a", message_id=some, correlation_id=some, properties={"s": LONG + "zc"})
    client.do(c.Put(PLAIN, [message]))
    assert core.looks == before + 1
    for number in range(USED_MAX + 1):
        wanted = c.Get(PLAIN, group_seq=number + 2, options=c.MATCH_GROUP_SEQ)
        assert bodies(client, wanted) == []
    before = core.looks
    put(client, LONG + "zc")
    assert core.looks == before, "nothing asks for the selection any more"
    assert bodies(client, c.Get(SELECTING, message_id=some)) == [b"a"]


def test_a_get_that_waits_gets_what_is_judged_later(core: CountingCore) -> None:
    client = opened(core)
    select(client)
    waiting = client.send(c.Get(SELECTING, wait_ms=60_000))
    put(client, LONG)
    assert client.answer(waiting) is None
    put(client, LONG + "zc", b"it")
    answer = client.answer(waiting)
    assert isinstance(answer, Messages)
    assert [one.message.body for one in answer.messages] == [b"it"]


def test_what_is_got_or_comes_back_before_it_is_judged_is_found_once(core: CountingCore) -> None:
    client = opened(core)
    select(client)
    for number in range(6):
        put(client, LONG + "zc", b"%d" % number)
    unit = client.begin()
    assert bodies(client, c.Get(PLAIN, unit=unit)) == [b"0"]
    assert bodies(client, c.Get(PLAIN)) == [b"1"]
    client.do(c.Backout(unit))
    assert [bodies(client, c.Get(SELECTING)) for _ in range(5)] == [
        *([b"0"], [b"2"], [b"3"], [b"4"], [b"5"])
    ]


def test_selections_of_a_queue_are_bounded_together(core: CountingCore) -> None:
    client = opened(core)
    lengths = []
    for number in range(20):
        selection = f"s LIKE '{'a_' * 4_000}{number}'"
        answer = client.do(c.Open(10 + number, "Q", IN_OUT, selection=selection))
        lengths.append(not isinstance(answer, Refused))
    assert isinstance(answer, Refused)
    assert answer.reason == Reason.LIMIT_REACHED
    assert "shorter selections" in answer.detail
    assert sum(lengths) == 8
    assert all(first or not second for first, second in pairwise(lengths))
