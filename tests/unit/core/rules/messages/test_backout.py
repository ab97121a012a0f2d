"""backout_action=MOVE where a transcript does not show it: bounds, events, batches, crashes."""

import pytest

from adapter.core.contract import backout as told
from adapter.core.contract import commands as c
from adapter.core.contract.details import LAST_SEGMENT, SEGMENT, Details
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import PROPERTIES_MAX, MessageData
from adapter.core.contract.records import BackoutCounted, EventRaised, Record
from adapter.core.contract.unit_records import UnitCommitted
from adapter.core.rules.primitives import step_room
from adapter.storage.format import entries
from tests.support.by_hand import ByHand
from tests.support.core import Client, Core, client_on

MOVE = {"backout_action": "MOVE", "backout_threshold": 1}


def moving(core: Core | None = None, **attributes: object) -> Client:
    """Return a client with queue Q, which moves to ASIDE with the first backout, both open."""
    client = (core or Core()).connect()
    given = {**MOVE, "backout_requeue_queue": "ASIDE", **attributes}
    client.do(c.DefineQueue("Q", given))
    client.define("ASIDE")
    client.open("Q")
    client.open("ASIDE", handle=2)
    return client


def back_out(client: Client, count: int = 1) -> None:
    """Get so many messages in a unit, and back it out."""
    unit = client.begin()
    client.take(unit, limit=count)
    client.do(c.Backout(unit))


def last_entry(client: Client) -> list[Record]:
    """Return the records of the last entry."""
    return entries.decode(client.core.entries[-1])


def events(client: Client) -> list[dict[str, str]]:
    """Return the details of all events of thresholds."""
    records = [record for payload in client.core.entries for record in entries.decode(payload)]
    raised = [one for one in records if isinstance(one, EventRaised)]
    return [one.details for one in raised if one.kind == told.THRESHOLD_REACHED]


def test_the_move_is_in_the_entry_that_records_the_backout() -> None:
    client = moving()
    client.put("bad")
    back_out(client)
    kinds = [type(record) for record in last_entry(client)]
    assert kinds == [BackoutCounted, EventRaised, UnitCommitted]


def test_the_event_says_where_it_went() -> None:
    client = moving()
    (ident,) = client.put("bad")
    back_out(client)
    assert events(client) == [
        {"message_id": ident.hex(), "backout_count": "1", "moved_to": "ASIDE", "reason": ""}
    ]


def test_the_event_says_why_it_stays_and_is_not_repeated() -> None:
    client = moving(backout_requeue_queue="NOWHERE")
    client.put("bad")
    back_out(client)
    back_out(client)
    assert [(one["moved_to"], one["reason"]) for one in events(client)] == [("", "2085")]


def test_the_moved_message_keeps_what_it_is_and_says_why() -> None:
    client = moving()
    (ident,) = client.put("bad", properties={"colour": "red"}, correlation_id=b"c" * 24)
    put_ms = client.core.now_ms
    client.core.advance(1)
    back_out(client)
    (found,) = client.take(handle=2)
    assert (found.message.message_id, found.message.correlation_id) == (ident, b"c" * 24)
    assert (found.message.put_time_ms, found.backout_count) == (put_ms, 0)
    assert found.message.properties == {
        "colour": "red",
        told.REASON: "backout_threshold_reached",
        told.QUEUE: "Q",
        told.COUNT: 1,
    }


def test_no_more_properties_than_a_put_takes() -> None:
    full = {f"p{number}": number for number in range(PROPERTIES_MAX - 2)}
    client = moving()
    client.put("bad", properties=full)
    back_out(client)
    (found,) = client.take(handle=2)
    assert found.message.properties == full


def test_more_than_one_record_takes_is_moved_by_several() -> None:
    client = moving()
    half = "x" * (step_room.BYTES_PER_STEP // 2)
    for _ in range(3):
        client.put(half)
    back_out(client, 3)
    sizes = [len(one.gets) for one in last_entry(client) if isinstance(one, UnitCommitted)]
    assert sizes == [1, 1, 1]
    assert client.core.queue("ASIDE").depth == 3


def test_an_expired_one_expires() -> None:
    client = moving()
    client.put("late", expiry_ms=1_000)
    unit = client.begin()
    client.take(unit)
    client.core.advance(2)
    client.do(c.Backout(unit))
    client.core.advance(0)
    assert client.core.queue("Q").depth == client.core.queue("ASIDE").depth == 0


def test_a_persistent_one_does_not_go_to_a_temporary_queue() -> None:
    client = moving(backout_requeue_queue="TEMP")
    client.do(c.DefineObject("model", "M", {}))
    client.do(c.Open(3, "M", c.INPUT, "TEMP"))
    client.put("hard", "soft", unit=(unit := client.begin()), persistence=1)
    client.do(c.Commit(unit))
    client.put("soft", persistence=0)
    back_out(client, 3)
    assert client.browse() == ["hard"]
    assert client.get(handle=3) == ["soft"]


def test_an_alias_leads_to_the_backout_queue() -> None:
    client = moving(backout_requeue_queue="NICKNAME")
    client.do(c.DefineObject("alias", "NICKNAME", {"target": "ASIDE"}))
    client.put("bad")
    back_out(client)
    assert client.get(handle=2) == ["bad"]


def test_nothing_is_moved_by_an_alias_that_is_inhibited() -> None:
    client = moving(backout_requeue_queue="NICKNAME")
    client.do(c.DefineObject("alias", "NICKNAME", {"target": "ASIDE", "inhibit_put": True}))
    client.put("bad")
    back_out(client)
    assert [(one["moved_to"], one["reason"]) for one in events(client)] == [("", "2051")]
    assert client.get() == ["bad"]


def test_the_dead_letter_queue_needs_room_for_the_header() -> None:
    client = moving(backout_requeue_queue="")
    client.define("DEAD", max_message_length=172)
    client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    client.put("x")
    back_out(client)
    assert client.get() == ["x"]


def test_moving_triggers() -> None:
    client = moving()
    client.define("INIT")
    client.do(c.DefineObject("process", "P", {}))
    client.open("INIT", handle=3)
    client.do(c.AlterQueue("ASIDE", {"initiation_queue": "INIT", "process": "P"}))
    client.do(c.Close(2))
    client.do(c.AlterQueue("ASIDE", {"trigger_control": True, "trigger_type": "EVERY"}))
    client.put("bad")
    back_out(client)
    assert client.core.queue("INIT").depth == 1


def test_a_batch_that_failed_too_often_is_moved_when_it_is_broken_up() -> None:
    client = moving(backout_threshold=1)
    client.put("poison")
    client.core.connect()
    reader = client.core.connect()
    reader.do(c.OpenConsumer(1, "Q", "READER", 60_000))
    client.core.qm.moved_n = client.core.entry_n
    state = reader.do(c.ClaimBatch(1, 10))
    reader.do(c.ReadBatches(1, state.claim, 0, 1))  # type: ignore[union-attr]
    reader.lose()
    again = client.core.connect()
    again.do(c.OpenConsumer(1, "Q", "READER", 60_000))
    again.do(c.ReadBatches(1, state.claim, 0, 1))  # type: ignore[union-attr]
    assert client.get(handle=2) == ["poison"]


def test_what_comes_back_into_memory_is_moved_before_anybody_gets_it() -> None:
    core = Core(Limits(window_messages=1))
    client = moving(core, backout_action="PROGRAM")
    for number in range(8):
        client.put(f"m{number}")
    unit = client.begin()
    for _ in range(8):  # a get ends at what is not in memory
        client.take(unit)
    client.do(c.Backout(unit))
    client.do(c.AlterQueue("Q", {"backout_action": "MOVE"}))
    core.crash_with_snapshot()
    core.advance(0)
    after = core.connect()
    after.open("ASIDE", handle=2)
    assert core.queue("Q").depth == 0
    assert [after.get(handle=2) for _ in range(8)] == [[f"m{number}"] for number in range(8)]


def test_after_a_doubt_what_was_not_persistent_is_moved_again() -> None:
    core = ByHand()
    client = moving(core)
    client.put("soft", persistence=0)
    unit = client.begin()
    client.take(unit)
    core.held = True
    client.send(c.Backout(unit))
    core.take_over(core.qm)
    core.held = False
    core.advance(0)
    after = core.connect()
    after.open("ASIDE", handle=2)
    assert after.browse(handle=2, limit=9) == ["soft"]
    assert core.queue("Q").depth == 0


def test_where_the_action_is_the_programs_nothing_moves() -> None:
    client = client_on("Q", backout_threshold=1, backout_requeue_queue="Q2")
    client.define("Q2")
    client.put("a")
    back_out(client, 1)
    assert [one["backout_count"] for one in events(client)] == ["1"]
    assert client.browse() == ["a"]


def read_pages(core: Core, most: int) -> int:
    """Read what is wanted, and let it leave memory after each page; returns how many were read."""
    count = 0
    while core.to_read:
        count += 1
        assert count <= most, "pages are read in a circle"
        core.read_page(next(iter(core.to_read)))
        core.evict()
    return count


def came_back(count: int, **attributes: object) -> Core:
    """A core that has been started again: messages that came back as often as Q allows, most of
    which are not in memory.
    """
    core = Core(Limits(window_messages=16))
    client = moving(core, backout_action="PROGRAM", **attributes)
    for number in range(count):
        client.put(f"m{number}")
    unit = client.begin()
    while client.take(unit, limit=count):
        pass
    client.do(c.Backout(unit))
    client.do(c.AlterQueue("Q", {"backout_action": "MOVE"}))
    core.crash_with_snapshot()
    core.reads_pages = False
    return core


MANY = 200


def test_nothing_is_read_to_be_moved_while_no_queue_has_room() -> None:
    core = came_back(MANY, backout_requeue_queue="")
    core.advance(0)
    assert read_pages(core, 0) == 0


def test_what_stays_is_not_reported_whenever_it_is_read() -> None:
    core = came_back(MANY, backout_requeue_queue="")
    core.entries.clear()
    client = core.connect()
    client.open("Q")
    for _ in range(2):
        request = client.send(c.Browse(1, restart=True, limit=40))
        read_pages(core, MANY)
        assert client.answer(request) is not None
    assert events(client) == []


def test_what_came_back_too_often_is_moved_when_each_page_was_read_once() -> None:
    core = came_back(MANY)
    core.advance(0)
    assert read_pages(core, MANY // 16 + 1) >= MANY // 16
    assert (core.queue("Q").depth, core.queue("ASIDE").depth) == (0, MANY)


def test_reading_ends_when_the_backout_queue_is_full() -> None:
    core = came_back(MANY)
    core.connect().do(c.AlterQueue("ASIDE", {"max_depth": 40}))
    read_pages(core, 5)
    assert core.queue("ASIDE").depth == 40


def test_segments_that_no_unit_has_together_are_moved_by_several_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(step_room, "BYTES_PER_STEP", 1_000)
    client = moving(Core(unit_bytes=4_000))
    for flags in (SEGMENT, SEGMENT, LAST_SEGMENT):
        message = MessageData(bytes(1_000), details=Details(flags=flags))
        client.do(c.Put(1, [message], options=c.LOGICAL_ORDER))
    back_out(client, 3)
    sizes = [len(one.gets) for one in last_entry(client) if isinstance(one, UnitCommitted)]
    assert sizes == [1, 2], "two fit in a unit"
    assert client.core.queue("ASIDE").depth == 3
