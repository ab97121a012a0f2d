"""mqk browse: everything is shown, nothing is taken."""

import json

import pytest

from adapter.testing import TestQueueManager
from tests.unit.cli.conftest import Mqk


@pytest.fixture
def filled(at: Mqk, manager: TestQueueManager) -> Mqk:
    with manager.connect() as qm:
        for priority in (1, 5, 3):
            qm.put("Q", f"p{priority}\x1b[31m\n", priority=priority)
    return at


def test_shows_all_in_the_order_of_delivery(filled: Mqk, manager: TestQueueManager) -> None:
    said = filled("browse", "Q")
    assert said.status == 0
    lines = said.out.splitlines()
    assert [line[:3] for line in lines] == ["[5]", "[3]", "[1]"]
    with manager.connect() as qm:
        assert qm.queue("Q").depth() == 3


def test_makes_bodies_printable(filled: Mqk) -> None:
    said = filled("browse", "Q", "--limit", 1)
    assert said.out.endswith("  p5\\x1b[31m\\n\n")


def test_shows_how_often_a_message_was_backed_out(filled: Mqk, manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        unit = qm.unit()
        unit.begin()
        assert qm.get("Q", unit=unit) is not None
        unit.backout()
    assert "(backed out 1x)" in filled("browse", "Q", "--limit", 1).out


def test_json_has_an_object_a_line(filled: Mqk) -> None:
    told = [json.loads(line) for line in filled("browse", "Q", "--json").out.splitlines()]
    assert [one["priority"] for one in told] == [5, 3, 1]


def test_an_empty_queue_is_no_failure(at: Mqk) -> None:
    said = at("browse", "Q")
    assert (said.status, said.out) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["browse"], "Missing argument 'QUEUE'"),
        (["browse", "Q", "--limit", "0"], "0 is not in the range x>=1"),
        (["browse", "Q", "--message-id", "q"], "neither hexadecimal digits"),
    ],
)
def test_wrong_use(arguments: list[str], words: str, at: Mqk) -> None:
    said = at(*arguments)
    assert said.status == 2
    assert words in said.err


def test_a_failure_names_its_reason(at: Mqk) -> None:
    said = at("browse", "NO.SUCH")
    assert said.status == 1
    assert "[MQRC_UNKNOWN_OBJECT_NAME]" in said.err
