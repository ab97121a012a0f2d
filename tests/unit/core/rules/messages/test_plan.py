"""A plan of puts: which queue takes a message, and the one fate of a message that none takes."""

from typing import Any

import pytest

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.answers import DISCARD
from adapter.core.contract.details import SEGMENTATION_ALLOWED, Details
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.parked import ParkedQueue
from adapter.core.contract.reasons import Reason
from adapter.core.contract.records import EventRaised, QueueDefined
from adapter.core.contract.unit_records import UnitCommitted
from adapter.core.model.report import CONFIRM_ON_ARRIVAL, EXCEPTION
from adapter.core.mq_layouts import dead_letter
from adapter.core.mq_layouts.reason_codes import code_of
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.network import routes
from tests.support.core import START_MS, Client, client_on
from tests.support.digest import digest

DEAD, REPLIES = "DEAD", "REPLIES"


def message(body: bytes = b"12", **fields: Any) -> MessageData:
    return MessageData(body=body, priority=0, persistence=1, **fields)


def plan_on(client: Client) -> Plan:
    return Plan(client.core.qm, START_MS)


def obstacle(client: Client, name: str = "Q", planned: int = 0) -> int:
    """Why a message is undeliverable, as IBM MQ numbers it; 0 if it is not."""
    plan = plan_on(client)
    queue = routes.find_local(plan.qm, name).queue
    for _ in range(planned):
        assert plan.offer(queue, [message()]) is None
    reason = plan.offer(queue, [message()])
    return code_of(reason) if reason is not None else 0


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({}, 0),
        ({"inhibit_put": True}, 2051),
        ({"max_message_length": 1}, 2030),
        ({"max_depth": 1}, 2053),
        ({"inhibit_put": True, "max_message_length": 1, "max_depth": 1}, 2051),
    ],
)
def test_why_a_queue_takes_no_message(attributes: dict[str, Any], reason: int) -> None:
    client = client_on("Q")
    client.put("before")
    client.do(c.AlterQueue("Q", attributes))
    assert obstacle(client) == reason


def test_what_is_planned_counts() -> None:
    client = client_on("Q", max_depth=2)
    assert [obstacle(client, planned=planned) for planned in (0, 1, 2)] == [0, 0, 2053]


def test_messages_that_belong_together_are_planned_together_or_not_at_all() -> None:
    client = client_on("Q", max_depth=2)
    plan = plan_on(client)
    queue = client.core.queue("Q")
    assert plan.offer(queue, [message() for _ in range(3)]) is Reason.QUEUE_FULL
    assert plan.puts == []
    assert plan.offer(queue, [message() for _ in range(2)]) is None


def test_an_alias_leads_to_its_queue_and_a_name_of_nothing_nowhere() -> None:
    client = client_on("Q")
    client.do(c.DefineObject("alias", "A", {"target": "Q"}))
    assert (obstacle(client, "A"), obstacle(client, "NO.SUCH")) == (0, 2085)


def test_a_queue_whose_topic_cannot_be_written_takes_no_more_than_may_wait() -> None:
    client = client_on("Q", limits=Limits(parked_bytes=10))
    client.core.qm.parked = {"Q": ParkedQueue(0, 10, "no such topic")}
    assert obstacle(client) == 2192


def burying(dead_depth: int = 10, reply_depth: int = 10) -> Client:
    """A queue that takes nothing, a dead-letter queue, and one for reports."""
    client = client_on("Q", max_depth=0)
    client.do(c.DefineQueue(DEAD, {"max_depth": dead_depth}))
    client.do(c.DefineQueue(REPLIES, {"max_depth": reply_depth}))
    client.do(c.AlterObject("queue_manager", client.core.qm.name, {"dead_letter_queue": DEAD}))
    return client


def fate(client: Client, report: int = 0) -> tuple[Reason | None, list[str], list[str]]:
    """What a plan does with a message that its queue does not take: whether it is left to the
    caller, where messages go, and where reports do.
    """
    plan = plan_on(client)
    lost = message(report=report, reply_to=REPLIES if report else "", message_id=bytes(24))
    reason = plan.offer(client.core.queue("Q"), [lost])
    assert reason is Reason.QUEUE_FULL
    left = plan.give_up(lost, "Q", "", reason)
    events = [one.kind for one in plan.records if isinstance(one, EventRaised)]
    return (
        left,
        [queue.name for queue, _ in plan.puts],
        [queue.name for queue, _ in plan.reports] + events,
    )


def test_a_message_that_its_queue_does_not_take_has_one_fate() -> None:
    client = burying()
    assert fate(client) == (None, [DEAD], [])
    assert fate(client, EXCEPTION) == (None, [DEAD], [REPLIES])
    assert fate(client, EXCEPTION | DISCARD) == (None, [], [REPLIES])
    assert fate(client, DISCARD) == (None, [], [])


def test_what_the_dead_letter_queue_does_not_take_is_left_to_the_caller() -> None:
    assert fate(burying(dead_depth=0)) == (Reason.QUEUE_FULL, [], [])
    assert fate(burying(dead_depth=0), DISCARD) == (None, [], [])
    assert fate(client_on("Q", max_depth=0)) == (Reason.QUEUE_NOT_FOUND, [], [])


def test_a_report_without_room_is_a_dead_letter_itself_or_lost() -> None:
    assert fate(burying(reply_depth=0), EXCEPTION) == (None, [DEAD], [DEAD])
    assert fate(burying(1, 0), EXCEPTION) == (Reason.QUEUE_FULL, [], [DEAD])
    lost = fate(burying(reply_depth=0), EXCEPTION | DISCARD)
    assert lost == (None, [], ["report_lost"])


def test_nothing_is_changed_until_the_plan_ends() -> None:
    client = burying()
    client.core.give(inputs.QueueManagersKnown(frozenset({"QM2"})))
    before = digest(client.core.qm)
    plan = plan_on(client)
    there = routes.find(plan.qm, "FAR", "QM2", plan.new_queues)
    assert plan.send(there, message()) is None
    assert plan.bury([message()], "Q", 2053) is None
    assert digest(client.core.qm) == before
    defined, committed = plan.record()
    assert isinstance(defined, QueueDefined)
    assert isinstance(committed, UnitCommitted)
    assert [(one.queue, one.index) for one in committed.puts] == [("QM2", 0), (DEAD, 1)]


def test_a_plan_without_messages_records_no_unit() -> None:
    plan = plan_on(client_on("Q"))
    assert plan.record() == []


def test_a_report_of_arrival_finds_no_room_that_the_message_itself_takes() -> None:
    client = burying(reply_depth=1)
    plan = plan_on(client)
    asks = message(report=CONFIRM_ON_ARRIVAL, reply_to=REPLIES, message_id=bytes(24))
    assert plan.offer(client.core.queue(REPLIES), [asks]) is None
    plan.report(asks, CONFIRM_ON_ARRIVAL)
    assert [queue.name for queue, _ in plan.puts + plan.reports] == [REPLIES, DEAD]


def test_a_header_says_why_it_is_dead_and_what_follows() -> None:
    plan = plan_on(burying())
    plan.bury([MessageData(body=b"12", format="MQSTR", ccsid=850, encoding=273)], "Q", 2053)
    plan.bury([message()], "Q", 2087, "QM9")
    (_, buried), (_, elsewhere) = plan.puts
    header, body = dead_letter.split(buried.format, buried.body)
    assert header is not None
    assert body == b"12"
    assert (header.reason, header.destination, header.destination_queue_manager) == (
        2053,
        "Q",
        plan.qm.name,
    )
    assert (header.format, header.ccsid, header.encoding) == ("MQSTR", 850, 273)
    assert (buried.format, buried.ccsid, buried.encoding) == ("MQDEAD", 1208, 546)
    assert (header.put_date, header.put_time) == dead_letter.stamps(START_MS)
    assert dead_letter.from_dlh(elsewhere.body).destination_queue_manager == "QM9"


@pytest.mark.parametrize("in_unit", [False, True])
@pytest.mark.parametrize(("depth", "fires"), [(1, True), (2, True), (3, True), (4, False)])
def test_a_depth_trigger_counts_each_segment_of_a_message(
    depth: int, fires: bool, in_unit: bool
) -> None:
    """Of a put of its own at once, and of a unit when it is committed."""
    client = client_on("INITQ")
    client.do(c.DefineObject("process", "P", {"appl_id": "server"}))
    at_depth = {"trigger_control": True, "trigger_type": "DEPTH", "trigger_depth": depth}
    triggered = at_depth | {"initiation_queue": "INITQ", "process": "P"}
    client.define("Q", max_message_length=4, **triggered)
    monitor = client.core.connect()
    monitor.open("INITQ", c.INPUT)
    client.open("Q", c.OUTPUT, handle=2)
    unit = client.begin() if in_unit else b""
    client.put("x" * 12, unit=unit, handle=2, details=Details(flags=SEGMENTATION_ALLOWED))
    if in_unit:
        assert not monitor.take(), "nothing is committed yet"
        client.do(c.Commit(unit))
    assert len(client.core.queue().stored) == 3
    assert len(monitor.take()) == fires
    assert not monitor.take(), "one message is one event"
