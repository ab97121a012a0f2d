"""Definitions of feeds: what is refused, what an alteration voids, and from where a feed reads."""

from typing import Any

import pytest

from adapter.core import inputs
from adapter.core.attributes.feed import FEED
from adapter.core.contract import commands as c
from adapter.core.contract.feeds import FeedStart
from adapter.core.contract.limits import Limits
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.core.model.feeds import FeedState
from tests.support.core import Client, client_on

GIVEN = {"topic": "orders", "queue": "Q"}


def begun(**offsets: int) -> tuple[Client, FeedState]:
    """Return a client of a queue manager with a feed that reads from these offsets on."""
    client = client_on("Q")
    client.do(c.DefineObject(FEED, "F", GIVEN))
    state = client.core.qm.feeds.by_name["F"]
    places = {int(name[1:]): offset for name, offset in offsets.items()}
    start = FeedStart("F", state.version, "id", places)
    client.core.take(client.core.give(inputs.FeedBegins(start)))
    return client, state


def refusal(client: Client, command: c.Command) -> str:
    answer = client.do(command)
    assert isinstance(answer, Refused)
    return answer.detail


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"topic": ""}, "topic '' is not a valid name of a Kafka topic"),
        ({"topic": "a b"}, "topic 'a b' is not a valid name of a Kafka topic"),
        ({"topic": ".."}, "topic '..' is not a valid name of a Kafka topic"),
        ({"topic": "mq.QM1.ledger"}, "topic mq.QM1.ledger is one that queue managers write"),
        ({"topic": "__consumer_offsets"}, "is one that Kafka itself writes; feed from another"),
        ({"queue": ""}, "a feed has a queue or a topic_string: set one of them"),
        ({"queue": "a b"}, "queue 'a b' is not a valid name of a queue"),
        ({"queue": "SYSTEM.ADMIN.COMMAND.QUEUE"}, "is one of the queue manager"),
        ({"topic_string": "a/b"}, "a feed has a queue or a topic_string, not both"),
        ({"queue": "", "topic_string": "/".join("x" * 300)}, "has more than 256 levels"),
        ({"queue": "", "topic_string": "a\0"}, "has at most 10240 characters, and no zeros"),
        ({"begin": "yesterday"}, "begin 'yesterday' is not EARLIEST, LATEST, or a time in UTC"),
        ({"begin": "2026-02-30T00:00:00Z"}, "begin '2026-02-30T00:00:00Z' is not"),
        ({"headers": "a,,b"}, "has an empty name"),
        ({"priority": 10}, "priority takes -1 to 9"),
        ({"priority_header": "x" * 256}, "priority_header takes at most 255 characters"),
        ({"fields": "a,,b"}, "fields 'a,,b' has an empty name; use ALL, NONE or a list of paths"),
        ({"fields": "a"}, "fields are of values that are decoded: set value to AVRO or AVROJSON"),
        ({"expiry": -2}, "expiry takes -1 to 999999999"),
        ({"delay": -1}, "delay takes 0 to 999999999"),
        ({"priority_rules": "a = 1"}, "invalid priority_rules: character 1: a rule is a priority"),
        ({"priority_rules": "9: a >"}, "invalid priority_rules: rule 1: 'the end' stands where"),
        ({"key": "VALUE"}, "key takes one of PROPERTY, CORRELID, GROUPID, NONE"),
    ],
)
def test_what_is_no_feed_is_refused(given: dict[str, Any], says: str) -> None:
    client = client_on("Q")
    assert says in refusal(client, c.DefineObject(FEED, "F", GIVEN | given))
    client.do(c.DefineObject(FEED, "F", GIVEN))
    assert says in refusal(client, c.AlterObject(FEED, "F", given))


def test_feeds_are_bounded() -> None:
    client = client_on("Q", limits=Limits(feeds=2))
    for name in ("F", "G"):
        client.do(c.DefineObject(FEED, name, GIVEN))
    assert refusal(client, c.DefineObject(FEED, "H", GIVEN)) == "2 feeds at most"
    client.do(c.DefineObject(FEED, "G", GIVEN, replace=True))
    client.do(c.DeleteObject(FEED, "G"))
    client.do(c.DefineObject(FEED, "H", GIVEN))


def test_an_alteration_voids_what_was_read_and_keeps_the_position() -> None:
    client, state = begun(p0=7)
    before = state.version
    client.do(c.AlterObject(FEED, "F", {"headers": "NONE"}))
    assert state.version > before
    assert state.offsets == {0: 7}


def test_another_topic_has_no_position() -> None:
    client, state = begun(p0=7)
    client.do(c.SeekFeed("F", "LATEST"))
    client.do(c.AlterObject(FEED, "F", {"topic": "others"}))
    state = client.core.qm.feeds.by_name["F"]
    assert (state.begin, state.topic_id, state.offsets) == ("", "", {})


def test_a_feed_that_is_deleted_is_forgotten() -> None:
    client, state = begun(p0=7)
    client.do(c.DeleteObject(FEED, "F"))
    assert not client.core.qm.feeds.by_name
    client.do(c.DefineObject(FEED, "F", GIVEN))
    again = client.core.qm.feeds.by_name["F"]
    assert again.offsets == {}
    assert again.version > state.version, "what was read for the one before is void"


@pytest.mark.parametrize("to", ["EARLIEST", "LATEST", "2026-03-01T08:30:00Z"])
def test_a_feed_begins_where_it_is_told_to(to: str) -> None:
    client, state = begun(p0=7, p1=9)
    before = state.version
    client.do(c.SeekFeed("F", to))
    assert state.version > before
    assert (state.begin, state.topic_id, state.offsets) == (to, "", {})


def test_single_partitions_are_moved() -> None:
    client, state = begun(p0=7, p1=9)
    client.do(c.SeekFeed("F", "1:100"))
    assert (state.topic_id, state.offsets) == ("id", {0: 7, 1: 100})
    client.do(c.SeekFeed("F", "0:0, 1:3"))
    assert state.offsets == {0: 0, 1: 3}


@pytest.mark.parametrize(
    ("to", "says"),
    [
        ("beginning", "'beginning' is no place to read from: use EARLIEST, LATEST, a time"),
        ("0:-1", "is no place to read from"),
        ("0:1,0:2", "is no place to read from"),
        (f"0:{2**63}", "is no place to read from"),
        ("2:0", "the feed knows no partition 2: it has read 0, 1"),
    ],
)
def test_places_that_are_none_are_refused(to: str, says: str) -> None:
    client, state = begun(p0=7, p1=9)
    assert says in refusal(client, c.SeekFeed("F", to))
    assert state.offsets == {0: 7, 1: 9}


def test_a_feed_that_is_not_there_is_not_moved() -> None:
    client = client_on("Q")
    assert client.refused(c.SeekFeed("F", "EARLIEST")) is Reason.OBJECT_NOT_FOUND
    client.do(c.DefineObject(FEED, "F", GIVEN))
    assert "it has read none" in refusal(client, c.SeekFeed("F", "0:1"))
