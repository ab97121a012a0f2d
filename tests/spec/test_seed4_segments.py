"""Seed 4, S4.65-S4.67: a message that is cut into segments as it is put."""

from collections.abc import Iterator

import pytest

from adapter.core.contract.details import LAST_SEGMENT, SEGMENT, SEGMENTATION_ALLOWED, Details
from tests.support.trigger_site import Site, site

LONGEST = 40
"""Of a message on the queue: segments of 32 bytes are cut from longer ones."""
IN_THREE = b"x" * 96
GROUP = b"G".ljust(24, b"\0")


@pytest.fixture
def at() -> Iterator[Site]:
    with site() as made:
        yield made


def put_in_three(at: Site, name: str = "Q", **fields: object) -> None:
    """One MQPUT that the queue manager cuts into three segments."""
    cut = Details(flags=SEGMENTATION_ALLOWED)
    at.app.put(name, IN_THREE, details=cut, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("trigger_type", ["FIRST", "EVERY", "DEPTH"])
def test_s4_65_no_event_before_all_segments_are_there(at: Site, trigger_type: str) -> None:
    """S4.65: if MQPUT segments the message, trigger events are not processed before all segments
    are on the queue: whoever is started by it finds them all."""
    at.define(max_message_length=LONGEST, trigger_type=trigger_type, trigger_depth=1)
    put_in_three(at)
    message = at.initiation.get()
    assert message is not None
    with at.serving() as server:
        found = [server.get(), server.get(), server.get()]
    assert [len(one.body) for one in found if one is not None] == [32, 32, 32]


def test_s4_65_in_a_transaction_neither(at: Site) -> None:
    """S4.65: held by a unit, it is one event too, and comes when the unit ends."""
    at.define(max_message_length=LONGEST, trigger_type="EVERY")
    unit = at.app.unit()
    unit.begin()
    put_in_three(at, unit=unit)
    assert at.triggered() == []
    assert at.app.queue("Q").depth() == 3
    unit.commit()
    assert at.triggered() == ["Q"]


def test_s4_65_segments_that_an_application_puts_are_puts_of_their_own(at: Site) -> None:
    """S4.65: an application that puts three segments itself puts three times: that is outside."""
    at.define(trigger_type="EVERY")
    for offset, flag in ((0, SEGMENT), (4, SEGMENT), (8, LAST_SEGMENT)):
        at.put(group_id=GROUP, details=Details(flags=flag, offset=offset))
        assert at.triggered() == ["Q"]


def test_s4_66_each_segment_counts_as_a_message_of_its_own(at: Site) -> None:
    """S4.66: once they are on the queue each segment is an independent message for triggering:
    later counting sees three: conditions 3, 10, 11 and 12."""
    at.define(max_message_length=LONGEST, trigger_type="DEPTH", trigger_depth=5)
    put_in_three(at)
    assert at.triggered() == []
    at.put()
    assert at.triggered() == []
    at.put()  # 3: it is the fifth
    assert at.triggered() == ["Q"]
    at.put()  # 10
    assert at.triggered() == ["Q"]
    at.alter(trigger_depth=6)  # 12a
    assert at.triggered() == ["Q"]
    with at.serving() as server:
        assert server.get() is not None
    assert at.triggered() == []  # 11: one segment has gone, five messages are left
    at.alter(trigger_depth=5)
    assert at.triggered() == ["Q"]


@pytest.mark.parametrize(("depth", "fires"), [(1, True), (2, True), (3, True), (4, False)])
def test_s4_66_the_depth_is_reached_by_crossing_it(at: Site, depth: int, fires: bool) -> None:
    """S4.66: three at once reach a depth that is one of them, or between."""
    at.define(max_message_length=LONGEST, trigger_type="DEPTH", trigger_depth=depth)
    put_in_three(at)
    assert at.triggered() == (["Q"] if fires else [])


@pytest.mark.parametrize("trigger_type", ["FIRST", "EVERY", "DEPTH"])
def test_s4_67_one_logical_message_is_one_event(at: Site, trigger_type: str) -> None:
    """S4.67: one logical message, segmented into three by the first MQPUT, gives one trigger event:
    exactly one, after the third segment is stored."""
    at.define(max_message_length=LONGEST, trigger_type=trigger_type, trigger_depth=3)
    put_in_three(at)
    assert at.triggered() == ["Q"]
    assert at.app.queue("Q").depth() == 3
