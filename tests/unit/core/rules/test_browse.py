"""Browse: the cursor, what it shows and what it does not."""

import pytest

from adapter.core import commands as c
from adapter.core.reasons import Reason
from adapter.core.results import Messages
from adapter.core.rules.get import BYTES_PER_GET_MAX
from adapter.wire import frames
from tests.support.core import client_on


def test_the_cursor_goes_from_the_first_to_the_last() -> None:
    client = client_on()
    client.put("low", priority=1)
    client.put("high", priority=9)
    client.put("low too", priority=1)
    assert [client.browse() for _ in range(4)] == [["high"], ["low"], ["low too"], []]
    assert client.browse(restart=True, limit=10) == ["high", "low", "low too"]
    assert [client.browse(), client.browse()] == [[], []], "the end is no beginning"


def test_what_arrives_behind_the_cursor_is_seen_after_a_restart_only() -> None:
    client = client_on()
    client.put("low", priority=1)
    assert client.browse() == ["low"]
    client.put("high", priority=9)
    client.put("low too", priority=1)
    assert client.browse(limit=10) == ["low too"]
    assert client.browse(restart=True) == ["high"]


def test_each_handle_has_a_cursor_of_its_own() -> None:
    client = client_on()
    client.open(handle=2)
    client.put("a")
    client.put("b")
    assert client.browse(handle=1) == ["a"]
    assert client.browse(handle=2) == ["a"]
    assert client.browse(handle=1) == ["b"]


def test_nothing_is_removed_and_no_count_rises() -> None:
    client = client_on()
    client.put("a")
    client.browse()
    (got,) = client.take()
    assert got.message.body == b"a"
    assert got.backout_count == 0


def test_what_units_hold_is_not_seen() -> None:
    client = client_on()
    client.put("got")
    client.put("stays")
    unit = client.begin()
    assert client.get(unit) == ["got"]
    client.put("uncommitted", unit=unit)
    assert client.browse(restart=True, limit=10) == ["stays"]
    client.do(c.Backout(unit))
    assert client.browse(restart=True, limit=10) == ["got", "stays"]


def test_ids_select() -> None:
    client = client_on()
    client.put("a1", correlation_id=b"a" * 24, priority=1)
    client.put("b", correlation_id=b"b" * 24, priority=5)
    client.put("a2", correlation_id=b"a" * 24, priority=2)
    assert client.browse(correlation_id=b"a" * 24) == ["a2"]
    assert client.browse(correlation_id=b"a" * 24) == ["a1"]
    assert client.browse(correlation_id=b"a" * 24) == []


def test_an_expired_message_is_not_shown() -> None:
    client = client_on()
    client.put("short", expiry_ms=1000)
    client.put("long")
    client.core.now_ms += 1000
    assert client.browse(limit=10) == ["long"]


def test_a_batch_of_messages_with_properties_still_is_one_frame() -> None:
    client = client_on()
    for _ in range(40):
        client.put("", properties={"p": "x" * (BYTES_PER_GET_MAX // 16)})
    sizes = [-1]
    while sizes[-1]:
        answer = client.do(c.Browse(1, limit=10_000))
        assert isinstance(answer, Messages)
        assert len(frames.encode(frames.Replies([frames.Answer(1, answer)]))) <= BYTES_PER_GET_MAX
        sizes.append(len(answer.messages))
    assert sum(sizes) == 40 - 1


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (c.Browse(7), Reason.HANDLE_NOT_OPEN),
        (c.Browse(2), Reason.NOT_OPEN_FOR_BROWSE),
        (c.Browse(1, limit=0), Reason.OPTIONS_ERROR),
        (c.Browse(1, limit=10_001), Reason.OPTIONS_ERROR),
        (c.Browse(1, message_id=b"short"), Reason.IDENTIFIER_ERROR),
    ],
)
def test_what_is_refused(command: c.Browse, reason: Reason) -> None:
    client = client_on()
    client.open(modes=c.INPUT, handle=2)
    assert client.refused(command) is reason


def test_an_inhibited_queue_is_not_browsed() -> None:
    client = client_on()
    client.do(c.AlterQueue("Q", {"inhibit_get": True}))
    assert client.refused(c.Browse(1)) is Reason.GET_INHIBITED
