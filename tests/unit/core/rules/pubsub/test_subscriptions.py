"""Subscriptions: made, resumed, altered, closed and deleted; which outlive what."""

from typing import Any

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Messages, Objects, Refused, Subscribed
from tests.support.core import Client, Core
from tests.support.topics import (
    DURABLE,
    MANAGED,
    PUBLISHER,
    core_with_topics,
    publish,
    subscribe,
)

RESUMED = c.RESUME | c.DURABLE


def test_a_durable_one_collects_while_its_program_is_away(client: Client, core: Core) -> None:
    told = subscribe(client, "a/#", DURABLE, name="My own: S", user_data="u")
    client.lose()
    bob = core.connect()
    publish(bob, "a/b", "x")
    core.crash_with_snapshot()
    bob = core.connect()
    publish(bob, "a/c", "y")
    again = subscribe(bob, "", RESUMED, name="My own: S")
    assert again == told
    assert again.options == c.DURABLE | c.MANAGED
    assert again.queue.startswith("SYSTEM.MANAGED.DURABLE.")
    assert bob.get(handle=11) + bob.get(handle=11) == ["x", "y"]


def test_any_other_ends_with_its_handle_and_its_queue_with_both(client: Client, core: Core) -> None:
    told = subscribe(client, "a")
    assert told.queue.startswith("SYSTEM.MANAGED.NDURABLE.")
    publish(client, "a", "x")
    client.do(c.CloseSubscription(10))
    publish(client, "a", "y")
    assert client.get(handle=11) == ["x"]
    assert client.get(handle=11) == []
    client.do(c.Close(11))
    assert told.queue not in core.qm.queues


def test_closing_the_queue_first_leaves_the_subscription(client: Client, core: Core) -> None:
    told = subscribe(client, "a")
    client.do(c.Close(11))
    publish(client, "a", "x")
    client.open(told.queue, c.INPUT, handle=12)
    assert client.get(handle=12) == ["x"]
    client.do(c.Close(12))
    client.do(c.Close(10))
    assert told.queue not in core.qm.queues


def test_a_lost_connection_ends_what_is_not_durable(client: Client, core: Core) -> None:
    soft, hard = subscribe(client, "a"), subscribe(client, "a", DURABLE, handle=20, name="S")
    client.define("OWN")
    client.do(c.Subscribe(30, "a", destination="OWN"))
    client.lose()
    publish(core.connect(), "a", "x")
    assert soft.queue not in core.qm.queues
    assert core.queue(hard.queue).depth == 1
    assert core.queue("OWN").depth == 0


def test_a_restart_knows_only_what_is_durable(client: Client, core: Core) -> None:
    subscribe(client, "a")
    subscribe(client, "b", DURABLE, handle=20, name="S")
    core.crash()
    matcher = core.qm.topics.matcher
    assert (len(matcher.matching("a")), len(matcher.matching("b"))) == (0, 1)


def test_a_queue_of_ones_own(client: Client) -> None:
    client.define("OWN")
    client.do(c.DefineObject("alias", "ALIAS", {"target": "OWN"}))
    told = client.do(c.Subscribe(10, "a", "", "S", c.CREATE | c.DURABLE, "ALIAS"))
    assert isinstance(told, Subscribed)
    assert (told.queue, told.options) == ("OWN", c.DURABLE)
    publish(client, "a", "x")
    client.open("OWN", handle=20)
    assert client.get(handle=20) == ["x"]
    client.do(c.CloseSubscription(10, remove=True))
    assert "OWN" in client.core.qm.queues
    publish(client, "a", "y")
    assert client.get(handle=20) == []


def test_removing_a_durable_one_takes_its_managed_queue(client: Client, core: Core) -> None:
    told = subscribe(client, "a", DURABLE, name="S")
    publish(client, "a", "x")
    unit = client.begin()
    assert client.get(unit, handle=11) == ["x"]
    bob = core.connect()
    bob.open(told.queue, c.INPUT)
    waits = bob.send(c.Get(1, wait_ms=-1))
    client.do(c.CloseSubscription(10, remove=True))
    refused = bob.answer(waits)
    assert isinstance(refused, Refused)
    assert refused.reason == Reason.QUEUE_DELETED
    assert told.queue not in core.qm.queues
    assert client.do(c.Commit(unit)) == Done(0)
    core.crash()
    assert not core.qm.topics.named
    assert told.queue not in core.qm.queues


def test_keeping_is_what_a_close_does_unless_told(client: Client) -> None:
    subscribe(client, "a", DURABLE, name="S")
    client.do(c.CloseSubscription(10))
    client.do(c.Close(11))
    assert subscribe(client, "a", DURABLE | c.RESUME, name="S").retained == 0


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (c.Subscribe(5, "a", "", "S", c.CREATE | c.MANAGED), Reason.SUBSCRIPTION_EXISTS),
        (c.Subscribe(5, "a", "", "S", RESUMED), Reason.SUBSCRIPTION_IN_USE),
        (c.Subscribe(5, "a", "", "T", RESUMED), Reason.SUBSCRIPTION_NOT_FOUND),
        (c.Subscribe(5, "b", "", "FREE", RESUMED), Reason.TOPIC_NOT_ALTERABLE),
        (c.Subscribe(5, "", "", "FREE", c.ALTER), Reason.DURABILITY_NOT_ALTERABLE),
        (
            c.Subscribe(5, "", "", "FREE", c.ALTER | c.DURABLE, "Q"),
            Reason.DESTINATION_CLASS_NOT_ALTERABLE,
        ),
        (c.Subscribe(5, "b", "", "", DURABLE), Reason.SUBSCRIPTION_NAME_ERROR),
        (c.Subscribe(5, "b", "", "x" * 10_241, DURABLE), Reason.SUBSCRIPTION_NAME_ERROR),
        (c.Subscribe(5, "", "", "N", DURABLE), Reason.TOPIC_STRING_ERROR),
        (c.Subscribe(5, "x" * 10_241, "", "N", DURABLE), Reason.TOPIC_STRING_ERROR),
        (c.Subscribe(5, "x/" * 256, "", "N", DURABLE), Reason.TOPIC_STRING_ERROR),
        (c.Subscribe(5, "b", "NONE", "N", DURABLE), Reason.OBJECT_NOT_FOUND),
        (c.Subscribe(5, "b", "", "N", DURABLE, "Q"), Reason.OPTIONS_ERROR),
        (c.Subscribe(5, "b", options=0), Reason.OPTIONS_ERROR),
        (c.Subscribe(5, "b", options=1024 | c.CREATE), Reason.OPTIONS_ERROR),
        (c.Subscribe(5, "b", options=MANAGED, user_data="x" * 10_241), Reason.OPTIONS_ERROR),
        (c.Subscribe(5, "b", options=MANAGED, correlation_id=b"x"), Reason.IDENTIFIER_ERROR),
        (c.Subscribe(5, "b", destination="NONE"), Reason.QUEUE_NOT_FOUND),
        (c.Subscribe(10, "b", options=MANAGED), Reason.HANDLE_IN_USE),
        (c.Subscribe(5, "b", options=MANAGED, queue_handle=10), Reason.HANDLE_IN_USE),
        (c.Subscribe(5, "no/x", options=MANAGED), Reason.SUBSCRIBE_INHIBITED),
        (c.Subscribe(5, "soft/x", "", "N", DURABLE), Reason.DURABILITY_NOT_ALLOWED),
        (c.CloseSubscription(11), Reason.HANDLE_NOT_OPEN),
        (c.CloseSubscription(99), Reason.HANDLE_NOT_OPEN),
        (c.SubscriptionRequest(11), Reason.HANDLE_NOT_OPEN),
        (c.Put(10, [MessageData()]), Reason.NOT_OPEN_FOR_OUTPUT),
        (c.DeleteObject("subscription", "S"), Reason.SUBSCRIPTION_IN_USE),
        (c.DeleteObject("subscription", "T"), Reason.SUBSCRIPTION_NOT_FOUND),
    ],
)
def test_what_is_refused_changes_nothing(
    client: Client, core: Core, command: c.Command, reason: Reason
) -> None:
    client.do(c.DefineObject("topic", "NO", {"topic_string": "no", "subscribe": "DISABLED"}))
    client.do(c.DefineObject("topic", "SOFT", {"topic_string": "soft", "durable": "NO"}))
    given = {"topic_string": "free", "destination_class": "MANAGED"}
    client.do(c.DefineObject("subscription", "FREE", given))
    subscribe(client, "a", DURABLE, name="S")
    before = (len(core.entries), set(core.qm.connections[client.number].handles))
    names = set(core.qm.queues)
    assert client.refused(command) == reason
    assert set(core.qm.queues) == names
    assert (len(core.entries), set(core.qm.connections[client.number].handles)) == before


def test_altering_by_a_program(client: Client) -> None:
    client.define("OWN")
    client.define("OTHER")
    client.do(c.Subscribe(10, "a", "", "S", c.CREATE | c.DURABLE, "OWN", user_data="old"))
    client.do(c.CloseSubscription(10))
    altered = c.Subscribe(
        10, "", "", "S", c.ALTER | c.DURABLE | c.SET_CORRELATION, "OTHER", 0, "new", b"c" * 24
    )
    told = client.do(altered)
    assert isinstance(told, Subscribed)
    assert (told.queue, told.user_data, told.correlation_id) == ("OTHER", "new", b"c" * 24)
    publish(client, "a", "x")
    client.open("OTHER", handle=20)
    (got,) = client.take(handle=20)
    assert got.message.correlation_id == b"c" * 24
    assert got.message.properties is not None
    assert got.message.properties["MQSubUserData"] == "new"


def test_administrators_define_alter_and_delete_them(client: Client, core: Core) -> None:
    client.define("Q")
    client.do(c.DefineObject("topic", "FRUIT", {"topic_string": "fruit"}))
    given = {"topic_string": "+", "topic_object": "FRUIT", "destination": "Q"}
    client.do(c.DefineObject("subscription", "a sub", given))
    publish(client, "fruit/apple", "x")
    told = client.do(c.InquireObjects("subscription", "*"))
    assert isinstance(told, Objects)
    assert told.objects[0].attributes["topic_string"] == "fruit/+"
    client.do(c.AlterObject("subscription", "a sub", {"user_data": "u", "on_request": True}))
    publish(client, "fruit/apple", "y")
    core.crash_with_snapshot()
    client = core.connect()
    publish(client, "fruit/apple", "z")
    client.do(c.AlterObject("subscription", "a sub", {"on_request": False}))
    publish(client, "fruit/apple", "last")
    client.open("Q")
    assert client.get() + client.get() == ["x", "last"]
    client.do(c.DeleteObject("subscription", "a sub"))
    publish(client, "fruit/apple", "never")
    assert client.get() == []


@pytest.mark.parametrize("topic_string", ["x", "fruit/x", None])
def test_a_definition_with_replace_may_be_given_again(
    client: Client, core: Core, topic_string: str | None
) -> None:
    """A script is run twice; the topic is given as it was, or whole."""
    client.define("Q")
    client.do(c.DefineObject("topic", "FRUIT", {"topic_string": "fruit"}))
    given = {"topic_string": "x", "topic_object": "FRUIT", "destination": "Q"}
    client.do(c.DefineObject("subscription", "S", given, replace=True))
    again = {key: one for key, one in given.items() if key != "topic_string"}
    if topic_string is not None:
        again["topic_string"] = topic_string
    client.do(c.DefineObject("subscription", "S", again | {"user_data": "u"}, replace=True))
    client.do(c.AlterObject("subscription", "S", again))
    core.crash()
    client = core.connect()
    publish(client, "fruit/x", "y")
    client.open("Q")
    (got,) = client.take()
    assert got.message.properties == {"MQTopicString": "fruit/x", "MQSubUserData": "u"}


def test_a_managed_one_of_an_administrator_has_its_queue_at_once(
    client: Client, core: Core
) -> None:
    given = {"topic_string": "a", "destination_class": "MANAGED"}
    client.do(c.DefineObject("subscription", "S", given))
    publish(client, "a", "x")
    subscribe(client, "a", RESUMED, name="S")
    assert client.get(handle=11) == ["x"]
    client.do(c.CloseSubscription(10))
    names = len(core.qm.queues)
    client.do(c.DeleteObject("subscription", "S"))
    assert len(core.qm.queues) == names - 1


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"topic_string": "other"}, Reason.TOPIC_NOT_ALTERABLE),
        ({"topic_object": "SYSTEM.BASE.TOPIC"}, Reason.TOPIC_NOT_ALTERABLE),
        ({"destination_class": "MANAGED"}, Reason.ATTRIBUTE_ERROR),
        ({"correlation_id": "zz"}, Reason.ATTRIBUTE_ERROR),
        ({"destination": "NONE"}, Reason.QUEUE_NOT_FOUND),
        ({"ident": "00"}, Reason.ATTRIBUTE_ERROR),
    ],
)
def test_what_an_alteration_may_not_do(
    client: Client, attributes: dict[str, object], reason: Reason
) -> None:
    client.define("Q")
    client.do(c.DefineObject("subscription", "S", {"topic_string": "a", "destination": "Q"}))
    assert client.refused(c.AlterObject("subscription", "S", attributes)) == reason


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"topic_string": "a"}, Reason.QUEUE_NOT_FOUND),
        ({"destination": "SYSTEM.DEAD.LETTER.QUEUE"}, Reason.TOPIC_STRING_ERROR),
        (
            {"topic_string": "a", "destination": "Q", "destination_class": "MANAGED"},
            Reason.OPTIONS_ERROR,
        ),
    ],
)
def test_what_a_definition_may_not_say(
    client: Client, attributes: dict[str, object], reason: Reason
) -> None:
    assert client.refused(c.DefineObject("subscription", "S", attributes)) == reason


def test_there_are_as_many_as_objects_may_be() -> None:
    client = core_with_topics().connect()
    client.core.qm.limits = Limits(objects=len(client.core.qm.objects))
    command = c.Subscribe(10, "a", "", "S", DURABLE)
    assert client.refused(command) == Reason.LIMIT_REACHED


def test_a_get_waits_for_publications(client: Client, core: Core) -> None:
    subscribe(client, "a")
    waits = client.send(c.Get(11, wait_ms=-1))
    publish(core.connect(), "a", "x")
    told = client.answer(waits)
    assert isinstance(told, Messages)
    assert [one.message.body for one in told.messages] == [b"x"]


def test_a_publisher_is_listed_among_handles(client: Client) -> None:
    client.do(c.OpenTopic(PUBLISHER, "a"))
    told = client.do(c.AskConnections(handles=True))
    assert [one.queue for one in told.handles] == ["a"]  # type: ignore[union-attr]


def test_a_level_is_told_kept_and_not_altered(client: Client, core: Core) -> None:
    assert subscribe(client, "a", DURABLE, name="S", level=5).level == 5
    client.lose()
    core.crash_with_snapshot()
    bob = core.connect()
    again = c.Subscribe(10, name="S", options=RESUMED)
    told = bob.do(again)
    assert isinstance(told, Subscribed)
    assert told.level == 5
    publish(bob, "a", "below", level=4)
    publish(bob, "a", "reached", level=5)
    bob.open(told.queue, c.INPUT, handle=12)
    assert bob.get(handle=12) + bob.get(handle=12) == ["reached"]
    altered = c.AlterObject("subscription", "S", {"sub_level": 4})
    assert bob.refused(altered) is Reason.LEVEL_NOT_ALTERABLE
    bob.do(c.AlterObject("subscription", "S", {"sub_level": 5}))
    on_request = c.AlterObject("subscription", "S", {"on_request": True})
    assert bob.refused(on_request) is Reason.OPTIONS_ERROR


@pytest.mark.parametrize(
    ("options", "level"), [(MANAGED, 10), (MANAGED, -1), (MANAGED | c.ON_REQUEST, 2)]
)
def test_levels_that_are_none(client: Client, options: int, level: int) -> None:
    assert client.refused(c.Subscribe(1, "a", options=options, level=level)) is Reason.OPTIONS_ERROR


def test_what_intercepts_is_not_defined_to_be_on_request(client: Client) -> None:
    client.define("Q")
    given = {"topic_string": "a", "destination": "Q", "on_request": True, "sub_level": 2}
    assert client.refused(c.DefineObject("subscription", "S", given)) is Reason.OPTIONS_ERROR
    client.do(c.DefineObject("subscription", "S", given | {"sub_level": 0}))


def test_what_is_retained_is_not_intercepted(client: Client) -> None:
    publish(client, "a", "kept", options=c.RETAIN)
    found = [subscribe(client, "a", handle=10 * (1 + n), level=n).retained for n in (0, 1, 2)]
    assert found == [1, 1, 0]


def test_a_selection_and_a_priority_are_kept(client: Client, core: Core) -> None:
    subscribe(client, "a", DURABLE, name="S", selection="n > 1", priority=7)
    client.lose()
    core.crash_with_snapshot()
    bob = core.connect()
    told = subscribe(bob, "", RESUMED, name="S")
    assert (told.selection, told.priority) == ("n > 1", 7)
    publish(bob, "a", "1", properties={"n": 1})
    publish(bob, "a", "2", properties={"n": 2})
    (found,) = bob.take(handle=11)
    assert (found.message.body, found.message.priority) == (b"2", 7)


def test_a_priority_is_altered_and_a_selection_is_not(client: Client) -> None:
    subscribe(client, "a", DURABLE, name="S", selection="n > 1", priority=7)
    client.do(c.CloseSubscription(10))
    altering = c.Subscribe(10, name="S", options=c.ALTER | c.DURABLE | c.MANAGED)
    altering.selection = "n > 2"
    assert client.refused(altering) is Reason.SELECTOR_NOT_ALTERABLE
    altering.selection, altering.priority = "n > 1", 3
    told = client.do(altering)
    assert isinstance(told, Subscribed)
    assert (told.selection, told.priority) == ("n > 1", 3)
    publish(client, "a", "2", properties={"n": 2})
    client.do(c.AlterObject("subscription", "S", {"pub_priority": c.AS_QUEUE_SAYS}))
    publish(client, "a", "3", properties={"n": 3}, priority=9)
    found = [client.take(handle=11)[0].message for _ in range(2)]
    assert [(one.body, one.priority) for one in found] == [(b"2", 3), (b"3", 0)]
    selector = c.AlterObject("subscription", "S", {"selector": "n > 2"})
    assert client.refused(selector) is Reason.SELECTOR_NOT_ALTERABLE
    client.do(c.AlterObject("subscription", "S", {"selector": "n > 1"}))


def test_selections_and_priorities_that_are_none(client: Client, core: Core) -> None:
    def refused(**fields: Any) -> Reason:
        return client.refused(c.Subscribe(10, "a", options=MANAGED, **fields))

    assert refused(selection="n >") is Reason.SELECTOR_SYNTAX_ERROR
    assert refused(selection="n" * 10_241) is Reason.SELECTION_TOO_LONG
    assert [refused(priority=number) for number in (-4, -2, 10)] == [Reason.PRIORITY_ERROR] * 3
    client.define("Q")

    def undefined(**attributes: Any) -> Reason:
        given = {"topic_string": "a", "destination": "Q"} | attributes
        return client.refused(c.DefineObject("subscription", "S", given))

    assert undefined(selector="n >") is Reason.SELECTOR_SYNTAX_ERROR
    assert undefined(pub_priority=-2) is Reason.PRIORITY_ERROR
    assert not core.qm.topics.named
    given = {"topic_string": "a", "destination": "Q", "selector": "n > 1", "pub_priority": 5}
    client.do(c.DefineObject("subscription", "S", given))
    publish(client, "a", "1", properties={"n": 1})
    publish(client, "a", "2", properties={"n": 2})
    assert [stored.message.priority for stored in core.queue("Q").in_memory()] == [5]
