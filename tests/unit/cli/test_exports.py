"""mqk export: defining one, what is shown of it, and what an operator does with it."""

import json
from typing import Any

import pytest

import adapter
from adapter.cli import exports as cli
from adapter.core.attributes.export import EXPORT
from adapter.server.services import exports
from adapter.testing import TestQueueManager
from tests.unit.cli.conftest import Mqk

SELDOM_S = 1.0


@pytest.fixture
def writing(at: Mqk, manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch) -> None:
    """An export E of queue Q that has written a record; the service that stops it looks seldom."""
    monkeypatch.setattr(exports, "LOOK_S", SELDOM_S)
    manager.topics.create("results")
    at("export", "define", "E", "Q", "results")
    at("put", "Q", "written")
    manager.topics.await_records("results", 1)


def attributes_of(manager: TestQueueManager, name: str) -> dict[str, Any]:
    """Return what is defined under a name."""
    with manager.connect() as qm:
        (one,) = qm.objects(EXPORT, name)
    return dict(one.attributes)


def test_an_export_is_defined_and_shown(at: Mqk, manager: TestQueueManager) -> None:
    given = ("--key", "correlid", "--headers", "trace-*, colour", "--refused", "wait")
    said = at("export", "define", "RESULTS.OUT", "Q", "results", *given)
    assert (said.status, said.out, said.err) == (0, "export RESULTS.OUT defined\n", "")
    found = attributes_of(manager, "RESULTS.OUT")
    assert (found["queue"], found["topic"]) == ("Q", "results")
    assert (found["key"], found["headers"], found["refused"]) == (
        *("CORRELID", "trace-*, colour", "WAIT"),
    )
    (row,) = [line for line in at("export", "show").out.splitlines() if "RESULTS.OUT" in line]
    assert row.split()[:3] == ["RESULTS.OUT", "Q", "results"]
    told = json.loads(at("export", "show", "R*", "--json").out)
    assert (told["export"], told["queue"], told["topic"], told["records"]) == (
        *("RESULTS.OUT", "Q", "results", 0),
    )
    assert at("export", "show", "X*", "--json").out == ""


def test_an_export_that_is_there_is_replaced_if_that_is_said(
    at: Mqk, manager: TestQueueManager
) -> None:
    at("export", "define", "E", "Q", "results")
    again = at("export", "define", "E", "Q", "others")
    assert again.status == 1
    assert "object E already exists (as export)" in again.err
    assert attributes_of(manager, "E")["topic"] == "results"
    assert at("export", "define", "E", "Q", "others", "--replace").status == 0
    assert attributes_of(manager, "E")["topic"] == "others"


def test_it_is_paused_and_resumed(at: Mqk, manager: TestQueueManager) -> None:
    at("export", "define", "E", "Q", "results")
    for verb, state in (("pause", "PAUSED"), ("resume", "RUNNING")):
        assert at("export", verb, "E").out == f"export E {verb}d\n"
        assert attributes_of(manager, "E")["state"] == state
    assert json.loads(at("export", "pause", "E", "--json").out) == {"export": "E", "paused": True}


@pytest.mark.usefixtures("writing")
def test_it_is_paused_when_it_writes_nothing_any_more(at: Mqk, manager: TestQueueManager) -> None:
    """What is put before its exporter is stopped is not written."""
    assert at("export", "pause", "E").out == "export E paused\n"
    assert manager.statistics()["exports"]["E"]["state"] == "paused"
    at("put", "Q", "while it was paused")
    assert at("browse", "Q").out.endswith("while it was paused\n")


@pytest.mark.usefixtures("writing")
def test_it_is_deleted_when_it_has_closed_its_queue(at: Mqk) -> None:
    """Whoever gets the messages now is not refused, and what is put is not written."""
    assert at("export", "delete", "E", "--yes").out == "export E deleted\n"
    at("put", "Q", "not written")
    assert at("get", "Q").out == "not written\n"


@pytest.mark.usefixtures("writing")
@pytest.mark.parametrize("hears", [True, False])
def test_a_pause_does_not_wait_for_ever(
    at: Mqk, monkeypatch: pytest.MonkeyPatch, hears: bool
) -> None:
    """Kafka may not answer; and who may pause an export need not be allowed to see its figures."""
    monkeypatch.setattr(cli, "ENDED_S", 0.0)
    if not hears:
        monkeypatch.setattr(adapter.Connection, "figures", not_authorized)
    said = at("export", "pause", "E")
    assert (said.status, said.out) == (0, "export E paused\n")
    assert ("export E still writes what it has got: " in said.err) == hears


def not_authorized(_: adapter.Connection) -> dict[str, Any]:
    raise adapter.NotAuthorized("no authority for QM1")


def test_it_is_deleted_and_its_queue_stays(at: Mqk, manager: TestQueueManager) -> None:
    at("export", "define", "E", "Q", "results", "--state", "paused")
    at("put", "Q", stdin=b"not written yet")
    assert at("export", "delete", "E", "--yes").out == "export E deleted\n"
    with manager.connect() as qm:
        assert qm.objects(EXPORT) == []
        got = qm.get("Q")
        assert got is not None
        assert got.body == b"not written yet"
    for verb in ("pause", "resume", "delete"):
        said = at("export", verb, "E", *(["--yes"] if verb == "delete" else []))
        assert (said.status, said.out) == (1, "")
        assert said.err.startswith("mqk: object E does not exist (export): ")


@pytest.mark.parametrize(
    ("name", "queue", "topic", "says"),
    [
        ("E", "Q", "mq.QM1.ledger", "topic mq.QM1.ledger is one that queue managers write"),
        ("E", "Q", "__consumer_offsets", "is one that Kafka itself writes"),
        ("E", "Q", "a b", "topic 'a b' is not a valid name of a Kafka topic"),
        ("E", "Q", "", "topic '' is not a valid name of a Kafka topic"),
        ("E", "Q", "..", "topic '..' is not a valid name of a Kafka topic"),
        ("E", "Q", "t" * 250, "topic takes at most 249 characters, not 250"),
        ("E", "", "results", "queue '' is not a valid name of a queue"),
        ("E", r".\private$\q", "results", "is not a valid name of a queue"),
        ("E", "SYSTEM.DELAYED.QUEUE", "results", "is one of the queue manager"),
        ("E", "TAKEN", "results", "export FIRST gets the messages of queue TAKEN"),
        ("E", "Q", "fed", "feed F reads topic fed: what is written there would come back"),
        ("", "Q", "results", "a queue name has at least one character"),
        ("a b", "Q", "results", "invalid queue name 'a b'"),
        ("-x", "Q", "results", "invalid queue name '-x'"),
        ("E" * 49, "Q", "results", "use 1-48 characters"),
    ],
)
def test_what_is_no_export_is_refused(
    at: Mqk, name: str, queue: str, topic: str, says: str
) -> None:
    at("export", "define", "FIRST", "TAKEN", "others")
    at("feed", "define", "F", "fed", "Q")
    said = at("export", "define", "--", name, queue, topic)
    assert (said.status, said.out) == (1, "")
    assert says in said.err
    assert "Traceback" not in said.err


def test_what_is_no_export_is_not_made_of_one(at: Mqk, manager: TestQueueManager) -> None:
    at("export", "define", "FIRST", "TAKEN", "others")
    at("export", "define", "E", "Q", "results")
    said = at("export", "define", "E", "TAKEN", "results", "--replace")
    assert "export FIRST gets the messages of queue TAKEN" in said.err
    assert attributes_of(manager, "E")["queue"] == "Q"
    assert at("export", "define", "FIRST", "TAKEN", "others", "--replace").status == 0, "itself"


def test_words_of_options_are_checked(at: Mqk) -> None:
    said = at("export", "define", "E", "Q", "results", "--key", "value")
    assert said.status == 2
    assert "'value' is not one of 'property', 'correlid', 'groupid', 'msgid', 'none'" in said.err
    said = at("export", "define", "E", "Q", "results", "--headers", "a,,b")
    assert said.status == 1
    assert "headers 'a,,b' has an empty name" in said.err
    assert at("export", "define", "E", "Q").status == 2
    assert at("export", "define", "E", "Q", "results", "more").status == 2


def test_those_that_are_made_for_programs_are_shown_if_that_is_said(
    at: Mqk, manager: TestQueueManager
) -> None:
    at("export", "define", "SYSTEM.E", "Q", "results")
    assert "SYSTEM.E" not in at("export", "show").out
    assert "SYSTEM.E" in at("export", "show", "--system").out
