"""Segments: a long message is cut as it is put, and joined as it is got; in one step each time."""

from typing import Any

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.commands import ALL_SEGMENTS, BOUNDED, COMPLETE, LOGICAL_ORDER
from adapter.core.contract.details import (
    IN_GROUP,
    LAST_IN_GROUP,
    LAST_SEGMENT,
    SEGMENT,
    SEGMENTATION_ALLOWED,
    Details,
)
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import NO_ID, MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Messages, PutDone, Refused
from adapter.core.contract.unit_records import UnitCommitted
from adapter.core.model.groups import segment_status
from adapter.storage.format import entries
from tests.support.core import Client, Core, client_on

LONG = "".join(f"{n:04}" for n in range(25))
"""100 bytes; a queue that takes 40 gets three segments of 32, and one of 4."""
GROUP = b"G".ljust(24, b"\0")


@pytest.fixture
def client() -> Client:
    return client_on(max_message_length=40)


def put(client: Client, body: str = LONG, *, unit: bytes = b"", flags: int = 0, **more: Any) -> Any:
    message = MessageData(
        body.encode(), details=Details(flags=SEGMENTATION_ALLOWED | flags), **more
    )
    return client.do(c.Put(1, [message], unit))


def whole(client: Client, unit: bytes = b"", **more: Any) -> list[str]:
    return client.get(unit, options=COMPLETE | more.pop("options", 0), **more)


def test_a_long_message_is_cut(client: Client) -> None:
    assert client.refused(c.Put(1, [MessageData(LONG.encode())])) is Reason.MESSAGE_TOO_LONG
    answer = put(client)
    assert isinstance(answer, PutDone)
    found = [client.take()[0].message for _ in range(4)]
    assert [len(message.body) for message in found] == [32, 32, 32, 4]
    assert [message.offset for message in found] == [0, 32, 64, 96]
    assert "".join(map(segment_status, found)) == "SSSL"
    assert {message.message_id for message in found} == {answer.message_ids[0]}
    assert len({message.group_id for message in found}) == 1
    assert found[0].group_id != NO_ID


def test_what_fits_is_not_cut(client: Client) -> None:
    put(client, "short")
    (one,) = client.take()
    assert (segment_status(one.message), one.message.group_id) == (" ", NO_ID)


def test_all_segments_are_one_record(client: Client) -> None:
    before = len(client.core.entries)
    put(client)
    assert len(client.core.entries) == before + 1
    assert client.core.queue().depth == 4


def test_a_message_comes_whole_as_it_was_put(client: Client) -> None:
    put(client, correlation_id=b"c" * 24, priority=3)
    (one,) = client.take(options=COMPLETE)
    assert one.message.body.decode() == LONG
    assert (one.message.group_id, segment_status(one.message)) == (NO_ID, " ")
    assert (one.message.correlation_id, one.message.priority) == (b"c" * 24, 3)
    assert client.core.queue().depth == 0
    assert client.core.replayed().queues["Q"].depth == 0


def test_in_a_unit_too(client: Client) -> None:
    unit = client.begin()
    put(client, unit=unit)
    assert whole(client) == []
    client.do(c.Commit(unit))
    unit = client.begin()
    assert whole(client, unit) == [LONG]
    client.do(c.Backout(unit))
    (again,) = client.take(options=COMPLETE)
    assert (again.message.body.decode(), again.backout_count) == (LONG, 1)


def test_segments_count_for_depth_and_units() -> None:
    client = client_on(max_message_length=40, max_depth=5, limits=Limits(unit_messages=6))
    put(client)
    assert client.refused(put_of(LONG)) is Reason.QUEUE_FULL
    unit = client.begin()
    client.do(c.AlterQueue("Q", {"max_depth": 100}))
    put(client, unit=unit)
    assert client.refused(c.Put(1, put_of(LONG).messages, unit)) is Reason.UNIT_TOO_LARGE
    assert client.refused(c.Get(1, unit, options=COMPLETE)) is Reason.UNIT_TOO_LARGE
    client.do(c.Backout(unit))
    assert whole(client) == [LONG]


def put_of(body: str) -> c.Put:
    return c.Put(1, [MessageData(body.encode(), details=Details(flags=SEGMENTATION_ALLOWED))])


def test_what_is_not_whole_does_not_come(client: Client) -> None:
    put(client)
    unit = client.begin()
    assert client.get(unit, options=c.MATCH_OFFSET, offset=64) == [LONG[64:96]]
    assert whole(client) == []
    assert client.get(options=ALL_SEGMENTS) == []
    client.put("plain")
    assert whole(client) == ["plain"]
    client.do(c.Backout(unit))
    assert client.get(options=ALL_SEGMENTS) == [LONG[:32]]


@pytest.mark.parametrize("how", ["selection", "group"])
def test_what_is_behind_a_segment_that_expired_does_not_come(client: Client, how: str) -> None:
    client.do(c.Open(2, "Q", c.INPUT, selection="size > 0" if how == "selection" else ""))
    parts = (("first", 0, SEGMENT, 1000), ("last", 5, LAST_SEGMENT, -1))
    for body, offset, flag, expiry_ms in parts:
        segment = Details(flags=IN_GROUP | flag, offset=offset)
        message = MessageData(
            body.encode(),
            group_id=GROUP,
            expiry_ms=expiry_ms,
            details=segment,
            properties={"size": 5},
        )
        assert isinstance(client.do(c.Put(1, [message])), PutDone)
    client.core.now_ms += 2000  # the first has expired, and is still there
    wanted: dict[str, Any] = {} if how == "selection" else {"group_id": GROUP}
    answer = client.do(c.Get(2, options=ALL_SEGMENTS, **wanted))
    assert isinstance(answer, Messages)
    assert answer.messages == []


def test_a_get_waits_for_the_last_segment(client: Client) -> None:
    waits = client.send(c.Get(1, wait_ms=-1, options=COMPLETE))
    for at, flags in ((0, SEGMENT), (5, LAST_SEGMENT)):
        assert client.answer(waits) is None
        details = Details(flags=flags, offset=at)
        client.put("12345", group_id=GROUP, details=details)
    answer = client.answer(waits)
    assert isinstance(answer, Messages)
    assert answer.messages[0].message.body == b"1234512345"


def test_offsets_that_do_not_fit_together(client: Client) -> None:
    """Their bytes add up, and it is no message; what is behind it comes."""
    for at, body, flags in ((0, "ab", SEGMENT), (1, "c", SEGMENT), (3, "d", LAST_SEGMENT)):
        client.put(body, group_id=GROUP, details=Details(flags=flags, offset=at))
    client.put("plain")
    assert client.browse(options=COMPLETE) == ["plain"]
    assert whole(client) == ["plain"]


def test_a_group_of_messages_that_are_cut(client: Client) -> None:
    for flags in (IN_GROUP, LAST_IN_GROUP):
        put(client, LONG, flags=flags, group_id=GROUP, group_seq=1 + (flags == LAST_IN_GROUP))
    options = COMPLETE | LOGICAL_ORDER | c.ALL_MESSAGES
    found = [client.take(options=options)[0].message for _ in range(2)]
    assert [message.body.decode() for message in found] == [LONG, LONG]
    assert [message.last_in_group for message in found] == [False, True]
    assert client.core.queue().depth == 0


def test_a_segment_may_be_cut_again(client: Client) -> None:
    put(client, LONG, flags=SEGMENT, group_id=GROUP)
    message = MessageData(b"end", group_id=GROUP, details=Details(flags=LAST_SEGMENT, offset=100))
    client.do(c.Put(1, [message]))
    assert whole(client) == [LONG + "end"]


def test_browsing_whole_messages(client: Client) -> None:
    put(client)
    put(client, LONG[::-1])
    assert [client.browse(options=COMPLETE) for _ in range(3)] == [[LONG], [LONG[::-1]], []]
    assert client.browse(restart=True) == [LONG[:32]]


def test_what_is_too_long_whole_stays_whole(client: Client) -> None:
    put(client)
    answer = client.do(c.Get(1, options=COMPLETE | BOUNDED, length_max=99))
    assert isinstance(answer, Messages)
    assert (len(answer.messages[0].message.body), answer.warning) == (100, Reason.MESSAGE_TRUNCATED)
    assert client.core.queue().depth == 4


@pytest.mark.parametrize("how", ["crash", "crash_with_snapshot"])
def test_segments_that_are_not_in_memory(how: str) -> None:
    client = client_on(max_message_length=40, limits=Limits(window_messages=16, window_total=160))
    body = LONG * 40
    for _ in range(2):
        put(client, body)
    assert client.core.evicted > 0
    getattr(client.core, how)()
    back = client.core.connect()
    back.open()
    assert whole(back) == [body]
    unit = back.begin()
    assert whole(back, unit) == [body]
    back.do(c.Commit(unit))
    assert back.core.queue().depth == 0


@pytest.mark.parametrize("how", ["crash", "crash_with_snapshot"])
def test_the_outcome_is_the_whole_message_after_a_crash_too(client: Client, how: str) -> None:
    put(client)
    if how == "crash_with_snapshot":
        client.core.crash_with_snapshot()
        session, issued = client.session, client.issued
        client = client.core.connect()
        client.resume(session, [], issued)
        client.open()
    assert whole(client) == [LONG]
    client.core.crash()
    back = client.core.connect()
    back.resume(client.session, [client.issued], client.issued)
    answer = back.do(c.Get(1, options=COMPLETE), client.issued)
    assert isinstance(answer, Messages)
    assert [one.message.body.decode() for one in answer.messages] == [LONG]


def test_segments_are_adjacent_in_their_unit(client: Client) -> None:
    put(client)
    (record,) = [r for r in records(client) if r.puts]
    assert [placed.index for placed in record.puts] == [0, 1, 2, 3]
    assert record.size == 4


def records(client: Client) -> list[UnitCommitted]:
    found = [record for payload in client.core.entries for record in entries.decode(payload)]
    return [record for record in found if isinstance(record, UnitCommitted)]


def test_a_message_that_is_cut_is_in_no_group(client: Client) -> None:
    put(client)
    assert client.refused(c.Put(1, [MessageData(b"x" * 41)], options=LOGICAL_ORDER))
    answer = client.do(c.Put(1, [MessageData(b"next")], options=LOGICAL_ORDER))
    assert isinstance(answer, PutDone)
    assert (answer.group_id, answer.warning) == (NO_ID, 0)


def test_all_segments_of_a_later_message_of_a_group() -> None:
    client = client_on()
    last: dict[str, Any] = {"group_id": GROUP, "group_seq": 2}
    flags = IN_GROUP | LAST_IN_GROUP | SEGMENT
    client.put("one", group_id=GROUP)
    client.put("two, ", details=Details(flags=flags), **last)
    options = LOGICAL_ORDER | ALL_SEGMENTS
    assert client.get(options=options) == ["one"]
    assert client.get(options=options) == [], "its second half is missing"
    client.put("2nd half", details=Details(flags=flags | LAST_SEGMENT, offset=5), **last)
    assert [client.get(options=options) for _ in range(2)] == [["two, "], ["2nd half"]]


def test_segments_of_which_some_are_persistent_are_no_message(client: Client) -> None:
    client.put("soft", group_id=GROUP, persistence=0, details=Details(flags=SEGMENT))
    details = Details(flags=LAST_SEGMENT, offset=4)
    client.put("hard", group_id=GROUP, persistence=1, details=details)
    assert whole(client) == []
    assert [client.get() for _ in range(2)] == [["soft"], ["hard"]]


def site(**limits: int) -> Client:
    """A queue that takes 8 bytes, of a queue manager with these limits."""
    core = Core(Limits(**limits))
    client = core.connect()
    client.define(max_message_length=40)
    client.open()
    return client


def put_segments(client: Client, *bodies: str) -> None:
    for at, body in enumerate(bodies):
        flags = LAST_SEGMENT if at == len(bodies) - 1 else SEGMENT
        message = MessageData(body.encode(), details=Details(flags=flags))
        assert isinstance(client.do(c.Put(1, [message], options=LOGICAL_ORDER)), PutDone)


@pytest.mark.parametrize("in_unit", [False, True])
@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("limits", [{"unit_bytes": 20_000}, {"unit_messages": 3}])
def test_a_message_that_is_too_large_to_be_got_whole_is_refused_and_stays(
    limits: dict[str, int], waits: bool, in_unit: bool
) -> None:
    """It would be taken, and its answer be more than a frame has; or nothing behind it be found."""
    client = site(**limits)
    client.do(c.AlterQueue("Q", {"max_message_length": 10_000}))
    unit = client.begin() if in_unit else b""
    get = c.Get(1, unit, wait_ms=60_000 if waits else 0, options=COMPLETE)
    request = client.send(get) if waits else 0
    put_segments(client, *["x" * 6_000] * 4)
    answer = client.answer(request) if waits else client.do(get)
    assert isinstance(answer, Refused)
    assert answer.reason is Reason.UNIT_TOO_LARGE
    assert "get its segments one by one" in answer.detail or "ask for its" in answer.detail
    assert client.core.queue().depth == 4
    assert [len(body) for _ in range(3) for body in client.get()] == [6_000] * 3


def test_a_message_that_is_too_large_to_be_shown_whole_is_refused() -> None:
    client = site(unit_bytes=20_000)
    client.do(c.AlterQueue("Q", {"max_message_length": 10_000}))
    put_segments(client, *["x" * 6_000] * 4)
    assert client.refused(c.Browse(1, options=COMPLETE)) is Reason.UNIT_TOO_LARGE
    assert len(client.browse()) == 1, "the cursor has not moved"


def test_no_put_is_cut_into_more_segments_than_a_unit_has_messages() -> None:
    client = site(unit_messages=3)
    long = MessageData(bytes(200), details=Details(flags=SEGMENTATION_ALLOWED))
    for unit in (b"", client.begin()):
        assert client.refused(c.Put(1, [long], unit)) is Reason.UNIT_TOO_LARGE
    assert client.core.queue().depth == 0
