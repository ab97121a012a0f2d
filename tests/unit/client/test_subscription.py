"""Publishing and subscribing as a program does it, over connections that break."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import adapter
from adapter import errors as e
from adapter.core.contract import commands as c
from tests.support.loopback import Loopback

Connect = Callable[..., adapter.Connection]


def got(subscription: adapter.Subscription, timeout: float = 0.0) -> bytes | None:
    message = subscription.get(timeout=timeout)
    return message.body if message is not None else None


def test_whoever_subscribes_gets_what_is_published_from_then_on(qm: adapter.Connection) -> None:
    qm.publish("fruit/apple", b"too early")
    with qm.subscribe("fruit/+") as fruit:
        result = qm.publish("fruit/apple", b"x", priority=3, properties={"n": 1})
        qm.publish("fish/cod", b"of no interest")
        message = fruit.get()
        assert message is not None
        assert (message.body, message.priority, message.message_id) == (b"x", 3, result.message_id)
        assert message.properties == {"n": 1, "MQTopicString": "fruit/apple"}
        assert got(fruit) is None
        assert [one.body for one in fruit.browse()] == []
    assert fruit.is_closed
    with pytest.raises(e.QueueNotFound):
        qm.get(fruit.name)


def test_publications_of_a_unit_and_gets_in_one(qm: adapter.Connection) -> None:
    other = qm.subscribe("#")
    with qm.unit():
        qm.publish("a", "1")
        qm.publish("a", "2")
        assert got(other) is None
    unit = qm.unit()
    unit.begin()
    qm.publish("a", "never", unit=unit)
    unit.backout()
    for work in other.units(size=2, timeout=0):
        with work:
            assert [one.body for one in work.messages] == [b"1", b"2"]


def test_a_durable_one_is_resumed_by_its_name(connect: Connect) -> None:
    qm = connect()
    with qm.subscribe("a", name="S", durable=True), pytest.raises(e.SubscriptionInUse):
        connect().subscribe("a", name="S", durable=True)
    qm.publish("a", "x")
    with pytest.raises(e.TopicNotAlterable):
        qm.subscribe("b", name="S", durable=True)
    again = qm.subscribe("a", name="S", durable=True)
    assert got(again) == b"x"
    again.close(remove=True)
    assert qm.objects("subscription") == []
    with pytest.raises(e.NotOpen):
        again.close(remove=True)


def test_a_queue_of_ones_own(qm: adapter.Connection) -> None:
    one = qm.subscribe("a", destination="Q")
    qm.publish("a", "x")
    assert one.name == "Q"
    message = qm.get("Q")
    assert message is not None
    assert message.body == b"x"
    one.close()
    qm.publish("a", "y")
    assert qm.get("Q") is None


def test_what_is_retained_comes_first_and_again_on_request(qm: adapter.Connection) -> None:
    qm.define_queue("SYSTEM.RETAINED.PUB.QUEUE")
    one = qm.subscribe("a")
    assert one.request_retained() == 0
    qm.publish("a", "x", retain=True)
    assert (got(one), got(one)) == (b"x", None)
    assert one.request_retained() == 1
    assert got(one) == b"x"
    assert got(qm.subscribe("a")) == b"x"
    assert got(qm.subscribe("a", retained=False)) is None
    assert (qm.clear_retained("+"), qm.clear_retained("+")) == (1, 0)


@pytest.mark.parametrize("durable", [False, True])
def test_it_goes_on_behind_a_lost_connection(
    server: Loopback, connect: Connect, *, durable: bool
) -> None:
    qm = connect()
    one = qm.subscribe("a", name="S", durable=durable)
    before = one.name
    server.cut_all()
    qm.publish("a", "x")
    assert got(one, 5) == b"x"
    assert (one.name == before) is durable
    assert server.count(c.Open) == 0  # its queue is opened with the subscription
    one.close()


@pytest.mark.parametrize("ahead", [{}, {"prefetch": 2}])
@pytest.mark.parametrize("retry", [None, adapter.Retry(1, 0, jitter=0)])
def test_finding_client_5_a_loop_goes_on_with_the_queue_that_is_made_instead(
    server: Loopback, connect: Connect, ahead: dict[str, Any], retry: adapter.Retry | None
) -> None:
    """What fails is asked about, and put again, where it came from, not where the loop began."""
    qm = connect()
    fails_once_behind_a_cut(server, qm, retry=retry, **ahead)


def test_finding_client_5_so_does_a_loop_with_a_token(server: Loopback, connect: Connect) -> None:
    fails_once_behind_a_cut(server, connect(), cancel=adapter.CancelToken())


def fails_once_behind_a_cut(server: Loopback, qm: adapter.Connection, **how: Any) -> None:
    one = qm.subscribe("a")
    before, shown = one.name, []

    def cut() -> None:
        time.sleep(0.2)
        server.cut_all()
        qm.publish("a", "x")

    cutting = threading.Thread(target=cut)
    loop = one.units(timeout=1, **how)
    cutting.start()
    for work in loop:
        with work:
            shown += [message.body for message in work.messages]
            if len(shown) == 1:
                raise ValueError("once")
    cutting.join()
    assert shown == [b"x", b"x"]
    assert one.name != before
    assert qm.statistics()["units"] == 0


def test_what_is_asked_of_its_queue_is_asked_of_the_one_that_it_has_now(
    server: Loopback, connect: Connect
) -> None:
    qm = connect()
    one = qm.subscribe("a")
    before = one.name
    one.set(inhibit_get=False)
    server.cut_all()
    qm.publish("a", "x")
    assert one.depth() == 1
    assert one.name != before
    assert [message.body for message in one.browse()] == [b"x"]
    one.set(inhibit_get=False)


def test_a_loop_with_a_token_ends_with_its_subscription(qm: adapter.Connection) -> None:
    one = qm.subscribe("a")
    loop = one.units(timeout=None, cancel=adapter.CancelToken())
    closing = threading.Timer(0.1, one.close)
    closing.start()
    assert list(loop) == []
    closing.join()


@pytest.mark.parametrize("direction", ["received", "sent"])
def test_a_publication_cut_at_every_byte_is_made_once(
    server: Loopback, connect: Connect, direction: str
) -> None:
    qm = connect()
    qm.define_queue("OWN")
    qm.define_object("subscription", "S", topic_string="a", destination="OWN")
    for at in range(direction == "sent", 400):
        lost = qm.statistics()["connections_lost"]
        server.cut_after(**{direction: at})
        qm.publish("a", b"%d" % at)
        assert server.bodies("OWN") == [b"%d" % at]
        qm.queue("OWN").purge()
        if qm.statistics()["connections_lost"] == lost:
            break
    else:
        pytest.fail("the exchange has more bytes than were tried")
    assert at > 30


@pytest.mark.parametrize("direction", ["received", "sent"])
def test_a_subscription_cut_at_every_byte_is_made(
    server: Loopback, connect: Connect, direction: str
) -> None:
    qm = connect()
    for at in range(direction == "sent", 400):
        lost = qm.statistics()["connections_lost"]
        server.cut_after(**{direction: at})
        one = qm.subscribe("a", name="S", durable=True)
        whole = qm.statistics()["connections_lost"] == lost
        qm.publish("a", b"x")
        assert got(one, 5) == b"x"
        one.close(remove=True)
        if whole:
            break
    else:
        pytest.fail("the exchange has more bytes than were tried")


def test_what_no_queue_manager_could_take(qm: adapter.Connection) -> None:
    with pytest.raises(e.InvalidSubscriptionName):
        qm.subscribe("a", durable=True)
    with pytest.raises(e.InvalidType):
        qm.subscribe("a", durable=1)  # type: ignore[arg-type]
    with pytest.raises(e.InvalidTopic):
        qm.publish("a\0", "x")
    with pytest.raises(e.QueueNotFound):
        qm.subscribe("a", destination="NONE")


def test_publications_are_intercepted_and_published_again(qm: adapter.Connection) -> None:
    with qm.subscribe("price", level=9) as arriving, qm.subscribe("price") as final:
        qm.publish("price", "7")
        assert final.get() is None
        found = arriving.get()
        assert found is not None
        qm.publish("price", found.body + b" checked", level=8)
        checked = final.get()
        assert checked is not None
        assert checked.body == b"7 checked"
        assert arriving.get() is None


def test_a_selection_survives_a_lost_connection(server: Loopback, qm: adapter.Connection) -> None:
    with pytest.raises(e.InvalidSelector, match="selection string for S"):
        qm.subscribe("a", name="S", selection="n >")
    for durable in (False, True):
        with qm.subscribe("a", name="S", durable=durable, selection="n > 1") as subscription:
            server.cut_all()
            assert got(subscription) is None
            for number in (1, 2):
                qm.publish("a", str(number), properties={"n": number})
            assert (got(subscription), got(subscription)) == (b"2", None)


def test_a_publication_says_how_many_subscriptions_it_was_for(qm: adapter.Connection) -> None:
    assert qm.publish("fruit/apple", b"x").subscriptions == 0
    first, second = qm.subscribe("fruit/+"), qm.subscribe("fruit/#", selection="a = 1")
    assert qm.publish("fruit/apple", b"x").subscriptions == 1
    with qm.unit():
        assert qm.publish("fruit/apple", b"x", properties={"a": 1}).subscriptions == 2
    assert qm.put(first.name, b"x").subscriptions is None
    assert second.get() is not None
