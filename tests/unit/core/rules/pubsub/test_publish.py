"""Publishing: who gets a copy, what the copy says, and what happens to one that has no room."""

from typing import Any

import pytest

from adapter.core.contract import answers
from adapter.core.contract import commands as c
from adapter.core.contract.details import Details
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import NO_ID, MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.records import EventRaised
from adapter.core.contract.results import Done, Messages, PutDone, Subscribed, UnitOutcome
from adapter.core.model import report
from adapter.core.mq_layouts import dead_letter
from adapter.storage.format import entries
from tests.support.core import Client, Core
from tests.support.topics import (
    DURABLE,
    MANAGED,
    PUBLISHER,
    core_with_topics,
    publish,
    subscribe,
)


def test_each_subscription_that_means_the_topic_gets_a_copy(client: Client, core: Core) -> None:
    bob = core.connect()
    for handle, topic in ((10, "fruit/+"), (20, "fruit/#"), (30, "fruit/apple"), (40, "fish/#")):
        subscribe(bob, topic, handle=handle)
    publish(client, "fruit/apple", "red")
    assert [bob.get(handle=handle) for handle in (11, 21, 31, 41)] == [
        ["red"],
        ["red"],
        ["red"],
        [],
    ]


def test_a_copy_says_its_topic_and_has_the_correlation_id_of_its_subscription(
    client: Client,
) -> None:
    told = subscribe(client, "a/+", user_data="for me")
    done = publish(client, "a/b", "x", properties={"colour": "red"}, correlation_id=b"c" * 24)
    (got,) = client.take(handle=11)
    assert got.message.properties == {
        "colour": "red",
        "MQTopicString": "a/b",
        "MQSubUserData": "for me",
    }
    assert got.message.correlation_id == told.correlation_id == told.ident
    assert [got.message.message_id] == done.message_ids


@pytest.mark.parametrize(
    ("asked", "there"), [(b"s" * 24, b"s" * 24), (NO_ID, b"p" * 24), (b"", b"p" * 24)]
)
def test_a_subscription_may_have_another_correlation_id_or_the_publishers(
    client: Client, asked: bytes, there: bytes
) -> None:
    subscribe(client, "a", MANAGED | c.SET_CORRELATION, correlation_id=asked)
    publish(client, "a", "x", correlation_id=b"p" * 24)
    (got,) = client.take(handle=11)
    assert got.message.correlation_id == there


def test_copies_have_the_priority_and_persistence_of_the_topic_unless_told_otherwise(
    client: Client,
) -> None:
    given = {"topic_string": "a", "def_priority": 3, "def_persistence": "NO"}
    client.do(c.DefineObject("topic", "A", given))
    subscribe(client, "a/b", DURABLE, name="S")
    publish(client, "a/b", "left to the topic")
    publish(client, "a/b", "its own", priority=9, persistence=1)
    found = client.take(handle=11) + client.take(handle=11)
    assert [(one.message.priority, one.message.persistence) for one in found] == [(9, 1), (3, 0)]


def test_a_temporary_queue_gets_copies_that_are_not_persistent(client: Client) -> None:
    subscribe(client, "a")
    publish(client, "a", "x", persistence=1)
    assert [one.message.persistence for one in client.take(handle=11)] == [0]


def test_publications_of_a_unit_come_with_its_commit(client: Client, core: Core) -> None:
    bob = core.connect()
    subscribe(bob, "#")
    unit = client.begin()
    publish(client, "a", "1", "2", unit=unit)
    assert bob.get(handle=11) == []
    client.do(c.Commit(unit))
    assert bob.get(handle=11, limit=1) + bob.get(handle=11) == ["1", "2"]
    unit = client.begin()
    publish(client, "a", "3", unit=unit)
    client.do(c.Backout(unit))
    assert bob.get(handle=11) == []


def test_each_copy_counts_in_a_unit() -> None:
    client = core_with_topics(Limits(unit_messages=3)).connect()
    subscribe(client, "#", handle=10)
    subscribe(client, "a", handle=20)
    client.do(c.OpenTopic(PUBLISHER, "a"))
    unit = client.begin()
    assert (
        client.refused(c.Put(PUBLISHER, [MessageData(), MessageData()], unit))
        == Reason.UNIT_TOO_LARGE
    )
    assert isinstance(client.do(c.Put(PUBLISHER, [MessageData()], unit)), PutDone)


def test_outside_a_unit_there_are_as_many_copies_as_a_unit_may_have() -> None:
    client = core_with_topics(Limits(unit_messages=2)).connect()
    for handle in (10, 20, 30):
        subscribe(client, "#", handle=handle)
    client.do(c.OpenTopic(PUBLISHER, "a"))
    assert client.refused(c.Put(PUBLISHER, [MessageData()])) == Reason.UNIT_TOO_LARGE


def test_what_was_published_can_be_asked_again(client: Client, core: Core) -> None:
    """One unit of its own, with one outcome, however many copies there are."""
    subscribe(client, "a", DURABLE, name="ONE", handle=10)
    subscribe(client, "a", DURABLE, name="TWO", handle=20)
    done = publish(client, "a", "x")
    number = client.issued
    unit = client.session + (number | 1 << 63).to_bytes(8, "big")
    core.crash()
    bob = core.connect()
    bob.resume(client.session, [number], number)
    assert bob.do(c.AskOutcome(unit)) == UnitOutcome("committed")
    again = bob.do(c.Put(PUBLISHER, [MessageData(body=b"x")]), number)
    assert isinstance(again, PutDone)
    assert again.message_ids == done.message_ids


def test_nobody_needs_to_listen(client: Client) -> None:
    assert publish(client, "a", "x").warning == 0
    done = publish(client, "a", "x", options=c.WARN_NO_SUBSCRIBERS)
    assert done.warning == Reason.NO_SUBSCRIBERS
    subscribe(client, "a")
    assert publish(client, "a", "x", options=c.WARN_NO_SUBSCRIBERS).warning == 0


def with_full_queue(client: Client, *, durable: bool) -> None:
    """Two subscriptions; the queue of the first one is full."""
    client.define("FULL", max_depth=0)
    options = c.CREATE | (c.DURABLE if durable else 0)
    command = c.Subscribe(20, "a", "", "S", options, "FULL")
    client.do(command)
    subscribe(client, "a", DURABLE, name="OTHER")


@pytest.mark.parametrize(("durable", "persistence"), [(False, 1), (True, 0)])
def test_a_full_queue_keeps_nobody_else_from_a_copy(
    client: Client, durable: bool, persistence: int
) -> None:
    with_full_queue(client, durable=durable)
    publish(client, "a", "x", persistence=persistence)
    assert client.get(handle=11) == ["x"]


def test_all_or_none_of_the_durable_subscriptions_get_a_persistent_publication(
    client: Client,
) -> None:
    with_full_queue(client, durable=True)
    client.do(c.OpenTopic(PUBLISHER, "a"))
    refused = c.Put(PUBLISHER, [MessageData(persistence=1)])
    assert client.refused(refused) == Reason.PUBLICATION_FAILED
    assert client.get(handle=11) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (c.AlterQueue("FULL", {}), 2053),
        (c.AlterQueue("FULL", {"inhibit_put": True}), 2051),
        (c.AlterQueue("FULL", {"max_message_length": 0}), 2030),
        (c.DeleteQueue("FULL"), 2085),
    ],
)
def test_a_copy_without_room_goes_to_the_dead_letter_queue(
    client: Client, core: Core, change: c.Command, reason: int
) -> None:
    core.configure(dead_letter_queue="SYSTEM.DEAD.LETTER.QUEUE")
    with_full_queue(client, durable=True)
    client.do(change)
    publish(client, "a", "x", persistence=1)
    assert client.get(handle=11) == ["x"]
    client.open("SYSTEM.DEAD.LETTER.QUEUE", c.INPUT, handle=40)
    (buried,) = client.take(handle=40)
    header = dead_letter.from_dlh(buried.message.body)
    assert header is not None
    assert (header.reason, header.destination) == (reason, "FULL")
    assert buried.message.body.endswith(b"x")


def test_an_inhibited_topic_takes_no_publications_below_it_either(client: Client) -> None:
    closed = {"topic_string": "a", "publish": "DISABLED"}
    client.do(c.DefineObject("topic", "A", closed))
    client.do(c.DefineObject("topic", "C", {"topic_string": "a/b/c", "publish": "ENABLED"}))
    client.do(c.OpenTopic(PUBLISHER, "a/b"))
    assert client.refused(c.Put(PUBLISHER, [MessageData()])) == Reason.PUT_INHIBITED
    publish_below = c.OpenTopic(PUBLISHER + 1, "c/d", "C")
    client.do(publish_below)
    assert isinstance(client.do(c.Put(PUBLISHER + 1, [MessageData()])), PutDone)
    client.do(c.AlterObject("topic", "A", {"publish": "ASPARENT"}))
    assert isinstance(client.do(c.Put(PUBLISHER, [MessageData()])), PutDone)


def test_a_topics_handle_is_for_publications_only(client: Client) -> None:
    client.do(c.OpenTopic(1, "a"))
    assert client.refused(c.Get(1)) == Reason.NOT_OPEN_FOR_INPUT
    assert client.refused(c.SetAttributes(1, {})) == Reason.NOT_OPEN_FOR_SET
    assert (
        client.refused(c.Put(1, [MessageData()], options=c.LOGICAL_ORDER)) == Reason.OPTIONS_ERROR
    )
    assert client.refused(c.Put(1, [MessageData(), MessageData()])) == Reason.OPTIONS_ERROR
    assert client.refused(c.Put(1, [MessageData(priority=-2)])) == Reason.PRIORITY_ERROR


def test_a_full_queue_is_told_of_once(client: Client, core: Core) -> None:
    with_full_queue(client, durable=False)
    publish(client, "a", "x")
    assert core.queue("FULL").full_reported
    entries = len(core.entries)
    publish(client, "a", "y", persistence=0)
    assert len(core.entries) == entries


def test_a_put_of_many_publications_says_once_that_a_queue_is_full(client: Client) -> None:
    with_full_queue(client, durable=False)
    client.do(c.OpenTopic(30, "a"))
    copies = [MessageData(body=b"x", persistence=0) for _ in range(5)]
    unit = client.begin()
    effects = client.core.execute(c.Request(client.number, 1_000, 0, c.Put(30, copies, unit)))
    assert [type(record) for record in effects.records] == [EventRaised]


def test_two_subscriptions_of_one_queue_count_for_its_depth_together(client: Client) -> None:
    client.define("SMALL", max_depth=1)
    for handle in (10, 20):
        client.do(c.Subscribe(handle, "#", destination="SMALL"))
    publish(client, "a", "x")
    client.open("SMALL")
    assert client.get() + client.get() == ["x"]


@pytest.mark.parametrize("in_unit", [False, True])
def test_copies_are_trigger_events(client: Client, *, in_unit: bool) -> None:
    client.define("INIT")
    client.do(c.DefineObject("process", "P", {}))
    given = {"trigger_control": True, "trigger_type": "EVERY"}
    client.define("T", **given, initiation_queue="INIT", process="P")
    client.open("INIT", c.INPUT, handle=40)
    client.do(c.Subscribe(10, "a", destination="T"))
    unit = client.begin() if in_unit else b""
    publish(client, "a", "x", unit=unit)
    if in_unit:
        assert client.take(handle=40) == []
        client.do(c.Commit(unit))
    assert len(client.take(handle=40)) == 1


def test_copies_share_nothing_that_a_rule_may_change(client: Client, core: Core) -> None:
    queues = [subscribe(client, "#", handle=handle).queue for handle in (10, 20)]
    publish(client, "a", "x", details=Details(original_length=5), properties={"n": 1})
    one, other = (next(iter(core.queue(name).stored.values())).message for name in queues)
    assert one.details == other.details == Details(original_length=5, appl_type=6)
    assert one.details is not other.details
    assert one.properties is not other.properties


def events_of(core: Core) -> list[EventRaised]:
    decoded = [record for entry in core.entries for record in entries.decode(entry)]
    return [record for record in decoded if isinstance(record, EventRaised)]


def excepting(client: Client, core: Core) -> None:
    """Let a subscription's queue be full, and a queue to reply to be there."""
    core.configure(dead_letter_queue="SYSTEM.DEAD.LETTER.QUEUE")
    client.define("FULL", max_depth=0)
    client.define("REPLIES")
    attributes = {"topic_string": "a", "destination": "FULL"}
    client.do(c.DefineObject("subscription", "S", attributes))
    client.open("REPLIES", handle=2)


def test_an_exception_is_reported_with_its_reason(client: Client, core: Core) -> None:
    excepting(client, core)
    asked = 3 * report.EXCEPTION
    body = "x" * 200
    done = publish(client, "a", body, priority=4, persistence=1, report=asked, reply_to="REPLIES")
    (told,) = (one.message for one in client.take(handle=2))
    assert (told.message_type, told.feedback, told.body) == (report.REPORT, 2053, b"x" * 100)
    assert told.correlation_id == done.message_ids[0]
    assert (told.persistence, told.priority) == (1, 4)


def test_a_report_that_cannot_be_sent_is_an_event(client: Client, core: Core) -> None:
    excepting(client, core)
    asked = report.EXCEPTION | answers.DISCARD
    publish(client, "a", "x", persistence=1, report=asked, reply_to="NO.SUCH")
    (event,) = [one for one in events_of(core) if one.kind == "report_lost"]
    assert event.details == {"reply_to": "NO.SUCH", "reason": "2085"}


def test_reports_are_trigger_events(client: Client, core: Core) -> None:
    excepting(client, core)
    client.define("INITQ")
    client.do(c.DefineObject("process", "P", {}))
    client.do(c.Close(2))
    client.open("INITQ", handle=3)
    triggering = {"trigger_control": True, "initiation_queue": "INITQ", "process": "P"}
    client.do(c.AlterQueue("REPLIES", triggering))
    publish(client, "a", "x", report=report.EXCEPTION, reply_to="REPLIES", persistence=1)
    assert len(client.get(handle=3)) == 1
    assert client.get(handle=3) == [], "one, and not two"


def test_no_exception_is_reported_of_what_is_delivered(client: Client, core: Core) -> None:
    excepting(client, core)
    client.do(c.AlterQueue("FULL", {"max_depth": 9}))
    publish(client, "a", "x", report=report.EXCEPTION, reply_to="REPLIES")
    assert client.get(handle=2) == []


def test_the_highest_level_that_it_reaches_gets_a_publication(client: Client) -> None:
    for number, level in enumerate((0, 1, 5, 5, 9)):
        subscribe(client, "a", handle=100 + 10 * number, level=level)
    got = []
    for level in (9, 8, 5, 4, 1, 0):
        publish(client, "a", str(level), level=level)
        got.append([len(client.get(handle=handle)) for handle in range(101, 151, 10)])
    assert got == [
        [0, 0, 0, 0, 1],
        [0, 0, 1, 1, 0],
        [0, 0, 1, 1, 0],
        [0, 1, 0, 0, 0],
        [0, 1, 0, 0, 0],
        [1, 0, 0, 0, 0],
    ]


def test_nobody_below_and_on_request_is_reached_and_that_is_told(client: Client) -> None:
    subscribe(client, "a", level=5)
    subscribe(client, "a", MANAGED | c.ON_REQUEST, handle=20)
    publish(client, "a", "x", level=4)
    assert (client.get(handle=11), client.get(handle=21)) == ([], [])
    client.do(c.OpenTopic(9, "a"))
    warned = client.do(c.Put(9, [MessageData()], options=c.WARN_NO_SUBSCRIBERS, level=4))
    assert isinstance(warned, PutDone)
    assert warned.warning == Reason.NO_SUBSCRIBERS
    assert client.refused(c.Put(9, [MessageData()], level=10)) is Reason.OPTIONS_ERROR
    assert client.refused(c.Put(9, [MessageData()], level=-1)) is Reason.OPTIONS_ERROR


def test_a_selection_says_which_publications_a_subscription_gets(client: Client) -> None:
    subscribe(client, "a", selection="colour = 'red' AND Root.MQMD.Priority > 3")
    subscribe(client, "a", handle=20)
    publish(client, "a", "red", properties={"colour": "red"}, priority=4)
    publish(client, "a", "low", properties={"colour": "red"}, priority=3)
    publish(client, "a", "plain", priority=4)
    assert [client.get(handle=11) for _ in range(2)] == [["red"], []]
    assert [client.get(handle=21) for _ in range(3)] == [["red"], ["plain"], ["low"]]


def test_what_a_selection_leaves_out_matches_nobody(client: Client) -> None:
    """Neither is it intercepted, nor does it count as a subscriber."""
    subscribe(client, "a", level=2, selection="colour = 'red'")
    subscribe(client, "a", handle=20)
    publish(client, "a", "blue", properties={"colour": "blue"})
    publish(client, "a", "red", properties={"colour": "red"})
    assert client.get(handle=11) == ["red"]
    assert [client.get(handle=21) for _ in range(2)] == [["blue"], []]
    client.do(c.Close(20))
    client.do(c.OpenTopic(PUBLISHER, "a"))
    done = client.do(c.Put(PUBLISHER, [MessageData(body=b"x")], b"", c.WARN_NO_SUBSCRIBERS))
    assert isinstance(done, PutDone)
    assert done.warning == Reason.NO_SUBSCRIBERS


def test_a_selection_is_of_what_is_retained_too(client: Client) -> None:
    publish(client, "a/1", "red", properties={"colour": "red"}, options=c.RETAIN)
    publish(client, "a/2", "blue", properties={"colour": "blue"}, options=c.RETAIN)
    told = subscribe(client, "a/#", selection="colour = 'red'")
    assert told.retained == 1
    assert [client.get(handle=11) for _ in range(2)] == [["red"], []]
    assert client.do(c.SubscriptionRequest(10)) == Done(1)


def bind(client: Client, name: str, to: str = "Q", topic: str = "a/#", **fields: Any) -> None:
    """Define a durable subscription that puts to a queue."""
    given = {"topic_string": topic, "destination": to, **fields}
    assert client.do(c.DefineObject("subscription", name, given)) == Done()


def test_subscriptions_of_one_queue_whose_names_begin_alike_give_it_one_copy(
    client: Client, core: Core
) -> None:
    for queue in ("Q", "R"):
        client.define(queue)
        for number in range(3):
            bind(client, f"kombu {queue} {number}", queue)
    client.define("OTHER")
    bind(client, "kombu Q of another queue", "OTHER")
    bind(client, "kombu Q of another queue, too", "OTHER")
    done = publish(client, "a/b", "x")
    assert [core.queue(queue).depth for queue in ("Q", "R", "OTHER")] == [1, 1, 2]
    assert done.subscriptions == 4
    client.do(c.DeleteObject("subscription", "kombu Q 0"))
    publish(client, "a/b", "x")
    assert core.queue("Q").depth == 2
    core.crash_with_snapshot()
    publish(core.connect(), "a/b", "x")
    assert [core.queue(queue).depth for queue in ("Q", "R", "OTHER")] == [3, 3, 6]


@pytest.mark.parametrize(
    "names",
    [
        ("one", "two"),
        ("Q one", "Q two"),
        (" Q one", " Q two"),
        ("one Q", "two Q"),
        ("one Q ", "two Q "),
        ("kombu Q", "kombu Q2 one"),
        ("kombu  Q one", "kombu  Q two"),
        ("a kombu Q one", "a kombu Q two"),
    ],
)
def test_other_names_are_of_no_group(client: Client, core: Core, names: tuple[str, str]) -> None:
    client.define("Q")
    for name in names:
        bind(client, name)
    publish(client, "a/b", "x")
    assert core.queue("Q").depth == 2


def test_what_a_member_of_a_group_leaves_out_another_one_gives(client: Client, core: Core) -> None:
    client.define("Q")
    bind(client, "kombu Q red", selector="colour = 'red'")
    bind(client, "kombu Q apples", selector="fruit = 'apple'")
    for properties in ({"colour": "red"}, {"fruit": "apple"}, {"colour": "red", "fruit": "apple"}):
        publish(client, "a/b", "x", properties=properties)
    publish(client, "a/b", "x")
    assert core.queue("Q").depth == 3


def test_copies_have_the_priority_of_their_subscription(client: Client, core: Core) -> None:
    client.define("OWN", def_priority=6)
    client.do(c.DefineObject("alias", "ALIAS", {"target": "OWN", "def_priority": 7}))
    given = {"A": (5, ""), "B": (c.AS_QUEUE_SAYS, "OWN"), "C": (c.AS_QUEUE_SAYS, "ALIAS")}
    for handle, (name, (priority, destination)) in enumerate(given.items(), 10):
        options = c.CREATE | c.DURABLE | c.MANAGED * (not destination)
        wanted = c.Subscribe(handle, "a", name=name, options=options, destination=destination)
        wanted.priority = priority
        told = client.do(wanted)
        assert isinstance(told, Subscribed)
        assert told.priority == priority
    publish(client, "a", "x", priority=2)
    managed = core.qm.topics.named["A"].destination
    found = [stored.message.priority for stored in core.queue(managed).in_memory()]
    assert found == [5]
    assert [stored.message.priority for stored in core.queue("OWN").in_memory()] == [7, 6]


def test_a_priority_beyond_the_highest_is_not_told_of_a_copy_with_its_own(client: Client) -> None:
    subscribe(client, "a", priority=3)
    subscribe(client, "a", handle=20)
    publish(client, "a", "x", priority=12)
    found = []
    for handle in (11, 21):
        got = client.do(c.Get(handle))
        assert isinstance(got, Messages)
        message = got.messages[0].message
        assert message.details is not None
        found.append((message.priority, message.details.priority_asked))
    assert found == [(3, -1), (9, 12)]


@pytest.mark.parametrize("kind", ["alias", "remote"])
def test_the_name_of_its_queue_says_what_becomes_of_a_copy(
    kind: str, client: Client, core: Core
) -> None:
    client.define("OWN")
    client.define("XMIT", usage="XMITQ")
    client.define("DEAD")
    client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    leads = {"alias": {"target": "OWN"}, "remote": {"remote_name": "R"}}[kind]
    if kind == "remote":
        leads |= {"remote_queue_manager": "QM2", "transmission_queue": "XMIT"}
    says = {"def_priority": 7, "expiry_cap": 50}
    client.do(c.DefineObject(kind, "NAME", {**leads, **says}))
    options = c.CREATE | c.DURABLE
    asked = c.Subscribe(10, "a", name="S", options=options, destination="NAME")
    asked.priority = c.AS_QUEUE_SAYS
    client.do(asked)
    publish(client, "a", "x")
    (copy,) = core.queue("OWN" if kind == "alias" else "XMIT").in_memory()
    message = copy.message
    assert (message.priority, message.expires_at_ms) == (7, message.put_time_ms + 5_000)
    client.do(c.AlterObject(kind, "NAME", {"inhibit_put": True}))
    publish(client, "a", "y")
    (dead,) = core.queue("DEAD").in_memory()
    assert dead_letter.from_dlh(dead.message.body).reason == 2051


def test_an_alias_of_a_topic_shortens_the_life_of_what_is_put_by_it(client: Client) -> None:
    client.do(c.DefineObject("topic", "A", {"topic_string": "a"}))
    alias = {"target": "A", "target_type": "TOPIC", "expiry_cap": 50}
    client.do(c.DefineObject("alias", "ALIAS", alias))
    subscribe(client, "a")
    client.open("ALIAS", c.OUTPUT, handle=5)
    client.put("x", handle=5)
    (got,) = client.take(handle=11)
    assert got.message.expires_at_ms == got.message.put_time_ms + 5_000
