"""mqk queue: the options are core's table of attributes."""

import json

import pytest

from adapter.core.attributes.queue import QUEUE_ATTRIBUTES
from adapter.testing import TestQueueManager
from tests.unit.cli.conftest import Mqk


def attributes(manager: TestQueueManager, name: str) -> dict[str, object]:
    with manager.connect() as qm:
        return qm.queue(name).inquire().attributes


def test_every_attribute_is_an_option(mqk: Mqk) -> None:
    for verb in ("define", "alter"):
        text = " ".join(mqk("queue", verb, "--help").out.split())
        for row in QUEUE_ATTRIBUTES.values():
            assert f"--{row.name.replace('_', '-')}" in text
            assert f"{row.attribute.keyword}:" in text


def test_defines_a_queue_with_attributes(at: Mqk, manager: TestQueueManager) -> None:
    said = at(
        "queue", "define", "NEW", "--max-depth", 5, "--inhibit-get", "--no-share",
        "--msg-delivery-sequence", "fifo", "--description", "a queue",
        "--backout-threshold", 3, "--backout-requeue-queue", "Q",
    )  # fmt: skip
    assert (said.status, said.out) == (0, "queue NEW defined\n"), said.err
    found = attributes(manager, "NEW")
    assert found["max_depth"] == 5
    assert found["inhibit_get"] is True
    assert found["share"] is False
    assert found["msg_delivery_sequence"] == "FIFO"
    assert found["description"] == "a queue"
    assert found["backout_requeue_queue"] == "Q"
    assert found["inhibit_put"] is False


def test_defining_again_is_refused_unless_told_to_replace(
    at: Mqk, manager: TestQueueManager
) -> None:
    said = at("queue", "define", "Q", "--max-depth", 5)
    assert said.status == 1
    assert "[MQRC_OBJECT_ALREADY_EXISTS]" in said.err
    assert at("queue", "define", "Q", "--max-depth", 5, "--replace").status == 0
    assert attributes(manager, "Q")["max_depth"] == 5


def test_alters_what_is_named(at: Mqk, manager: TestQueueManager) -> None:
    before = attributes(manager, "Q")
    assert at("queue", "alter", "Q", "--inhibit-put").out == "queue Q altered\n"
    assert attributes(manager, "Q") == before | {"inhibit_put": True}
    at("queue", "alter", "Q", "--no-inhibit-put")
    assert attributes(manager, "Q") == before


def test_shows_figures(at: Mqk, manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        qm.put("Q", "x")
        qm.define_queue("OTHER")
    lines = at("queue", "show").out.splitlines()
    assert lines[0].split()[:3] == ["queue", "depth", "uncommitted"]
    assert [line.split()[:3] for line in lines[1:]] == [["OTHER", "0", "0"], ["Q", "1", "0"]]
    assert len(at("queue", "show", "O*").out.splitlines()) == 2


def test_shows_attributes(at: Mqk) -> None:
    said = at("queue", "show", "Q", "--attributes")
    rows = [line.split() for line in said.out.splitlines()]
    assert ["Q", "max_depth", "MAXDEPTH", "999,999,999"] in rows
    assert ["Q", "inhibit_get", "GET", "no"] in rows


def test_json_has_figures_and_attributes(at: Mqk) -> None:
    told = json.loads(at("queue", "show", "Q", "--json").out)
    assert told["name"] == "Q"
    assert told["current_depth"] == 0
    assert told["attributes"]["def_persistence"] is True


def test_a_queue_that_is_not_there_is_a_failure(at: Mqk) -> None:
    for arguments in (["show", "NO.SUCH"], ["alter", "NO.SUCH", "--inhibit-put"],
                      ["delete", "NO.SUCH"], ["purge", "NO.SUCH"]):  # fmt: skip
        said = at("queue", *arguments)
        assert said.status == 1, arguments
        assert "NO.SUCH" in said.err
        assert "[MQRC_UNKNOWN_OBJECT_NAME]" in said.err
    assert at("queue", "show", "NO.*").status == 0


def test_a_mistyped_queue_is_guessed(at: Mqk) -> None:
    at("queue", "define", "ORDERS")
    at("queue", "define", "ORDERS.BACKOUT")
    for arguments in (["put", "ORDRES", "--body", "x"], ["get", "orders"], ["browse", "ODERS"],
                      ["queue", "purge", "ORDER"], ["queue", "show", "Orders"]):  # fmt: skip
        said = at(*arguments)
        assert said.status == 1
        assert "does not exist: did you mean ORDERS" in said.err, arguments
        assert said.err.endswith("[MQRC_UNKNOWN_OBJECT_NAME]\n")
        assert said.out == ""
    assert "define it, or check the name" in at("queue", "show", "ZEBRA").err


def test_remedies_are_options_of_the_command(at: Mqk) -> None:
    """Not the arguments of the SDK."""
    assert "define it with --replace" in at("queue", "define", "Q").err
    at("put", "Q", "--body", "x")
    assert "delete it with --purge" in at("queue", "delete", "Q").err
    at("queue", "alter", "Q", "--inhibit-get", "--inhibit-put")
    assert "with --no-inhibit-get" in at("get", "Q").err
    assert "with --no-inhibit-put" in at("put", "Q", "--body", "x").err


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a person sat there."""
    monkeypatch.setattr("tests.unit.cli.conftest.Input.isatty", lambda _: True)


def test_who_sits_at_a_terminal_is_asked_before_messages_are_discarded(
    at: Mqk, manager: TestQueueManager, terminal: None
) -> None:
    def depth() -> int:
        with manager.connect() as qm:
            return qm.queue("Q").depth()

    at("put", "Q", "--body", "x")
    for arguments in (["purge", "Q"], ["delete", "Q", "--purge"]):
        said = at("queue", *arguments, stdin=b"n\n")
        assert said.status == 1
        assert "discard" in said.err.lower()
        assert "nothing was done" in said.err
        assert depth() == 1
    assert at("queue", "purge", "Q", stdin=b"y\n").out == "1 message purged from Q\n"
    at("put", "Q", "--body", "x")
    assert at("queue", "delete", "Q").status == 1, "nothing is asked where nothing is discarded"
    assert at("queue", "purge", "Q", "--yes").out == "1 message purged from Q\n"


def test_deletes_a_queue(at: Mqk, manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        qm.put("Q", "x")
    said = at("queue", "delete", "Q")
    assert said.status == 1
    assert "[MQRC_Q_NOT_EMPTY]" in said.err
    assert at("queue", "delete", "Q", "--purge").out == "queue Q deleted\n"
    assert at("queue", "show").out.split("\n")[1:] == [""]


def test_purges_a_queue(at: Mqk, manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        qm.put("Q", "x")
        qm.put("Q", "y")
    assert at("queue", "purge", "Q").out == "2 messages purged from Q\n"
    assert json.loads(at("queue", "purge", "Q", "--json").out) == {"queue": "Q", "purged": 0}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["define"], "Missing argument 'NAME'"),
        (["define", "N", "--max-depth", "-1"], "-1 is not in the range 0<=x<=999999999"),
        (["define", "N", "--max-depth", "many"], "'many' is not a valid integer"),
        (["define", "N", "--def-priority", "10"], "10 is not in the range 0<=x<=9"),
        (["define", "N", "--msg-delivery-sequence", "LIFO"], "'LIFO' is not one of"),
        (["define", "N", "--no-such-attribute", "1"], "No such option"),
        (["alter", "Q"], "name at least one attribute"),
        (["delete"], "Missing argument 'NAME'"),
        (["purge"], "Missing argument 'NAME'"),
        (["show", "A", "B"], "unexpected extra argument"),
        (["show", "--attributes", "--json", "--qmgr"], "requires an argument"),
    ],
)
def test_wrong_use(arguments: list[str], words: str, at: Mqk) -> None:
    said = at("queue", *arguments)
    assert said.status == 2
    assert words in said.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["define", "A B"],
        ["define", "X" * 49],
        ["define", "N", "--description", "x" * 65],
        ["alter", "Q", "--backout-requeue-queue", "X" * 49],
    ],
)
def test_what_the_queue_manager_refuses_is_a_sentence(arguments: list[str], at: Mqk) -> None:
    said = at("queue", *arguments)
    assert said.status == 1
    assert said.err.startswith("mqk: ")
    assert said.err.count("\n") == 1
    assert "[MQRC" in said.err


def test_a_name_that_is_none_is_a_mistake_without_a_reason_code(at: Mqk) -> None:
    said = at("queue", "define", "")
    assert (said.status, said.err) == (1, "mqk: a queue name has at least one character\n")


def test_finding_users_17_a_queue_that_names_a_missing_one(
    at: Mqk, manager: TestQueueManager
) -> None:
    said = at("queue", "define", "X", "--backout-requeue-queue", "MISSING.Q")
    assert (said.status, said.out) == (0, "queue X defined\n")
    assert "warning: queue X has --backout-requeue-queue MISSING.Q" in said.err
    assert at("queue", "alter", "X", "--backout-requeue-queue", "Q").err == ""
    said = at("queue", "delete", "Q")
    assert said.status == 0
    assert "warning: queue X names Q as its backout_requeue_queue" in said.err
