"""Feeds: each record once and in its order, or it waits, or it is a dead letter; never left out."""

from typing import Any

import pytest
from msgspec import structs

from adapter.core import inputs
from adapter.core.attributes.feed import FEED
from adapter.core.contract import commands as c
from adapter.core.contract.feeds import NOT_A_MESSAGE, FedBatch, FedMessage, FeedStart
from adapter.core.contract.message import MessageData
from adapter.core.contract.parked import ParkedQueue
from adapter.core.contract.records import EventRaised, FeedMoved, Record
from adapter.core.contract.results import Messages
from adapter.core.contract.unit_records import UnitCommitted
from adapter.core.model.feeds import FeedState
from adapter.core.mq_layouts import dead_letter
from adapter.core.rules.drive import feeds
from tests.support.core import Client, Core, client_on
from tests.support.hard_state import check_snapshots

ID = "id of the topic"


class Site:
    """A queue manager with one feed, F."""

    def __init__(self, *queues: str, **attributes: Any) -> None:
        self.client: Client = client_on(*queues)
        self.core: Core = self.client.core
        given = {"topic": "orders", "queue": queues[0] if queues else "Q"} | attributes
        self.client.do(c.DefineObject(FEED, "F", given))

    @property
    def state(self) -> FeedState:
        return self.core.qm.feeds.by_name["F"]

    def begin(self, **offsets: int) -> list[Record]:
        """Begin to read partitions, p0=5."""
        places = {int(name[1:]): offset for name, offset in offsets.items()}
        start = FeedStart("F", self.state.version, ID, places)
        return self.core.take(self.core.give(inputs.FeedBegins(start))).records

    def feed(
        self,
        start: int,
        *bodies: str,
        partition: int = 0,
        topic_id: str = ID,
        version: int | None = None,
        messages: list[FedMessage] | None = None,
    ) -> list[Record]:
        """Read records from offset start on; returns what that caused."""
        if messages is None:
            messages = [
                FedMessage(MessageData(body=body.encode(), persistence=1), start + at)
                for at, body in enumerate(bodies)
            ]
        version = self.state.version if version is None else version
        until = messages[-1].offset + 1 if messages else start
        batch = FedBatch("F", version, topic_id, partition, start, until, messages)
        return self.core.take(self.core.give(inputs.Fed(batch))).records

    def bodies(self, handle: int = 1) -> list[str]:
        """Get what is on a queue."""
        found: list[str] = []
        while more := self.client.get(handle=handle):
            found += more
        return found

    def restart(self, how: str) -> None:
        """Go on with what the ledger says."""
        if how == "snapshot":
            self.core.snapshot()
        again = self.core.replayed()
        check_snapshots(self.core.qm, again)
        getattr(self.core, "crash_with_snapshot" if how == "snapshot" else "crash")()
        self.client = self.core.connect()
        self.client.open()


def test_records_are_put_together_with_the_position() -> None:
    at = Site("Q")
    assert at.begin(p0=5) == [FeedMoved("F", ID, [0, 5])]
    records = at.feed(5, "a", "b")
    assert [type(one) for one in records] == [UnitCommitted, FeedMoved]
    assert records[1] == FeedMoved("F", ID, [0, 7])
    assert at.bodies() == ["a", "b"]


def test_what_was_put_is_dropped_and_the_rest_is_put() -> None:
    at = Site("Q")
    at.begin(p0=0)
    at.feed(0, "a", "b")
    assert at.feed(0, "a", "b") == []
    assert at.feed(1, "b", "c")[-1] == FeedMoved("F", ID, [0, 3])
    assert at.bodies() == ["a", "b", "c"]


def test_what_does_not_follow_is_void() -> None:
    at = Site("Q")
    at.begin(p0=0)
    at.feed(0, "a")
    assert at.feed(2, "c") == [], "a record would be left out"
    assert at.feed(1, "b", topic_id="another") == [], "the topic was made again"
    assert at.feed(1, "b", version=at.state.version - 1) == [], "the feed is another one"
    assert at.feed(0, "b", partition=1) == [], "it has no position"
    assert at.state.offsets == {0: 1}
    assert at.bodies() == ["a"]


def test_partitions_have_positions_of_their_own() -> None:
    at = Site("Q")
    at.begin(p0=0, p1=10)
    at.feed(0, "a")
    at.feed(10, "x", partition=1)
    assert at.begin(p1=3, p2=0) == [FeedMoved("F", ID, [2, 0])], "one is known already"
    assert at.state.offsets == {0: 1, 1: 11, 2: 0}


@pytest.mark.parametrize("how", ["ledger", "snapshot"])
def test_positions_outlive_a_restart(how: str) -> None:
    at = Site("Q")
    at.begin(p0=0, p1=4)
    at.feed(0, "a")
    at.restart(how)
    assert at.state.offsets == {0: 1, 1: 4}
    assert at.state.topic_id == ID
    at.feed(0, "a", "b")
    assert at.bodies() == ["a", "b"]


@pytest.mark.parametrize("how", ["ledger", "snapshot"])
def test_where_a_feed_was_told_to_begin_outlives_a_restart(how: str) -> None:
    at = Site("Q")
    at.begin(p0=0)
    at.client.do(c.SeekFeed("F", "LATEST"))
    at.restart(how)
    assert (at.state.begin, at.state.topic_id, at.state.offsets) == ("LATEST", "", {})


def test_offsets_without_a_message_move_the_position() -> None:
    at = Site("Q")
    at.begin(p0=0)
    batch = FedBatch("F", at.state.version, ID, 0, 0, 9, [])
    records = at.core.take(at.core.give(inputs.Fed(batch))).records
    assert records == [FeedMoved("F", ID, [0, 9])]


def test_what_fits_is_put_and_the_rest_waits() -> None:
    at = Site("Q")
    at.client.do(c.AlterQueue("Q", {"max_depth": 2}))
    at.begin(p0=0)
    records = at.feed(0, "a", "b", "c")
    assert [type(one) for one in records] == [UnitCommitted, FeedMoved, EventRaised]
    assert at.state.offsets == {0: 2}
    assert at.state.blocked == {0: "queue Q is full"}
    assert at.feed(0, "a", "b", "c") == [], "it is said once"
    assert at.client.get() == ["a"]
    assert at.feed(0, "a", "b", "c")[-1] == FeedMoved("F", ID, [0, 3])
    assert not at.state.blocked
    assert at.bodies() == ["b", "c"]


def test_a_full_queue_is_not_the_reason_for_a_dead_letter() -> None:
    at = Site("Q", "DEAD", refused="DEADLETTER")
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    at.begin(p0=0)
    at.client.do(c.AlterQueue("Q", {"inhibit_put": True}))
    at.feed(0, "a")
    assert at.state.blocked == {0: "queue Q is inhibited for puts"}
    at.client.do(c.AlterQueue("Q", {"inhibit_put": False}))
    at.core.take(at.core.give(inputs.MoversReported({"Q": ParkedQueue(0, 10**9, "away")})))
    at.feed(0, "a")
    assert "while the copying of earlier ones is delayed" in at.state.blocked[0]
    assert at.bodies(handle=2) == []


def test_what_can_never_be_put_is_a_dead_letter_with_its_origin() -> None:
    at = Site("Q", "DEAD", origin=False)
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    at.client.do(c.AlterQueue("Q", {"max_message_length": 3}))
    at.begin(p0=0)
    at.feed(0, "long", "ok")
    assert at.bodies() == ["ok"]
    (found,) = at.client.take(handle=2)
    header, body = dead_letter.split(found.message.format, found.message.body)
    assert header is not None
    assert (header.reason, header.destination, body) == (2030, "Q", b"long")
    assert found.message.properties == {
        "KafkaTopic": "orders",
        "KafkaPartition": 0,
        "KafkaOffset": 0,
    }
    assert (found.message.priority, len(found.message.message_id)) == (0, 24)


def test_what_is_no_message_is_a_dead_letter() -> None:
    at = Site("Q", "DEAD", refused="WAIT")
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    at.begin(p0=0)
    at.feed(0, messages=[FedMessage(MessageData(persistence=1), 0, NOT_A_MESSAGE)])
    (found,) = at.client.take(handle=2)
    header, _ = dead_letter.split(found.message.format, found.message.body)
    assert header is not None
    assert header.reason == NOT_A_MESSAGE


@pytest.mark.parametrize(
    ("queue", "fields", "code"),
    [
        ("NOWHERE", {}, 2085),
        ("Q", {"properties": {str(n): n for n in range(300)}}, 2110),
    ],
)
def test_it_waits_where_the_feed_says_so(queue: str, fields: dict[str, Any], code: int) -> None:
    at = Site("Q", "DEAD", queue=queue, refused="WAIT")
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    at.begin(p0=0, p1=0)
    messages = [FedMessage(MessageData(body=b"a", persistence=1, **fields), 0)]
    at.feed(0, messages=messages)
    assert at.state.blocked == {
        0: f"offset 0 of partition 0 cannot be put on queue {queue}: reason {code}; "
        "`mqk feed seek F 0:1` leaves it out"
    }
    assert at.bodies(handle=2) == []
    if queue == "Q":
        at.feed(0, "b", partition=1)
        assert at.bodies() == ["b"], "the other partitions go on"
    at.client.do(c.AlterObject(FEED, "F", {"refused": "DEADLETTER"}))
    at.feed(0, messages=messages)
    assert len(at.client.take(handle=2)) == 1


def test_it_waits_if_there_is_no_room_for_dead_letters() -> None:
    at = Site("Q", "DEAD", queue="NOWHERE")
    at.begin(p0=0)
    at.feed(0, "a")
    assert at.state.blocked[0] == (
        "offset 0 of partition 0 is for the dead-letter queue, with reason 2085: "
        "define one (ALTER QMGR DEADQ)"
    )
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "GONE"}))
    at.feed(0, "a")
    assert at.state.blocked[0].endswith("dead-letter queue GONE does not exist")
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    at.client.do(c.AlterQueue("DEAD", {"inhibit_put": True}))
    at.feed(0, "a")
    assert "dead-letter queue DEAD is inhibited" in at.state.blocked[0]
    at.client.do(c.AlterQueue("DEAD", {"inhibit_put": False}))
    at.feed(0, "a")
    assert not at.state.blocked


def test_an_alias_and_a_remote_queue_are_resolved() -> None:
    at = Site("Q", queue="ALIAS")
    at.client.do(c.DefineObject("alias", "ALIAS", {"target": "Q"}))
    at.begin(p0=0)
    at.feed(0, "a")
    assert at.bodies() == ["a"]
    far = {"remote_name": "FAR", "remote_queue_manager": "QM2"}
    at.client.do(c.DefineObject("remote", "R", far))
    at.core.give(inputs.QueueManagersKnown(frozenset({"QM2"})))
    at.client.do(c.AlterObject(FEED, "F", {"queue": "R"}))
    at.feed(1, "b")
    (stored,) = at.core.queue("QM2").in_order()
    assert stored.message.transmission is not None
    assert (stored.message.body, stored.message.transmission.queue) == (b"b", "FAR")


def test_what_an_alias_says_counts() -> None:
    at = Site("Q", queue="ALIAS")
    alias = {"target": "Q", "def_priority": 7, "expiry_cap": 20}
    at.client.do(c.DefineObject("alias", "ALIAS", alias))
    at.begin(p0=0)
    at.feed(0, messages=[one_of(), one_of(b"b", 1, priority=2, expiry_ms=500)])
    found = [stored.message for stored in at.core.queue().in_order()]
    assert [(one.priority, one.expiry_ms) for one in found] == [(7, 2_000), (2, 500)]
    at.client.do(c.AlterObject("alias", "ALIAS", {"inhibit_put": True}))
    at.feed(2, "c")
    assert at.state.blocked == {0: "queue ALIAS is inhibited for puts"}
    at.client.do(c.AlterObject("alias", "ALIAS", {"inhibit_put": False}))
    at.feed(2, "c")
    assert at.state.offsets == {0: 3}


def test_what_a_local_definition_of_a_remote_queue_says_counts() -> None:
    at = Site("Q", queue="R")
    far = {"remote_name": "FAR", "remote_queue_manager": "QM2", "def_priority": 6}
    at.client.do(c.DefineObject("remote", "R", far))
    at.core.give(inputs.QueueManagersKnown(frozenset({"QM2"})))
    at.begin(p0=0)
    at.client.do(c.AlterObject("remote", "R", {"inhibit_put": True}))
    at.feed(0, "a")
    assert at.state.blocked == {0: "queue R is inhibited for puts"}
    at.client.do(c.AlterObject("remote", "R", {"inhibit_put": False}))
    at.feed(0, "a")
    (stored,) = at.core.queue("QM2").in_order()
    assert stored.message.priority == 6


@pytest.mark.parametrize(
    ("kind", "attributes", "code"),
    [
        ("alias", {"target": "GONE"}, 2082),
        ("alias", {"target": "T", "target_type": "TOPIC"}, 2001),
        ("remote", {"remote_name": "FAR", "remote_queue_manager": "NOWHERE"}, 2087),
        ("model", {}, 2085),
    ],
)
def test_a_name_that_leads_to_no_queue(kind: str, attributes: dict[str, Any], code: int) -> None:
    at = Site("Q", "DEAD", queue="NAME")
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    at.client.do(c.DefineObject("topic", "T", {"topic_string": "t"}))
    at.client.do(c.DefineObject(kind, "NAME", attributes))
    at.begin(p0=0)
    at.feed(0, "a")
    (found,) = at.client.take(handle=2)
    header, _ = dead_letter.split(found.message.format, found.message.body)
    assert header is not None
    assert header.reason == code


def publishing(*queues: str, **attributes: Any) -> Site:
    """Return a site whose feed publishes, and queues that are subscribed to it."""
    at = Site(*queues, queue="", topic_string="shop/orders", **attributes)
    for name in queues:
        at.client.do(subscribing(name))
    at.begin(p0=0)
    return at


def subscribing(queue: str) -> c.DefineObject:
    given = {"topic_string": "shop/#", "destination": queue}
    return c.DefineObject("subscription", f"TO.{queue}", given)


def test_records_are_published() -> None:
    at = publishing("Q", "R")
    assert at.feed(0, "a", "b")[-1] == FeedMoved("F", ID, [0, 2])
    (first,) = at.client.take()
    assert first.message.properties == {"MQTopicString": "shop/orders"}
    assert first.message.persistence == 1
    assert (at.bodies(), at.bodies(handle=2)) == (["b"], ["a", "b"])
    assert at.feed(0, "a", "b") == []


def test_a_publication_without_subscriptions_is_gone() -> None:
    at = publishing()
    assert at.feed(0, "a", "b") == [FeedMoved("F", ID, [0, 2])]


def test_a_publication_waits_as_a_whole() -> None:
    at = publishing("Q", "R")
    at.client.do(c.AlterQueue("R", {"max_depth": 1}))
    at.feed(0, "a", "b", "c")
    assert at.state.offsets == {0: 1}
    (why,) = at.state.blocked.values()
    assert why.startswith("topic string 'shop/orders': subscription 'TO.R': queue R, MQRC 2053")
    assert at.bodies() == ["a"], "of what waits no subscription has a copy"
    assert at.bodies(handle=2) == ["a"]
    at.client.do(c.AlterQueue("R", {"max_depth": 100}))
    at.feed(0, "a", "b", "c")
    assert (at.bodies(), at.bodies(handle=2)) == (["b", "c"], ["b", "c"])
    assert not at.state.blocked


def test_a_copy_without_room_is_a_dead_letter() -> None:
    at = publishing("Q", "DEAD")
    at.client.do(c.DeleteObject("subscription", "TO.DEAD"))
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    at.client.do(c.AlterQueue("Q", {"max_depth": 1}))
    at.feed(0, "a", "b")
    assert at.state.offsets == {0: 2}
    assert at.bodies() == ["a"]
    (found,) = at.client.take(handle=2)
    header, _ = dead_letter.split(found.message.format, found.message.body)
    assert header is not None
    assert (header.reason, header.destination) == (2053, "Q")


def test_a_topic_that_takes_no_publications_is_waited_for() -> None:
    at = publishing("Q")
    given = {"topic_string": "shop", "publish": "DISABLED", "def_priority": 5}
    at.client.do(c.DefineObject("topic", "SHOP", given))
    at.feed(0, "a")
    assert at.state.blocked == {0: "topic string 'shop/orders' is inhibited for puts"}
    at.client.do(c.AlterObject("topic", "SHOP", {"publish": "ENABLED"}))
    at.feed(0, "a")
    (found,) = at.client.take()
    assert found.message.priority == 5


def test_a_record_that_is_no_publication_is_a_dead_letter() -> None:
    at = publishing("Q", "DEAD")
    at.client.do(c.DeleteObject("subscription", "TO.DEAD"))
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    at.feed(0, messages=[one_of(properties={str(n): n for n in range(300)})])
    (found,) = at.client.take(handle=2)
    header, _ = dead_letter.split(found.message.format, found.message.body)
    assert header is not None
    assert (header.reason, header.destination) == (NOT_A_MESSAGE, "")
    assert at.bodies() == []


def test_a_publication_is_delayed_for_each_subscription() -> None:
    at = publishing("Q", "R")
    at.client.define("SYSTEM.DELAYED.QUEUE", inhibit_put=True)
    at.feed(0, messages=[one_of(delay_ms=1_000), one_of(b"b", 1)])
    assert (at.bodies(), at.bodies(handle=2)) == (["b"], ["b"])
    at.core.advance(2)
    assert (at.bodies(), at.bodies(handle=2)) == (["a"], ["a"])


def test_copies_of_a_step_are_bounded() -> None:
    queues = [f"Q{number}" for number in range(20)]
    at = publishing(*queues)
    body = "x" * (feeds.STEP_BYTES // 10)
    at.feed(0, body, body, body)
    assert at.state.offsets == {0: 1}, "the copies count"
    assert not at.state.blocked


def test_more_copies_than_a_unit_has_are_put_in_a_step_of_their_own() -> None:
    queues = [f"Q{number}" for number in range(4)]
    at = publishing(*queues)
    at.core.qm.limits = structs.replace(at.core.qm.limits, unit_messages=5)
    at.feed(0, "a", "b")
    assert (at.state.offsets, at.state.blocked) == ({0: 1}, {})
    at.feed(0, "a", "b")
    assert at.state.offsets == {0: 2}
    at.core.qm.limits = structs.replace(at.core.qm.limits, unit_messages=3)
    at.client.do(c.AlterObject(FEED, "F", {"refused": "WAIT"}))
    at.feed(2, "c")
    (why,) = at.state.blocked.values()
    assert "cannot be put on topic string 'shop/orders': reason 2024" in why


def test_a_get_that_waits_is_served() -> None:
    at = Site("Q")
    at.begin(p0=0)
    request = at.client.send(c.Get(1, b"", wait_ms=1000))
    at.feed(0, "a")
    answer = at.client.answer(request)
    assert isinstance(answer, Messages)
    assert answer.messages[0].message.body == b"a"


def test_a_step_is_bounded() -> None:
    at = Site("Q")
    at.begin(p0=0)
    bodies = [str(n) for n in range(feeds.STEP_MESSAGES + 1)]
    at.feed(0, *bodies)
    assert at.state.offsets == {0: feeds.STEP_MESSAGES}
    assert not at.state.blocked
    at.feed(0, *bodies)
    assert at.state.offsets == {0: len(bodies)}
    large = "x" * (feeds.STEP_BYTES // 2)
    at.feed(len(bodies), large, large, large, large)
    assert at.state.offsets == {0: len(bodies) + 2}


def test_a_feed_that_is_paused_puts_nothing() -> None:
    at = Site("Q")
    at.begin(p0=0)
    at.client.do(c.AlterObject(FEED, "F", {"state": "PAUSED"}))
    assert at.feed(0, "a") == []
    at.client.do(c.AlterObject(FEED, "F", {"state": "RUNNING"}))
    at.feed(0, "a")
    assert at.bodies() == ["a"]


def test_priority_is_what_the_record_says_or_the_default_of_the_queue() -> None:
    at = Site("Q")
    at.client.do(c.AlterQueue("Q", {"def_priority": 4}))
    at.begin(p0=0)
    at.feed(0, "a")
    at.feed(1, messages=[FedMessage(MessageData(body=b"b", persistence=1, priority=9), 1)])
    assert [one.message.priority for one in (*at.client.take(), *at.client.take())] == [9, 4]


def test_a_value_that_cannot_be_decoded_is_a_dead_letter_or_waits() -> None:
    at = Site("Q", "DEAD", refused="WAIT")
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    at.begin(p0=0, p1=0)
    given = [FedMessage(MessageData(body=b"a", persistence=1), 0, NOT_A_MESSAGE, "it is damaged")]
    at.feed(0, messages=given)
    assert at.state.blocked == {
        0: "offset 0 of partition 0: it is damaged; `mqk feed resume F` reads it again, "
        "`mqk feed seek F 0:1` leaves it out"
    }
    at.feed(0, "b", partition=1)
    assert at.bodies() == ["b"], "the other partitions go on"
    version = at.state.version
    at.client.do(c.AlterObject(FEED, "F", {"state": "RUNNING"}))
    assert at.state.version > version, "so that it is read again"
    at.client.do(c.AlterObject(FEED, "F", {"refused": "DEADLETTER"}))
    at.feed(0, messages=given)
    (found,) = at.client.take(handle=2)
    header, body = dead_letter.split(found.message.format, found.message.body)
    assert header is not None
    assert (header.reason, body) == (NOT_A_MESSAGE, b"a")
    assert at.state.offsets[0] == 1


def one_of(body: bytes = b"a", offset: int = 0, **fields: Any) -> FedMessage:
    return FedMessage(MessageData(body=body, persistence=1, **fields), offset)


def test_a_message_expires() -> None:
    at = Site("Q")
    at.begin(p0=0)
    at.feed(0, messages=[one_of(expiry_ms=2_000), one_of(b"b", 1, expiry_ms=-1)])
    at.core.advance(1.5)
    assert [one.body for one in (stored.message for stored in at.core.queue().in_order())] == [
        b"a",
        b"b",
    ]
    at.core.advance(1)
    assert at.bodies() == ["b"]


@pytest.mark.parametrize("how", ["", "ledger", "snapshot"])
def test_a_delayed_message_is_delivered_when_it_is_due(how: str) -> None:
    at = Site("Q")
    at.client.define("SYSTEM.DELAYED.QUEUE", inhibit_put=True)
    at.begin(p0=0)
    at.feed(0, messages=[one_of(b"later", delay_ms=2_000), one_of(b"now", 1)])
    assert at.state.offsets == {0: 2}, "what is delayed keeps nothing from being put"
    if how:
        at.restart(how)
    assert at.bodies() == ["now"]
    at.core.advance(1.9)
    assert at.bodies() == []
    at.core.advance(0.2)
    assert at.bodies() == ["later"]


def test_a_delayed_message_takes_room() -> None:
    at = Site("Q")
    at.client.define("SYSTEM.DELAYED.QUEUE", inhibit_put=True)
    at.client.do(c.AlterQueue("Q", {"max_depth": 1}))
    at.begin(p0=0)
    given = [one_of(delay_ms=1_000), one_of(b"b", 1, delay_ms=500)]
    at.feed(0, messages=given)
    assert at.state.blocked == {0: "queue Q is full"}
    at.core.advance(2)
    assert at.bodies() == ["a"]
    at.feed(0, messages=given)
    assert at.bodies() == []
    at.core.advance(1)
    assert at.bodies() == ["b"]


def test_a_delayed_message_waits_for_the_queue_of_delayed_ones() -> None:
    at = Site("Q")
    at.begin(p0=0)
    at.feed(0, messages=[one_of(delay_ms=1)])
    assert at.state.blocked == {0: "SYSTEM.DELAYED.QUEUE does not exist; the next start defines it"}
    at.client.define("SYSTEM.DELAYED.QUEUE", inhibit_put=True)
    at.feed(0, messages=[one_of(delay_ms=1)])
    at.core.advance(1)
    assert at.bodies() == ["a"]


def test_a_dead_letter_is_not_delayed() -> None:
    at = Site("Q", "DEAD")
    at.client.define("SYSTEM.DELAYED.QUEUE", inhibit_put=True)
    at.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    at.client.do(c.AlterQueue("Q", {"max_message_length": 3}))
    at.begin(p0=0)
    at.feed(0, messages=[one_of(b"long", delay_ms=60_000)])
    (found,) = at.client.take(handle=2)
    assert found.message.deliver_at_ms == 0


def test_a_delayed_message_for_another_queue_manager_leaves_later() -> None:
    at = Site("Q", queue="R")
    at.client.define("SYSTEM.DELAYED.QUEUE", inhibit_put=True)
    far = {"remote_name": "FAR", "remote_queue_manager": "QM2"}
    at.client.do(c.DefineObject("remote", "R", far))
    at.core.give(inputs.QueueManagersKnown(frozenset({"QM2"})))
    at.begin(p0=0)
    at.feed(0, messages=[one_of(delay_ms=1_000)])
    assert at.core.queue("QM2").depth == 0
    at.core.advance(2)
    (stored,) = at.core.queue("QM2").in_order()
    assert stored.message.transmission is not None
    assert stored.message.transmission.queue == "FAR"


def test_a_message_that_waits_is_put_as_it_was_read() -> None:
    at = Site("Q")
    at.client.do(c.AlterQueue("Q", {"inhibit_put": True}))
    at.begin(p0=0)
    message = MessageData(body=b"a", persistence=1)
    at.feed(0, messages=[FedMessage(message, 0)])
    assert message == MessageData(body=b"a", persistence=1)
