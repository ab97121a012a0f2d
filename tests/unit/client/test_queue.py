"""Puts, gets, browse, messages and administration, as a program sees them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

import adapter
from adapter import errors as e
from adapter.connection.channel.identity import own_name
from adapter.core.contract import commands as c
from adapter.core.contract.details import Details
from adapter.core.contract.message import NO_ID
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from tests.support.loopback import Loopback

Connect = Callable[..., adapter.Connection]
ID = bytes(range(24))


@pytest.fixture
def queue(qm: adapter.Connection) -> adapter.Queue:
    return qm.queue("Q")


def got(queue: adapter.Queue, **how: bytes | str | UUID) -> adapter.Message:
    message = queue.get(**how)  # type: ignore[arg-type]
    assert message is not None
    return message


def all_bodies(queue: adapter.Queue) -> list[bytes]:
    return [message.body for message in queue.browse()]


def test_a_message_comes_as_it_was_put(qm: adapter.Connection, queue: adapter.Queue) -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=2)
    result = queue.put(
        b"body", priority=7, persistent=False, expiry_s=60.5, message_id=ID, group_id=b"g" * 24,
        correlation_id=b"c" * 24, group_seq=3, last_in_group=True, reply_to="R", format="MQSTR",
        reply_to_queue_manager="QM9", message_type=1, report=2, feedback=3, encoding=273, ccsid=819,
        properties={"a": 1, "b": "two", "c": 3.5, "d": True, "e": None, "f": b"x"},
    )  # fmt: skip
    message = got(queue)
    assert result.message_id == message.message_id == ID
    assert result.put_time == message.put_time
    assert before < result.put_time <= datetime.now(UTC)
    assert message.expires_at == result.put_time + timedelta(seconds=60.5)
    seen = {name: getattr(message, name) for name in (
        "body", "priority", "persistent", "expiry_s", "group_id", "correlation_id", "group_seq",
        "last_in_group", "reply_to", "format", "reply_to_queue_manager", "message_type", "report",
        "feedback", "encoding", "ccsid", "properties", "backout_count", "unit_index", "unit_size",
        "first_in_unit", "last_in_unit",
    )}  # fmt: skip
    assert seen == {
        "body": b"body", "priority": 7, "persistent": False, "expiry_s": 60.5,
        "group_id": b"g" * 24, "correlation_id": b"c" * 24, "group_seq": 3, "last_in_group": True,
        "reply_to": "R", "format": "MQSTR", "reply_to_queue_manager": "QM9", "message_type": 1,
        "report": 2, "feedback": 3, "encoding": 273, "ccsid": 819,
        "properties": {"a": 1, "b": "two", "c": 3.5, "d": True, "e": None, "f": b"x"},
        "backout_count": 0, "unit_index": 0, "unit_size": 1, "first_in_unit": True,
        "last_in_unit": True,
    }  # fmt: skip


def test_what_is_not_given_is_the_queues_or_none(
    qm: adapter.Connection, queue: adapter.Queue
) -> None:
    qm.alter_queue("Q", def_priority=4, def_persistence=False)
    queue.put("täxt")
    message = got(queue)
    assert message.body == "täxt".encode()
    assert (message.priority, message.persistent, message.expiry_s) == (4, False, None)
    assert message.correlation_id == message.group_id == NO_ID
    assert len(message.message_id) == 24
    assert message.expires_at is None
    assert message.properties == {}


@pytest.mark.parametrize(
    "body",
    [b"abc", "abc", bytearray(b"abc"), memoryview(b"abc")],
    ids=lambda body: type(body).__name__,
)
def test_bodies_are_bytes_or_text(queue: adapter.Queue, body: bytes) -> None:
    queue.put(body)
    queue.put(adapter.Message(body))
    assert all_bodies(queue) == [b"abc", b"abc"]


def test_a_message_put_again_keeps_what_is_not_said_anew(queue: adapter.Queue) -> None:
    queue.put(b"x", priority=2, correlation_id=b"c" * 24, expiry_s=50, properties={"p": 1})
    first = got(queue)
    queue.put(first)
    queue.put(first, priority=None, message_id=None, correlation_id=None, expiry_s=None)
    again, anew = got(queue, message_id=first.message_id), got(queue)
    assert (again.priority, again.correlation_id, again.expiry_s) == (2, b"c" * 24, 50)
    assert again.properties == {"p": 1}
    assert again.message_id == first.message_id
    assert again.unit_id != first.unit_id
    assert (anew.priority, anew.correlation_id, anew.expiry_s) == (0, NO_ID, None)
    assert anew.message_id != first.message_id


def test_the_application_is_named(connect: Connect, qm: adapter.Connection) -> None:
    named = connect(application="billing")
    named.put("Q", b"x")
    message = got(qm.queue("Q"))
    assert message.application == "billing"
    qm.put("Q", message)
    assert got(qm.queue("Q")).application == own_name()


def test_messages_have_a_short_face() -> None:
    face = repr(adapter.Message(b"x" * 1000, message_id=ID))
    assert "1000 bytes" in face
    assert len(face) < 200
    assert adapter.Message(b"x").put_time is None
    assert not adapter.Message(b"x").first_in_unit
    assert not adapter.Message(b"x").last_in_unit


def test_gets_are_by_priority_one_at_a_time(connect: Connect, queue: adapter.Queue) -> None:
    for priority in (1, 5, 3):
        queue.put(b"%d" % priority, priority=priority)
    assert got(queue).body == b"5"
    connect().put("Q", b"9", priority=9)  # arrives behind the first get: no get looked ahead
    assert [got(queue).body for _ in range(3)] == [b"9", b"3", b"1"]
    assert queue.get() is None


def test_gets_choose_by_ids(queue: adapter.Queue) -> None:
    queue.put(b"plain")
    queue.put(b"message", message_id=ID)
    queue.put(b"correlation", correlation_id=ID)
    queue.put(b"group", group_id=ID)
    assert got(queue, group_id=ID).body == b"group"
    assert got(queue, correlation_id=ID).body == b"correlation"
    assert got(queue, message_id=ID).body == b"message"
    assert queue.get(correlation_id=ID) is None
    assert got(queue, correlation_id=NO_ID).body == b"plain"


def test_timeouts_may_be_numbers_or_deltas(queue: adapter.Queue) -> None:
    assert queue.get(timeout=0.01) is None
    assert queue.get(timeout=timedelta(milliseconds=5)) is None
    assert queue.get(timeout=1e-9) is None


def test_single_calls_leave_no_handle(server: Loopback, qm: adapter.Connection) -> None:
    qm.put("Q", b"1")
    assert qm.get("Q", timeout=1) is not None
    assert qm.get("Q", timeout=0.01) is None
    assert qm.get("Q") is None
    assert qm.statistics()["handles"] == 0
    status = qm.queue("Q").status()
    assert (status.open_input_count, status.open_output_count) == (0, 0)


def test_browse_removes_nothing(
    connect: Connect, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    for number in range(250):
        queue.put(b"%d" % number, priority=number % 2)
    with qm.unit() as unit:
        assert got(queue).body == b"1"
        bodies = all_bodies(connect().queue("Q"))
        assert bodies == [b"%d" % n for n in [*range(3, 250, 2), *range(0, 250, 2)]]
        unit.backout()
    assert queue.depth() == 250
    assert queue.status().open_input_count == 1
    assert qm.statistics()["handles"] == 2


def test_browse_goes_on_where_it_was_when_the_connection_is_lost(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    queue.put_many(b"%d" % number for number in range(350))
    bodies = []
    for message in queue.browse():
        bodies.append(message.body)
        if len(bodies) in (50, 150, 230):
            server.cut_all()
    assert bodies == [b"%d" % number for number in range(350)]
    assert qm.statistics()["connections_lost"] == 3


def test_browse_chooses_by_ids_and_ends_with_its_queue(queue: adapter.Queue) -> None:
    for number in range(150):
        queue.put(b"%d" % number, correlation_id=ID if number % 50 == 0 else None)
    assert [m.body for m in queue.browse(correlation_id=ID)] == [b"0", b"50", b"100"]
    shown = 0
    for _ in queue.browse():
        shown += 1
        queue.close()
    assert shown == 100  # what had been fetched


def test_a_browsed_message_can_be_removed(qm: adapter.Connection, queue: adapter.Queue) -> None:
    queue.put_many([b"a", b"b", b"c", b"d"])
    first, second, third, fourth = queue.browse()
    assert second.remove()
    assert not second.remove()
    with qm.unit() as unit:
        assert third.remove()
        assert first.remove(unit=adapter.NO_UNIT)
        unit.backout()
    assert all_bodies(queue) == [b"c", b"d"]
    assert fourth.remove()
    assert got(queue).backout_count == 1


def test_a_message_that_was_browsed_before_its_queue_was_defined_anew_is_not_another_one(
    qm: adapter.Connection,
) -> None:
    qm.define_queue("AGAIN")
    qm.put("AGAIN", "old")
    browsed = list(qm.queue("AGAIN").browse())
    qm.delete_queue("AGAIN", purge=True)
    qm.define_queue("AGAIN")
    qm.put("AGAIN", "new")
    assert not browsed[0].remove()
    assert qm.get("AGAIN") is not None


def test_no_unit_keeps_out(qm: adapter.Connection, queue: adapter.Queue) -> None:
    with qm.unit() as unit:
        queue.put(b"in")
        queue.put(b"out", unit=adapter.NO_UNIT)
        qm.put("Q", b"out, too", unit=adapter.NO_UNIT)
        assert got(queue).body == b"out"
        unit.backout()
    assert all_bodies(queue) == [b"out", b"out, too"]


def test_a_named_unit_is_joined_from_anywhere(qm: adapter.Connection, queue: adapter.Queue) -> None:
    first, second = qm.unit(), qm.unit()
    first.begin()
    second.begin()
    queue.put(b"1", unit=first)
    queue.put(b"2", unit=second)
    with pytest.raises(AttributeError):
        first.id = b""  # type: ignore[misc]
    second.commit()
    first.backout()
    assert all_bodies(queue) == [b"2"]
    assert (qm.outcome(first.id), qm.outcome(second.id)) == ("backed out", "committed")


def put_and_be_interrupted(queue: adapter.Queue) -> None:
    queue.put(b"2")
    raise KeyboardInterrupt


def put_commit_and_fail(queue: adapter.Queue, unit: adapter.Unit) -> None:
    queue.put(b"3")
    unit.commit()
    raise ZeroDivisionError


def test_a_unit_commits_on_leaving_and_backs_out_on_an_exception(
    qm: adapter.Connection, queue: adapter.Queue
) -> None:
    with qm.unit() as unit:
        queue.put(b"1")
        assert unit.is_open
        assert qm.outcome(unit.id) == "in flight"
        assert queue.depth() == 1
        assert all_bodies(queue) == []
    assert repr(unit).endswith(" COMMITTED>")
    with pytest.raises(KeyboardInterrupt), qm.unit():
        put_and_be_interrupted(queue)
    with pytest.raises(ZeroDivisionError), qm.unit() as unit:
        put_commit_and_fail(queue, unit)
    with qm.unit() as unit:
        queue.put(b"4")
        unit.backout()
    assert all_bodies(queue) == [b"1", b"3"]


def test_a_unit_in_which_something_was_refused_can_go_on(
    qm: adapter.Connection, queue: adapter.Queue
) -> None:
    qm.alter_queue("Q", max_depth=1)
    with qm.unit():
        queue.put(b"1")
        with pytest.raises(e.QueueFull, match="max_depth is 1"):
            queue.put(b"2")
    assert all_bodies(queue) == [b"1"]


def test_an_empty_unit_asks_nothing(server: Loopback, qm: adapter.Connection) -> None:
    before = len(server.executed)
    with qm.unit():
        pass
    with qm.unit() as unit:
        unit.backout()
    assert len(server.executed) == before


def test_a_commit_that_is_refused_backs_out(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    server.before = lambda _n, command: (
        Refused(Reason.LIMIT_REACHED, "", "no more") if isinstance(command, c.Commit) else None
    )
    with pytest.raises(e.LimitReached, match="no more"), qm.unit() as unit:
        queue.put(b"x")
    assert qm.statistics()["units"] == 0
    assert not unit.is_open


def test_queues_are_opened_for_what_is_done(qm: adapter.Connection, connect: Connect) -> None:
    queue = qm.queue("Q")

    def counts() -> tuple[int, int]:
        status = queue.status()
        return status.open_input_count, status.open_output_count

    assert queue.depth() == 0
    queue.inquire()
    queue.purge()
    list(queue.browse())
    assert counts() == (0, 0)
    queue.put(b"x")
    assert counts() == (0, 1)
    queue.get()
    assert counts() == (1, 1)
    with pytest.raises(e.QueueInUse, match="exclusive"):
        connect().queue("Q", open_for="input_exclusive")
    queue.close()
    exclusive = connect().queue("Q", open_for="input_exclusive")
    exclusive.put(b"x")
    assert got(exclusive).body == b"x"
    with pytest.raises(e.QueueInUse):
        qm.queue("Q").get()
    qm.queue("Q", open_for="output")
    qm.queue("Q", open_for="browse")


def test_finding_users_18_a_queue_that_is_opened_now_must_exist(qm: adapter.Connection) -> None:
    missing = qm.queue("MISSING")
    wrong = qm.queue("Q", selection="a = = 1")
    for mode in ("input", "output", "browse"):
        with pytest.raises(e.QueueNotFound, match="MISSING"):
            qm.queue("MISSING", open_for=mode)
    with pytest.raises(e.InvalidSelector):
        qm.queue("Q", open_for="input", selection="a = = 1")
    with pytest.raises(e.QueueNotFound, match="MISSING"):
        missing.get()
    with pytest.raises(e.InvalidSelector):
        wrong.get()


def test_finding_users_19_a_mistake_of_the_program_has_no_code(queue: adapter.Queue) -> None:
    mistakes: list[Callable[[], object]] = [
        lambda: queue.put(5),  # type: ignore[arg-type]
        lambda: queue.get(timeout=-1),
        lambda: queue.put("x", priority=10),
        lambda: queue.put("x", expiry_s=0),
        lambda: queue.put("x", wait=False),
        lambda: queue.put("x", properties={"a": []}),  # type: ignore[dict-item]
    ]
    for mistake in mistakes:
        with pytest.raises((e.InvalidType, e.InvalidValue)) as raised:
            mistake()
        assert "MQRC" not in str(raised.value)
        assert raised.value.reason


def test_finding_users_19_what_the_queue_manager_refuses_has_its_code(
    qm: adapter.Connection,
) -> None:
    with pytest.raises(e.InvalidSelector, match="MQRC_SELECTOR_SYNTAX_ERROR"):
        qm.queue("Q", selection="a = = 1").get()


def test_input_is_opened_as_the_queue_says(qm: adapter.Connection, connect: Connect) -> None:
    qm.define_queue("R", def_input_open_option="EXCLUSIVE")
    qm.define_queue("S", share=False)
    for name in ("R", "S"):
        assert qm.queue(name).get() is None
        with pytest.raises(e.QueueInUse, match="exclusive input"):
            connect().queue(name).get()
    assert qm.queue("Q").get() is None
    assert connect().queue("Q").get() is None


def test_administration(qm: adapter.Connection) -> None:
    qm.define_queue("R", max_depth=5, msg_delivery_sequence="FIFO", description="a queue")
    (described,) = qm.queues("R")
    assert (described.name, described.incarnation) == ("R", 0)
    assert (described.max_depth, described.msg_delivery_sequence) == (5, "FIFO")
    assert described.attributes["description"] == "a queue"
    with pytest.raises(AttributeError, match="colour"):
        _ = described.colour
    qm.alter_queue("R", max_depth=6)
    assert qm.queue("R").inquire().max_depth == 6
    qm.define_queue("R", replace=True, max_depth=7)
    assert qm.queue("R").inquire().max_depth == 7
    assert [queue.name for queue in qm.queues()] == ["Q", "R"]
    assert [status.name for status in qm.queue_status("?")] == ["Q", "R"]
    assert qm.queues("NONE*") == []
    qm.put("R", b"1")
    with pytest.raises(e.QueueNotEmpty, match="1 message is on it"):
        qm.delete_queue("R")
    assert qm.queue("R").purge() == 1
    qm.put("R", b"2")
    qm.delete_queue("R", purge=True)
    with pytest.raises(e.QueueNotFound):
        qm.queue("R").depth()
    qm.define_queue("R")
    assert qm.queue("R").inquire().incarnation == 1
    assert qm.figures() == {"name": "QM1"}
    qm.stop_queue_manager()


def test_set_inhibits(qm: adapter.Connection, queue: adapter.Queue) -> None:
    queue.set(inhibit_put=True, inhibit_get=True)
    for call, error in ((lambda: queue.put(b"x"), e.PutInhibited), (queue.get, e.GetInhibited)):
        with pytest.raises(error) as caught:
            call()
        assert caught.value.object_name == "Q"
    queue.set(inhibit_put=False)
    queue.put(b"x")


def test_faces(qm: adapter.Connection, queue: adapter.Queue) -> None:
    assert repr(qm) == "<Connection to QM1, connected>"
    assert repr(queue) == "<Queue Q>"
    with qm.unit() as unit:
        assert repr(unit) == f"<Unit {unit.id.hex()} ACTIVE>"
    qm.close()
    assert repr(qm) == "<Connection to QM1, closed>"


def test_groups_in_logical_order(qm: adapter.Connection) -> None:
    qm.define_queue("GROUPS")
    queue = qm.queue("GROUPS")
    with qm.unit():
        for body in "ab":
            queue.put(body, logical_order=True)
        assert queue.get(logical_order=True, all_messages=True, unit=adapter.NO_UNIT) is None
        queue.put("c", logical_order=True, last_in_group=True)
    first = queue.get(logical_order=True, all_messages=True)
    assert first is not None
    assert (first.body, first.group_seq) == (b"a", 1)
    second = queue.get(logical_order=True, all_messages=True)
    assert second is not None
    assert (second.body, second.details is not None) == (b"b", True)
    third = queue.get(group_id=first.group_id, group_seq=3)
    assert third is not None
    assert third.last_in_group


def test_details_are_carried(qm: adapter.Connection) -> None:
    qm.define_queue("DETAILS")
    details = Details(accounting_token=b"t" * 32, identity_data="who", appl_type=25)
    qm.put("DETAILS", "a", details=details)
    got = qm.get("DETAILS")
    assert got is not None
    assert got.details == details
    with pytest.raises(adapter.errors.InvalidType):
        qm.put("DETAILS", "a", details="none")  # type: ignore[arg-type]


def test_a_queue_with_a_selection(qm: adapter.Connection) -> None:
    qm.define_queue("COLOURS")
    red = qm.queue("COLOURS", selection="colour = 'red' AND Root.MQMD.Priority > 3")
    for body, colour, priority in (("a", "red", 1), ("b", "blue", 5), ("c", "red", 5)):
        red.put(body, properties={"colour": colour}, priority=priority)
    assert [one.body for one in red.browse()] == [b"c"]
    got = red.get()
    assert got is not None
    assert got.body == b"c"
    assert red.get() is None
    assert red.depth() == 2
    with pytest.raises(e.InvalidSelector, match="'the end' stands where"):
        qm.queue("COLOURS", selection="colour =").get()


def test_a_selection_outlives_a_lost_connection(server: Loopback, qm: adapter.Connection) -> None:
    qm.define_queue("KEPT")
    red = qm.queue("KEPT", selection="colour = 'red'")
    assert red.get() is None
    server.cut_all()
    red.put("b", properties={"colour": "blue"})
    assert red.get() is None
    red.put("r", properties={"colour": "red"})
    assert red.get() is not None


def test_in_a_unit_only_if_it_is_persistent(qm: adapter.Connection, queue: adapter.Queue) -> None:
    queue.put("soft", persistent=False)
    queue.put("hard", persistent=True)
    with qm.unit() as unit:
        got = [queue.get(if_persistent=True) for _ in range(2)]
        assert [one.body for one in got if one is not None] == [b"soft", b"hard"]
        unit.backout()
    left = queue.get(if_persistent=True)
    assert left is not None
    assert left.body == b"hard", "outside a unit it says nothing"
    assert queue.get() is None


def test_programs_that_cooperate_share_what_is_browsed(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    for body in ("1", "2", "3"):
        queue.put(body)
    one, other = queue.browse(cooperate=True), queue.browse(cooperate=True)
    first, second, third = next(one), next(other), next(one)
    assert [found.body for found in (first, second, third)] == [b"1", b"2", b"3"]
    first.unmark()
    assert next(other).body == b"1"
    assert next(other, None) is None
    assert second.remove()
    server.cut_all()
    assert next(one).body == b"1", "the marks have gone with the connection"
    assert [found.body for found in one] == [b"3"]
