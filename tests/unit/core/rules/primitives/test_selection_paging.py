"""A get or a browse of what is paged out ends, whatever it asks for, and finds what it would in
memory.

Pages leave memory again between two reads, as they may while a request waits.
"""

from itertools import product
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from adapter.core.contract import commands as c
from adapter.core.contract.details import IN_GROUP, LAST_SEGMENT, SEGMENT, Details
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Messages, PutDone, Refused, Result
from tests.support.core import IN_OUT, Core
from tests.support.examples import examples

COUNT = 150
REFUSED = b"refused"
WINDOW = 16
PLAIN, SELECTING = 1, 2
"""Handles: the second one is open for what is red."""
IDS = ("message_id", "correlation_id", "group_id")
WAYS = ("get", "browse first", "browse next", "browse unmarked")
PER_EXAMPLE = 4


def backlog(seed: int) -> list[MessageData]:
    """Messages of some groups and segmented messages, of which many lack one, in any order."""
    random, found = Random(seed), []
    for group in range(1, COUNT):
        parts = _group(random, bytes([group]) * 24)
        if len(parts) > 1 and random.random() < 0.5:
            del parts[random.randrange(len(parts))]
        found += parts
        if len(found) >= COUNT:
            break
    random.shuffle(found)
    for number, message in enumerate(found):
        message.body = message.body or b"%d" % number
        message.message_id = number.to_bytes(24, "big")
        message.correlation_id = random.choice((b"a", b"b")) * 24
        message.properties = {"colour": random.choice(("red", "blue"))}
        message.priority = random.choice((3, 3, 5))
    return found


def _group(random: Random, group_id: bytes) -> list[MessageData]:
    """A group, whose messages may be segmented, or messages that belong to none."""
    size = random.choice((1, 2, 5, 30))
    if random.random() < 0.2:
        return [MessageData() for _ in range(size)]
    parts = []
    for number in range(1, size + 1):
        segments = random.choice((0, 0, 0, 2, 3))
        for at in range(max(1, segments)):
            flags = SEGMENT * bool(segments) | LAST_SEGMENT * (at + 1 == segments) | IN_GROUP
            details = Details(flags=flags, offset=2 * at if segments else 0)
            body = b"xy" if segments else b""
            last = number == size
            parts.append(MessageData(body, b"", b"", group_id, number, last, details=details))
    return parts


class Paged:
    """A queue with a backlog of which little is in memory; window: how much of each lane."""

    def __init__(self, seed: int, window: int) -> None:
        self.core = Core(Limits(window_messages=window, unit_messages=COUNT * 2))
        self.client = self.core.connect()
        self.client.define()
        modes = IN_OUT | c.CO_OP
        assert not isinstance(self.client.do(c.Open(PLAIN, "Q", modes)), Refused)
        red = c.Open(SELECTING, "Q", modes, selection="colour = 'red'")
        assert not isinstance(self.client.do(red), Refused)
        self.messages = backlog(seed)
        unit = self.client.begin()
        put = msgspec.structs.replace
        copies = [
            put(one, details=put(one.details) if one.details else None) for one in self.messages
        ]
        assert isinstance(self.client.do(c.Put(PLAIN, copies, unit)), PutDone)
        self.client.do(c.Commit(unit))
        self.core.reads_pages = False
        self.core.evict()

    def _read(self, key: tuple[str, int, str]) -> None:
        self.core.read_page(key)
        self.core.evict()

    def ask(self, command: c.Command) -> Result:
        """Ask, and read what is wanted until there is an answer."""
        paged = self.core.queue().paged_count
        request, pages = self.client.send(command), 0
        while self.client.answer(request) is None:
            assert pages <= paged, f"{pages} pages for {paged} messages: {command}"
            self._read(next(iter(self.core.to_read)))
            pages += 1
        for key in list(self.core.to_read):
            self._read(key)
        answer = self.client.answer(request)
        assert answer is not None
        return answer

    def find(self, way: str, handle: int, asked: dict[str, Any]) -> list[bytes]:
        """Find by a command; nothing has changed then, but for cursors and marks."""
        if way == "get":
            unit = self.client.begin()
            answer = self.ask(c.Get(handle, unit, **asked))
            self.ask(c.Backout(unit))
        else:
            first = way != "browse next"
            asked["options"] |= (c.UNMARKED | c.MARK_CO_OP) * (way == "browse unmarked")
            answer = self.ask(c.Browse(handle, restart=first, **asked))
        if isinstance(answer, Refused):
            assert answer.reason is Reason.MATCH_OPTIONS_ERROR, "it goes on with another group"
            return [REFUSED]
        assert isinstance(answer, Messages), answer
        return [one.message.message_id for one in answer.messages]


WHOLE = (
    *(0, c.LOGICAL_ORDER, c.ALL_MESSAGES, c.ALL_SEGMENTS, c.COMPLETE),
    *(c.LOGICAL_ORDER | c.ALL_MESSAGES, c.LOGICAL_ORDER | c.ALL_SEGMENTS),
    *(c.LOGICAL_ORDER | c.COMPLETE, c.LOGICAL_ORDER | c.ALL_MESSAGES | c.COMPLETE),
)
COMBINATIONS = [
    (way, handle, ids, match, whole)
    for way, handle, ids, match, whole in product(
        WAYS,
        (PLAIN, SELECTING),
        [tuple(name for at, name in enumerate(IDS) if bits >> at & 1) for bits in range(8)],
        (0, c.MATCH_GROUP_SEQ, c.MATCH_OFFSET, c.MATCH_GROUP_SEQ | c.MATCH_OFFSET),
        WHOLE,
    )
    if not (whole and way == "browse unmarked")
]
"""How it is found, by which handle, by which ids, number and offset, and what is to be whole."""


@settings(max_examples=examples(60), phases=[Phase.generate])
@given(
    st.integers(0, 1_000),
    st.lists(
        st.tuples(st.sampled_from(COMBINATIONS), st.integers(0, COUNT - 1)),
        min_size=PER_EXAMPLE,
        max_size=PER_EXAMPLE,
    ),
)
def test_a_request_ends_and_finds_what_it_would_in_memory(
    seed: int, asked: list[tuple[tuple[str, int, tuple[str, ...], int, int], int]]
) -> None:
    paged, whole = Paged(seed, WINDOW), Paged(seed, 10 * COUNT)
    assert paged.core.queue().paged_count > COUNT // 3
    assert not whole.core.queue().paged_count
    for (way, handle, ids, match, options), at in asked:
        like = paged.messages[at % len(paged.messages)]
        given_ids = {name: getattr(like, name) or bytes(24) for name in ids}
        fields = {"group_seq": like.group_seq, "offset": like.offset, "options": match | options}
        found = [one.find(way, handle, {**given_ids, **fields}) for one in (paged, whole)]
        assert found[0] == found[1], (way, handle, ids, match, options, at)


@pytest.mark.parametrize("way", ["get", "browse first", "browse next"])
def test_the_last_of_a_long_group_is_found_at_once(way: str) -> None:
    """By its number in the group: not by reading all of the group."""
    paged = Paged(0, WINDOW)
    unit = paged.client.begin()
    group = [MessageData(b"", group_id=b"g" * 24, group_seq=at + 1) for at in range(COUNT)]
    assert isinstance(paged.ask(c.Put(PLAIN, group, unit)), PutDone)
    paged.ask(c.Commit(unit))
    paged.core.evict()
    asked = {"group_id": b"g" * 24, "group_seq": COUNT - 1, "options": c.MATCH_GROUP_SEQ}
    assert len(paged.find(way, PLAIN, dict(asked))) == 1
    before = paged.core.pages
    paged.core.evict()
    assert len(paged.find("get", PLAIN, dict(asked) | {"group_seq": COUNT - 20})) == 1
    assert paged.core.pages - before <= 1
