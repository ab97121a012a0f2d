"""mqk feed: defining one, what is shown of it, and what an operator does with it."""

import json

from adapter.testing import TestQueueManager
from tests.unit.cli.conftest import Mqk


def test_a_feed_is_defined_and_shown(at: Mqk, manager: TestQueueManager) -> None:
    said = at("feed", "define", "ORDERS.IN", "orders", "Q", "--key", "correlid", "--no-origin")
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
    assert row.split()[:7] == ["ORDERS.IN", "orders", "Q", "starting", "0", "0", "0"]
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


def test_it_is_told_from_where_to_read(at: Mqk) -> None:
    at("feed", "define", "F", "orders", "Q")
    assert at("feed", "seek", "F", "LATEST").out == "feed F reads from LATEST\n"
    told = json.loads(at("feed", "seek", "F", "2026-03-01T08:30:00Z", "--json").out)
    assert told == {"feed": "F", "sought": True}
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
