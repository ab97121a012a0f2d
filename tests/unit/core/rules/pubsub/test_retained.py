"""Retained publications: one for each topic, within bounds, there again after a restart."""

from typing import Any

import pytest

from adapter.core.attributes.system import RETAINED_QUEUE
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import NO_ID, MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done
from tests.support.core import Client, Core
from tests.support.topics import (
    MANAGED,
    PUBLISHER,
    core_with_topics,
    publish,
    subscribe,
)


def retain(client: Client, topic: str, body: str, unit: bytes = b"", **fields: Any) -> None:
    publish(client, topic, body, unit=unit, options=c.RETAIN, **fields)


def found(client: Client, topic: str, handle: int = 10) -> list[str]:
    """What a new subscription gets at once."""
    told = subscribe(client, topic, handle=handle)
    got = [client.get(handle=handle + 1) for _ in range(told.retained + 1)]
    client.do(c.Close(handle + 1))
    client.do(c.CloseSubscription(handle))
    return [body for bodies in got for body in bodies]


def test_the_last_one_of_each_topic_is_given_to_whoever_subscribes(client: Client) -> None:
    retain(client, "a/b", "old")
    retain(client, "a/b", "new")
    retain(client, "a/c", "other")
    publish(client, "a/c", "not retained")
    assert found(client, "a/b") == ["new"]
    assert sorted(found(client, "#")) == ["new", "other"]
    assert found(client, "a") == []


def test_a_copy_says_that_it_was_retained(client: Client) -> None:
    retain(client, "a", "x", correlation_id=b"p" * 24, properties={"n": 1})
    subscribe(client, "a", MANAGED | c.SET_CORRELATION)
    (got,) = client.take(handle=11)
    assert got.message.properties == {"n": 1, "MQTopicString": "a", "MQIsRetained": True}
    assert got.message.correlation_id == b"p" * 24


@pytest.mark.parametrize("said", ["text", True, 1.5, b"short", bytes(24)])
@pytest.mark.parametrize("correlation_id", [b"", b"p" * 24])
def test_what_the_queue_manager_says_of_a_publication_is_not_its_publishers_to_say(
    client: Client, core: Core, said: object, correlation_id: bytes
) -> None:
    names = ("MQTopicString", "MQIsRetained", "MQSubUserData", "MQKCorrelId")
    properties = {"n": 1, **dict.fromkeys(names, said)}
    subscribe(client, "a")
    fields: dict[str, Any] = {"correlation_id": correlation_id, "properties": properties}
    publish(client, "a", "x", **fields)
    (got,) = client.take(handle=11)
    assert got.message.properties == {"n": 1, "MQTopicString": "a"}
    retain(client, "a", "x", persistence=1, **fields)
    core.crash()
    again = core.connect()
    subscribe(again, "a", MANAGED | c.SET_CORRELATION)
    (got,) = again.take(handle=11)
    assert got.message.properties == {"n": 1, "MQTopicString": "a", "MQIsRetained": True}
    assert got.message.correlation_id == (correlation_id or NO_ID)


def test_it_is_given_again_on_request(client: Client) -> None:
    subscribe(client, "a", MANAGED | c.ON_REQUEST)
    assert client.refused(c.SubscriptionRequest(10)) == Reason.NO_RETAINED_MESSAGE
    retain(client, "a", "x")
    publish(client, "a", "only for others")
    assert client.get(handle=11) == []
    assert client.do(c.SubscriptionRequest(10)) == Done(1)
    assert client.do(c.SubscriptionRequest(10)) == Done(1)
    assert client.get(handle=11) + client.get(handle=11) == ["x", "x"]


def test_new_publications_only(client: Client) -> None:
    retain(client, "a", "x")
    assert subscribe(client, "a", MANAGED | c.NEW_ONLY).retained == 0


def test_it_expires_like_any_message(client: Client, core: Core) -> None:
    retain(client, "a", "x", expiry_ms=5_000)
    core.advance(4)
    subscribe(client, "a")
    assert client.do(c.SubscriptionRequest(10)) == Done(1)
    subscribe(client, "a", handle=20)
    (late,) = client.take(handle=21)
    assert late.message.expiry_ms == 1_000
    core.advance(2)
    assert client.get(handle=11) == []
    assert client.refused(c.SubscriptionRequest(10)) == Reason.NO_RETAINED_MESSAGE


def test_one_that_has_expired_and_is_there_still_is_given_to_no_subscription(
    client: Client, core: Core
) -> None:
    subscribe(client, "a")
    retain(client, "a", "x", expiry_ms=5_000)
    core.now_ms += 5_000  # and no tick yet
    assert subscribe(client, "a", handle=20).retained == 0
    assert client.refused(c.SubscriptionRequest(10)) == Reason.NO_RETAINED_MESSAGE


def test_in_a_unit_it_takes_effect_at_the_commit(client: Client) -> None:
    retain(client, "a", "before")
    unit = client.begin()
    retain(client, "a", "never", unit)
    client.do(c.Backout(unit))
    assert found(client, "a") == ["before"]
    unit = client.begin()
    retain(client, "a", "after", unit)
    assert found(client, "a") == ["before"]
    client.do(c.Commit(unit))
    assert found(client, "a") == ["after"]


def test_units_at_the_same_time_leave_the_last_one_and_nothing_grows(
    client: Client, core: Core
) -> None:
    for _ in range(3):
        one, two = client.begin(), client.begin()
        retain(client, "a", "two", two)
        retain(client, "a", "one", one)
        client.do(c.Commit(one))
        client.do(c.Commit(two))
    assert found(client, "a") == ["two"]
    assert core.queue(RETAINED_QUEUE).depth <= 4
    retain(client, "a", "alone")
    assert core.queue(RETAINED_QUEUE).depth == 1


def test_several_of_one_put_leave_the_last(client: Client) -> None:
    unit = client.begin()
    publish(client, "a", "1", "2", unit=unit, options=c.RETAIN)
    client.do(c.Commit(unit))
    assert found(client, "a") == ["2"]


@pytest.mark.parametrize("snapshot", [False, True], ids=["crash", "crash after a snapshot"])
def test_persistent_ones_are_there_after_a_crash(core: Core, *, snapshot: bool) -> None:
    client = core.connect()
    for number in range(30):
        retain(client, f"a/{number % 20}", str(number))
    retain(client, "soft", "x", persistence=0)
    core.crash_with_snapshot() if snapshot else core.crash()
    client = core.connect()
    assert sorted(map(int, found(client, "a/+"))) == list(range(10, 30))
    assert found(client, "soft") == []
    assert (core.pages > 0) is snapshot


def test_none_leaves_memory_again(core: Core) -> None:
    client = core_with_topics(Limits(window_messages=2)).connect()
    for number in range(40):
        retain(client, f"a/{number}", "x")
    assert not client.core.queue(RETAINED_QUEUE).paged_count
    assert len(found(client, "#")) == 40


def test_as_many_and_as_much_as_the_queue_takes() -> None:
    client = core_with_topics(Limits(retained_bytes=100)).connect()
    client.do(c.AlterQueue(RETAINED_QUEUE, {"max_depth": 2, "max_message_length": 90}))
    client.do(c.OpenTopic(PUBLISHER, "a"))
    long = [MessageData(body=bytes(91))]
    assert client.refused(c.Put(PUBLISHER, long, options=c.RETAIN)) == Reason.RETAINED_QUEUE_ERROR
    client.do(c.Close(PUBLISHER))
    retain(client, "a", 60 * "x")
    client.do(c.OpenTopic(PUBLISHER, "b"))
    much = c.Put(PUBLISHER, [MessageData(body=bytes(60))], options=c.RETAIN)
    assert client.refused(much) == Reason.RETAINED_QUEUE_ERROR
    client.do(c.Close(PUBLISHER))
    retain(client, "b", "x")
    retain(client, "b", "y")
    client.do(c.OpenTopic(PUBLISHER, "c"))
    many = c.Put(PUBLISHER, [MessageData()], options=c.RETAIN)
    assert client.refused(many) == Reason.RETAINED_QUEUE_ERROR
    assert sorted(found(client, "+")) == [60 * "x", "y"]


def test_what_is_replaced_makes_room_for_what_takes_its_place() -> None:
    client = core_with_topics(Limits(retained_bytes=100)).connect()
    retain(client, "a", 60 * "x")
    retain(client, "a", 100 * "y")
    assert found(client, "a") == [100 * "y"]
    client.do(c.OpenTopic(PUBLISHER, "a"))
    more = [MessageData(body=bytes(101))]
    assert client.refused(c.Put(PUBLISHER, more, options=c.RETAIN)) == Reason.RETAINED_QUEUE_ERROR
    beside = c.Put(PUBLISHER, [MessageData(body=b"z")], client.begin(), c.RETAIN)
    assert client.refused(beside) == Reason.RETAINED_QUEUE_ERROR  # the unit may be backed out


def test_without_its_queue_nothing_is_retained(client: Client) -> None:
    client.do(c.DeleteQueue(RETAINED_QUEUE))
    client.do(c.OpenTopic(PUBLISHER, "a"))
    asked = c.Put(PUBLISHER, [MessageData()], options=c.RETAIN)
    assert client.refused(asked) == Reason.RETAINED_QUEUE_ERROR
    assert subscribe(client, "a").retained == 0
    assert client.do(c.ClearRetained("#")) == Done(0)


def test_what_is_retained_can_be_discarded(client: Client) -> None:
    for topic in ("a/b", "a/c", "d"):
        retain(client, topic, topic)
    assert client.do(c.ClearRetained("a/+")) == Done(2)
    assert found(client, "#") == ["d"]


def test_a_subscriptions_full_queue_is_told_of(client: Client) -> None:
    retain(client, "a", "x")
    client.define("SMALL", max_depth=0)
    told = client.do(c.Subscribe(10, "a", destination="SMALL"))
    assert told.warning == Reason.RETAINED_NOT_DELIVERED  # type: ignore[union-attr]
    assert client.refused(c.SubscriptionRequest(10)) == Reason.RETAINED_NOT_DELIVERED


def test_a_new_queue_gives_no_place_that_one_gave_before_a_crash(core: Core) -> None:
    retain(core.connect(), "a", "x")
    core.crash()
    client = core.connect()
    subscribe(client, "a")
    (got,) = client.take(handle=11)
    assert got.n >= client.core.qm.numbers.first_n


@pytest.mark.parametrize("twice", [False, True])
def test_what_a_unit_has_replaced_does_not_come_back(client: Client, twice: bool) -> None:
    """When the new one has expired, or is gone with a crash because it was not persistent."""
    retain(client, "t", "old")
    unit = client.begin()
    if twice:
        retain(client, "t", "between", unit)
    retain(client, "t", "new", unit, expiry_ms=1000)
    retain(client, "other", "x", unit)
    assert found(client, "t") == ["old"], "until the commit"
    client.do(c.Commit(unit))
    assert found(client, "t") == ["new"]
    client.core.advance(5)
    assert found(client, "t") == []
    assert found(client, "other") == ["x"]


def test_a_unit_that_is_backed_out_replaces_nothing(client: Client) -> None:
    retain(client, "t", "old")
    unit = client.begin()
    retain(client, "t", "new", unit)
    client.do(c.Backout(unit))
    assert found(client, "t") == ["old"]


def test_copies_of_what_is_retained_live_no_longer_than_their_queue_says(client: Client) -> None:
    client.define("S", expiry_cap=10)  # a second
    retain(client, "t", "x")
    client.do(c.Subscribe(20, "t", "", options=c.CREATE, destination="S"))
    client.core.advance(5)
    client.open("S", handle=2)
    assert client.get(handle=2) == []
