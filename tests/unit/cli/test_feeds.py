"""mqk feed: defining one, what is shown of it, and what an operator does with it."""

import json

import pytest

from adapter.cli import feeds
from adapter.runtime.feeds.reader import FeedReader
from adapter.storage.topics.memory import UnwrittenRecord
from adapter.testing import TestQueueManager
from tests.unit.cli.conftest import Mqk

WITHIN_S = 20.0


def test_a_feed_is_defined_and_shown(at: Mqk, manager: TestQueueManager) -> None:
    given = ("--key", "correlid", "--no-origin", "--state", "paused")
    said = at("feed", "define", "ORDERS.IN", "orders", "Q", *given)
    assert said.out == "feed ORDERS.IN defined\n"
    with manager.connect() as qm:
        (one,) = qm.objects("feed")
    assert (one.name, one.attributes["topic"], one.attributes["queue"]) == (
        "ORDERS.IN",
        "orders",
        "Q",
    )
    assert (one.attributes["key"], one.attributes["origin"]) == ("CORRELID", False)
    (row,) = [line for line in at("feed", "show").out.splitlines() if "ORDERS.IN" in line]
    assert row.split()[:7] == ["ORDERS.IN", "orders", "Q", "paused", "0", "0", "0"]
    told = json.loads(at("feed", "show", "O*", "--json").out)
    assert (told["feed"], told["topic"], told["key"], told["positions"]) == (
        *("ORDERS.IN", "orders", "CORRELID"),
        {},
    )
    assert at("feed", "show", "X*", "--json").out == ""


def test_a_feed_that_is_there_is_replaced_if_that_is_said(at: Mqk) -> None:
    at("feed", "define", "F", "orders", "Q")
    again = at("feed", "define", "F", "orders", "Q", "--priority", "3")
    assert again.status == 1
    assert "F" in again.err
    assert at("feed", "define", "F", "orders", "Q", "--priority", "3", "--replace").status == 0


def test_it_is_paused_and_resumed(at: Mqk, manager: TestQueueManager) -> None:
    at("feed", "define", "F", "orders", "Q")
    for verb, state in (("pause", "PAUSED"), ("resume", "RUNNING")):
        assert at("feed", verb, "F").out == f"feed F {verb}d\n"
        with manager.connect() as qm:
            assert qm.objects("feed")[0].attributes["state"] == state
    assert json.loads(at("feed", "pause", "F", "--json").out) == {"feed": "F", "paused": True}


def test_what_is_written_once_it_was_said_that_a_feed_begins_is_put(
    at: Mqk, manager: TestQueueManager
) -> None:
    manager.topics.create("orders")
    manager.topics.append("orders", UnwrittenRecord(b"before"))
    assert at("feed", "define", "F", "orders", "Q", "--begin", "latest").status == 0
    manager.topics.append("orders", UnwrittenRecord(b"put"))
    with manager.connect() as qm:
        got = qm.get("Q", timeout=WITHIN_S)
        assert got is not None
        assert got.body == b"put"
        qm.alter_object("feed", "F", state="PAUSED")
        manager.topics.append("orders", UnwrittenRecord(b"passed over"))
        qm.alter_object("feed", "F", state="RUNNING")
        assert at("feed", "seek", "F", "LATEST", "--yes").err == ""
        manager.topics.append("orders", UnwrittenRecord(b"the last one"))
        bodies: list[bytes] = []
        while not bodies or bodies[-1] != b"the last one":
            got = qm.get("Q", timeout=WITHIN_S)
            assert got is not None
            bodies.append(got.body)


def test_a_topic_that_is_not_read_soon_is_not_waited_for(
    at: Mqk, manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "BEGUN_S", 0.0)
    monkeypatch.setattr(FeedReader, "start", lambda *_: None)
    manager.topics.create("orders")
    said = at("feed", "define", "F", "orders", "Q", "--begin", "latest")
    assert said.out == "feed F defined\n"
    assert "feed F has not read its topic yet: it begins behind what is there when" in said.err


def test_it_is_told_from_where_to_read(at: Mqk) -> None:
    at("feed", "define", "F", "orders", "Q")
    assert at("feed", "seek", "F", "LATEST").out == "feed F reads from LATEST\n"
    told = json.loads(at("feed", "seek", "F", "2026-03-01T08:30:00Z", "--json").out)
    assert told == {"feed": "F", "sought": True}
    assert at("feed", "seek", "F", "latest").out == "feed F reads from LATEST\n"
    assert at("feed", "define", "G", "orders", "Q", "--begin", "latest").status == 0
    assert json.loads(at("feed", "show", "G", "--json").out)["begin"] == "LATEST"
    assert "a place to read from has at least one character" in at("feed", "seek", "F", "").err
    said = at("feed", "seek", "F", "0:17")
    assert said.status == 1
    assert "the feed knows no partition 0: it has read none" in said.err


def test_it_is_deleted(at: Mqk, manager: TestQueueManager) -> None:
    at("feed", "define", "F", "orders", "Q")
    assert at("feed", "delete", "F").out == "feed F deleted\n"
    with manager.connect() as qm:
        assert qm.objects("feed") == []
    said = at("feed", "delete", "F")
    assert said.status == 1
    assert "F" in said.err
    assert "Traceback" not in said.err


def test_what_is_no_feed_is_refused(at: Mqk) -> None:
    said = at("feed", "define", "F", "mq.QM1.ledger", "Q")
    assert said.status == 1
    assert "topic mq.QM1.ledger is one that queue managers write" in said.err


def test_a_feed_may_publish(at: Mqk, manager: TestQueueManager) -> None:
    assert at("feed", "define", "F", "orders", "--topic-string", "shop/orders").status == 0
    (row,) = [line for line in at("feed", "show").out.splitlines() if line.startswith("F ")]
    assert row.split()[:3] == ["F", "orders", "shop/orders"]
    assert at("feed", "define", "F", "orders", "Q", "--replace").status == 0
    said = at("feed", "define", "F", "orders", "Q", "--topic-string", "a", "--replace")
    assert said.status == 1
    assert "a feed has a queue or a topic_string, not both" in said.err
    assert "a feed has a queue or a topic_string" in at("feed", "define", "G", "orders").err
    manager.mqsc("ALTER FEED(F) QUEUE(' ') TOPICSTR('it''s a/b')")
    assert "TOPICSTR(it's a/b)" in manager.mqsc("DISPLAY FEED(F) TOPICSTR QUEUE")
    dumped = manager.mqsc("DISPLAY FEED(F) ALL")
    assert "QUEUE( )" in dumped or "QUEUE()" in dumped


def test_every_attribute_has_an_option(at: Mqk, manager: TestQueueManager) -> None:
    given = {
        "priority_header": "urgency", "priority_rules": "9: tier = 'gold'", "expiry": 25,
        "expiry_header": "ttl", "delay": 5, "delay_header": "wait", "descriptor": "CONNECT",
        "value": "AVRO", "fields": "number, customer.tier",
    }  # fmt: skip
    options = [
        part for name, one in given.items() for part in (f"--{name.replace('_', '-')}", str(one))
    ]
    assert at("feed", "define", "F", "orders", "Q", *options).status == 0
    with manager.connect() as qm:
        (one,) = qm.objects("feed")
    assert {name: one.attributes[name] for name in given} == given
