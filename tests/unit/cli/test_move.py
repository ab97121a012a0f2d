"""mqk move: from queue to queue, whole or not at all."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import adapter
from adapter.cli import move
from adapter.cli.move import move_unit
from adapter.client import acting
from adapter.client.browse import BrowsedMessage
from adapter.client.conversion import on_its_way
from adapter.core.contract.details import Details
from adapter.core.contract.message import MessageData
from adapter.core.contract.transmission import Transmission
from adapter.errors import GetInhibited, UnitTooLarge
from adapter.testing import TestQueueManager
from tests.unit.cli.conftest import Mqk


@pytest.fixture
def queues(at: Mqk, manager: TestQueueManager) -> Iterator[adapter.Connection]:
    """The queues Q and TO."""
    with manager.connect() as qm:
        qm.define_queue("TO")
        yield qm


def bodies(qm: adapter.Connection, queue: str) -> list[bytes]:
    return [message.body for message in qm.queue(queue).browse()]


def set_failures_aside(qm: adapter.Connection) -> None:
    """Have the first backout that counts move a message from Q to BAD."""
    qm.define_queue("BAD")
    qm.alter_queue("Q", backout_threshold=1, backout_requeue_queue="BAD", backout_action="MOVE")


def test_all_messages_are_moved_in_order(at: Mqk, queues: adapter.Connection) -> None:
    sent = [b"%d" % n for n in range(25)]
    for body in sent:
        queues.put("Q", body)
    assert at("move", "Q", "TO", "--unit-size", 10).out == "25 messages moved from Q to TO\n"
    assert bodies(queues, "TO") == sent
    assert bodies(queues, "Q") == []
    told = json.loads(at("move", "Q", "TO", "--json").out)
    assert told == {"source": "Q", "target": "TO", "moved": 0}


def test_a_moved_message_keeps_its_fields(at: Mqk, queues: adapter.Connection) -> None:
    put = queues.put(
        "Q", "größer", priority=7, correlation_id=bytes(23) + b"c", reply_to="Q", format="MQSTR",
        properties={"a": 1}, expiry_s=1000, persistent=False, user="ada", application="shop",
    )  # fmt: skip
    (before,) = queues.queue("Q").browse()
    at("move", "Q", "TO")
    message = queues.get("TO")
    assert message is not None
    assert message.message_id == put.message_id
    assert (message.body.decode(), message.priority, message.reply_to) == ("größer", 7, "Q")
    assert (message.persistent, message.properties, message.format) == (False, {"a": 1}, "MQSTR")
    assert (message.user, message.application) == ("ada", "shop")
    assert message.correlation_id == bytes(23) + b"c"
    assert message.expires_at_ms == before.expires_at_ms


NEW = {
    "put_time_ms": "that of the put",
    "expiry_ms": "counts from the put: expires_at_ms is the same",
    "delay_ms": "is over",
}
"""What a move does not leave as it was, of all that a message says."""


def on_the_way(qm: adapter.Connection, queue: str) -> MessageData:
    (message,) = qm.queue(queue).browse()
    found = on_its_way(message)
    assert found is not None
    return found


def full_of_values() -> dict[str, Any]:
    return {
        "message_id": b"m" * 24, "correlation_id": b"c" * 24, "group_id": b"g" * 24,
        "group_seq": 2, "last_in_group": True, "priority": 7, "persistent": True,
        "expiry_s": 1000, "format": "MQSTR", "message_type": 1, "report": 0x0800_0040,
        "feedback": 5, "encoding": 273, "ccsid": 819, "reply_to": "R",
        "reply_to_queue_manager": "QM9", "user": "ada", "application": "shop",
        "properties": {"a": 1}, "details": Details(accounting_token=b"t" * 32, origin_data="o"),
    }  # fmt: skip


@pytest.mark.parametrize("unit_size", [1, 100])
def test_a_message_of_a_transmission_queue_keeps_all_that_it_says(
    unit_size: int, at: Mqk, queues: adapter.Connection
) -> None:
    for name in ("X", "Y"):
        queues.define_queue(name, usage="XMITQ")
    route: dict[str, Any] = {"remote_name": "FAR.Q", "remote_queue_manager": "FAR"}
    queues.define_object("remote", "R", transmission_queue="X", **route)
    queues.put("R", "x", **full_of_values())
    before = on_the_way(queues, "X")
    assert before.transmission == Transmission("FAR.Q", "FAR")
    assert at("move", "X", "Y", "--unit-size", unit_size).status == 0
    after = on_the_way(queues, "Y")
    for name in MessageData.__struct_fields__:
        if name not in NEW:
            assert getattr(after, name) == getattr(before, name), name


def test_a_message_of_a_transmission_queue_is_moved_nowhere_where_its_way_is_lost(
    at: Mqk, queues: adapter.Connection
) -> None:
    queues.define_queue("X", usage="XMITQ")
    for name in ("FAR.Q", "OTHER"):
        to: dict[str, Any] = {"remote_name": name, "remote_queue_manager": "FAR"}
        queues.define_object("remote", name, transmission_queue="X", **to)
    queues.define_queue("Y", usage="XMITQ")
    queues.put("FAR.Q", "x")
    said = at("move", "X", "TO")
    assert said.status == 1
    assert "is for queue FAR.Q of queue manager FAR" in said.err
    assert "moved before: 0 messages" in said.err
    assert on_the_way(queues, "X").transmission == Transmission("FAR.Q", "FAR")
    queues.alter_object("remote", "OTHER", transmission_queue="Y")
    assert at("move", "X", "OTHER").status == 0
    assert on_the_way(queues, "Y").transmission == Transmission("OTHER", "FAR")


def test_whether_the_target_leads_on_is_asked_once_for_each_unit(
    at: Mqk, queues: adapter.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("X", "Y"):
        queues.define_queue(name, usage="XMITQ")
    to: dict[str, Any] = {"remote_name": "FAR.Q", "remote_queue_manager": "FAR"}
    queues.define_object("remote", "R", transmission_queue="X", **to)
    for body in "abcde":
        queues.put("R", body)
    asked: list[str] = []

    def ask(qm: adapter.Connection, queue: str) -> bool:
        asked.append(queue)
        return acting.leads_on(qm, queue)

    monkeypatch.setattr(move, "leads_on", ask)
    assert at("move", "X", "Y", "--unit-size", 2).status == 0
    assert asked == ["Y"] * (1 + 3), "at the start, and for each unit"
    assert bodies(queues, "Y") == [b"a", b"b", b"c", b"d", b"e"]


def test_some_are_moved(at: Mqk, queues: adapter.Connection) -> None:
    for body in "abcd":
        queues.put("Q", body, correlation_id=body.encode().ljust(24, b"\0"))
    assert at("move", "Q", "TO", "--count", 1).status == 0
    assert bodies(queues, "TO") == [b"a"]
    assert at("move", "Q", "TO", "--correlation-id", "text:c").status == 0
    assert bodies(queues, "TO") == [b"a", b"c"]
    assert bodies(queues, "Q") == [b"b", b"d"]


def test_dead_letters_are_requeued_with_or_without_their_header(
    at: Mqk, queues: adapter.Connection
) -> None:
    for _ in range(2):
        queues.put("Q", "x", dead_letter=adapter.DeadLetter(reason=2053, destination="TO"))
    at("move", "Q", "TO", "--count", 1)
    at("move", "Q", "TO", "--without-header")
    first, second = queues.queue("TO").browse()
    assert first.dead_letter is not None
    assert second.dead_letter is None
    assert first.body == second.body == b"x"


def test_a_target_that_leads_back_to_the_source_has_an_end(
    at: Mqk, queues: adapter.Connection
) -> None:
    queues.define_object("alias", "BACK", target="Q")
    for body in "abc":
        queues.put("Q", body)
    assert at("move", "Q", "BACK", "--unit-size", 1).out == "3 messages moved from Q to BACK\n"
    assert bodies(queues, "Q") == [b"a", b"b", b"c"]
    assert at("move", "Q", "BACK", "--unit-size", 100).status == 0


def test_what_the_target_refuses_stays_on_the_source(at: Mqk, queues: adapter.Connection) -> None:
    for body in "abc":
        queues.put("Q", body)
    queues.alter_queue("TO", max_depth=2)
    said = at("move", "Q", "TO", "--unit-size", 2)
    assert said.status == 1
    assert "[MQRC_Q_FULL]; moved before: 2 messages" in said.err
    assert (bodies(queues, "TO"), bodies(queues, "Q")) == ([b"a", b"b"], [b"c"])


@pytest.mark.parametrize("harden", [False, True])
def test_a_refusal_by_the_target_counts_no_backout_and_what_fits_is_moved(
    harden: bool, at: Mqk, queues: adapter.Connection
) -> None:
    set_failures_aside(queues)
    queues.alter_queue("Q", harden_get_backout=harden)
    queues.alter_queue("TO", max_depth=3)
    for n in range(10):
        queues.put("Q", str(n), persistent=True)
    said = at("move", "Q", "TO")
    assert said.status == 1
    assert "[MQRC_Q_FULL]; moved before: 3 messages" in said.err
    assert bodies(queues, "TO") == [b"0", b"1", b"2"]
    assert bodies(queues, "BAD") == []
    assert [one.backout_count for one in queues.queue("Q").browse()] == [0] * 7
    queues.alter_queue("TO", inhibit_put=True)
    assert "moved before: 0 messages" in at("move", "Q", "TO").err
    assert [one.backout_count for one in queues.queue("Q").browse()] == [0] * 7


def interrupt(monkeypatch: pytest.MonkeyPatch, happens: Callable[[BrowsedMessage], object]) -> None:
    """Let something happen between the put and the removal of each message."""
    real = BrowsedMessage.remove

    def remove(self: BrowsedMessage, unit: Any = None) -> bool:
        happens(self)
        return real(self, unit)

    monkeypatch.setattr(BrowsedMessage, "remove", remove)


@pytest.mark.parametrize(("persistent", "harden"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("lost", ["0", "3", "5", "02", "135", "012345"])
@pytest.mark.parametrize("how", ["got", "expired"])
def test_a_message_that_goes_meanwhile_is_left_out_and_no_other_counts_a_backout(
    persistent: bool, harden: bool, lost: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with adapter.testing.queue_manager("QM1", clock="manual") as manager, manager.connect() as qm:
        qm.define_queue("Q")
        qm.define_queue("TO")
        set_failures_aside(qm)
        qm.alter_queue("Q", harden_get_backout=harden)
        for n, body in enumerate("012345"):
            ends = n + 1 if how == "expired" and body in lost else None
            qm.put("Q", body, persistent=persistent, expiry_s=ends)

        def happens(message: BrowsedMessage) -> None:
            if message.text not in lost:
                return
            if how == "got":
                with manager.connect() as other:
                    other.get("Q", message_id=message.message_id)
            else:
                manager.clock.advance((message.expires_at_ms - manager.clock.now_ms()) / 1000)

        interrupt(monkeypatch, happens)
        with qm.queue("Q") as source:
            moved = move_unit(qm, source, "TO", 10, {}, {})
        kept = [one.encode() for one in "012345" if one not in lost]
        assert moved == (len(kept), None)
        assert (bodies(qm, "TO"), bodies(qm, "Q"), bodies(qm, "BAD")) == (kept, [], [])


@pytest.mark.parametrize("most", range(2, 14))
def test_a_unit_that_is_full_is_committed_and_the_next_goes_on(most: int) -> None:
    with (
        adapter.testing.queue_manager("QM1", max_uncommitted_messages=most) as manager,
        manager.connect() as qm,
    ):
        qm.define_queue("Q")
        qm.define_queue("TO")
        set_failures_aside(qm)
        sent = [b"%d" % n for n in range(20)]
        for body in sent:
            qm.put("Q", body)
        moved = 0
        with qm.queue("Q") as source:
            while moved < len(sent):
                some, refused = move_unit(qm, source, "TO", 20, {}, {})
                assert (some > 0, refused) == (True, None)
                moved += some
        assert (bodies(qm, "TO"), bodies(qm, "Q"), bodies(qm, "BAD")) == (sent, [], [])


def test_a_limit_below_one_message_is_said() -> None:
    with (
        adapter.testing.queue_manager("QM1", max_uncommitted_messages=1) as manager,
        manager.connect() as qm,
    ):
        qm.define_queue("Q")
        qm.define_queue("TO")
        qm.put("Q", "x")
        with qm.queue("Q") as source:
            moved, refused = move_unit(qm, source, "TO", 20, {}, {})
        assert (moved, type(refused)) == (0, UnitTooLarge)
        assert [one.backout_count for one in qm.queue("Q").browse()] == [0]


def test_gets_that_are_inhibited_meanwhile_count_no_backout(
    queues: adapter.Connection, manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_failures_aside(queues)
    for body in "abc":
        queues.put("Q", body)

    def happens(message: BrowsedMessage) -> None:
        if message.text == "b":
            with manager.connect() as other:
                other.alter_queue("Q", inhibit_get=True)

    interrupt(monkeypatch, happens)
    with queues.queue("Q") as source:
        moved, refused = move_unit(queues, source, "TO", 10, {}, {})
    assert (moved, type(refused)) == (0, GetInhibited)
    queues.alter_queue("Q", inhibit_get=False)
    assert [one.backout_count for one in queues.queue("Q").browse()] == [0, 0, 0]
    assert bodies(queues, "BAD") == bodies(queues, "TO") == []


def test_each_of_many_messages_is_lost(
    queues: adapter.Connection, manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than calls may be nested."""
    for n in range(1100):
        queues.put("Q", str(n))
    with manager.connect() as other:
        interrupt(monkeypatch, lambda one: other.get("Q", message_id=one.message_id))
        with queues.queue("Q") as source:
            assert move_unit(queues, source, "TO", 1000, {}, {}) == (0, None)
    assert bodies(queues, "TO") == bodies(queues, "Q") == []


@pytest.mark.parametrize("kind", ["TEMPDYN", "PERMDYN"])
def test_a_model_queue_is_no_target(kind: str, at: Mqk, queues: adapter.Connection) -> None:
    """The queue that it makes might end with the command, and the messages with it."""
    queues.define_object("model", "MODEL", definition_type=kind)
    queues.put("Q", "a")
    there = [one.name for one in queues.queues()]
    said = at("move", "Q", "MODEL")
    assert said.status == 1
    assert "it is a model queue" in said.err
    assert bodies(queues, "Q") == [b"a"]
    assert [one.name for one in queues.queues()] == there


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["Q", "Q"], 2, "must be different"),
        (["Q"], 2, "Missing argument 'TARGET'"),
        (["Q", "NOWHERE"], 1, "queue NOWHERE does not exist"),
        (["NOWHERE", "TO"], 1, "queue NOWHERE does not exist"),
    ],
)
def test_wrong_use(
    arguments: list[str], status: int, words: str, at: Mqk, queues: adapter.Connection
) -> None:
    said = at("move", *arguments)
    assert said.status == status
    assert words in said.err


def test_finding_users_13_those_that_fit_a_selection(at: Mqk, queues: adapter.Connection) -> None:
    for size in (1, 5, 9):
        queues.put("Q", str(size), properties={"size": size})
    said = at("move", "Q", "TO", "--selection", "size > 3")
    assert said.out == "2 messages moved from Q to TO\n"
    assert (bodies(queues, "Q"), bodies(queues, "TO")) == ([b"1"], [b"5", b"9"])
