"""The auditor must be able to say no: to each thing that it watches over."""

import ast
from pathlib import Path

import pytest

from tests.simulation.auditor import Auditor, Copied
from tests.simulation.operations import Message, Op
from tests.simulation.world import DONE, GONE, PUT, Answer

HERE = Path(__file__).parent
NOW_MS = 1_000
INDEPENDENT = (
    "auditor.py",
    "conservation_model.py",
    "consumer_auditor.py",
    "cursors_model.py",
    "delay_auditor.py",
    "dialogs_model.py",
    "groups.py",
    "hosts_model.py",
    "letters.py",
    "message_auditor.py",
    "msmq_auditor.py",
    "operations.py",
    "publish_auditor.py",
    "trigger_auditor.py",
    "work_auditor.py",
    "world.py",
)


class Story:
    """Tells an auditor what one program does, on queue Q."""

    def __init__(self) -> None:
        self.auditor = Auditor()
        self.numbers = 0
        self.do("define", DONE, queue="Q", limit=100)
        self.do("open", DONE, queue="Q")

    def decide(self, kind: str, **details: object) -> int:
        unit = details.get("unit")
        numbered = kind in ("define", "commit", "backout", "purge", "delete")
        if numbered or (kind in ("put", "get") and not unit):
            self.numbers += 1
            details.setdefault("number", self.numbers)
        return self.auditor.decided(Op("ann", kind, NOW_MS, **details))  # type: ignore[arg-type]

    def do(self, kind: str, answer: Answer, **details: object) -> None:
        self.auditor.answered(self.decide(kind, **details), answer)

    def put(self, body: str, *, hard: bool = True, priority: int = 0, unit: str = "") -> None:
        message = Message(body, priority, hard)
        self.do("put", PUT, queue="Q", unit=unit, messages=(message,))

    def copy(self, body: str, seq: int, unit: str = "u", part: int = 0, size: int = 1) -> None:
        self.auditor.copied([Copied(("Q", 0, 0), body, seq, unit, part, size, part, size)])


@pytest.fixture
def story() -> Story:
    return Story()


@pytest.mark.parametrize("name", INDEPENDENT)
def test_it_imports_nothing_of_the_product(name: str) -> None:
    tree = ast.parse((HERE / name).read_text())
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    imported |= {node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {one.split(".")[0] for one in imported} <= {
        "__future__",
        "abc",
        "bisect",
        "collections",
        "dataclasses",
        "itertools",
        "tests",
        "typing",
    }
    assert {one for one in imported if one.startswith("tests")} <= {
        f"tests.simulation.{one.removesuffix('.py')}" for one in INDEPENDENT
    }


def test_a_true_story_is_believed(story: Story) -> None:
    story.put("a")
    story.put("b", priority=9)
    story.do("begin", DONE, unit="u1")
    story.do("get", ("got", [("b", 0)]), queue="Q", unit="u1")
    story.do("backout", GONE, unit="u1")
    story.auditor.recovered(True, NOW_MS, {"Q": [("b", 1), ("a", 0)]})
    story.do("open", DONE, queue="Q")
    story.do("get", ("got", [("b", 1)]), queue="Q")
    story.copy("a", 1, "u2")
    story.auditor.copied([Copied(("Q", 0, 9), "b", 1, "u3", 0, 1, 0, 1)])
    story.auditor.at_rest({"Q": [("a", 0)]})


@pytest.mark.parametrize(
    "answer", [("got", []), ("got", [("b", 0)]), ("got", [("a", 1)]), ("got", [("a", 0), ("b", 0)])]
)
def test_a_wrong_answer(story: Story, answer: Answer) -> None:
    story.put("a")
    story.put("b")
    with pytest.raises(AssertionError, match="possible is"):
        story.do("get", answer, queue="Q")


@pytest.mark.parametrize(
    "left",
    [
        [("b", 0)],
        [("b", 0), ("a", 0)],
        [("a", 0), ("b", 0), ("b", 0)],
        [("a", 1), ("b", 0)],
        [("a", 0), ("b", 0), ("soft", 0)],
    ],
    ids=["lost", "out of order", "doubled", "counted", "not persistent"],
)
def test_a_crash_that_leaves_something_else(story: Story, left: list[tuple[str, int]]) -> None:
    story.put("a")
    story.put("b")
    story.put("soft", hard=False)
    with pytest.raises(AssertionError, match="after a crash"):
        story.auditor.recovered(True, NOW_MS, {"Q": left})


def test_half_a_unit_after_a_crash(story: Story) -> None:
    story.do("begin", DONE, unit="u1")
    story.put("a", unit="u1")
    story.put("b", unit="u1")
    story.decide("commit", unit="u1")
    with pytest.raises(AssertionError, match="after a crash"):
        story.auditor.recovered(True, NOW_MS, {"Q": [("a", 0)]})


@pytest.mark.parametrize("left", [[], [("a", 0)]])
def test_what_was_not_answered_may_have_happened_or_not(
    story: Story, left: list[tuple[str, int]]
) -> None:
    story.decide("put", queue="Q", messages=(Message("a", 0, True),))
    story.auditor.recovered(True, NOW_MS, {"Q": left})
    story.do("open", DONE, queue="Q")
    with pytest.raises(AssertionError, match="possible is"):
        story.do("get", ("got", [("a", 0)] if not left else []), queue="Q")


def test_an_outcome_that_is_told_otherwise_the_second_time(story: Story) -> None:
    story.put("a")
    story.do("get", ("got", [("a", 0)]), queue="Q", number=50)
    story.auditor.recovered(True, NOW_MS, {"Q": []})
    story.do("open", DONE, queue="Q")
    again = story.decide("get", queue="Q", number=50)
    with pytest.raises(AssertionError, match="possible is"):
        story.auditor.answered(again, ("got", []))


def test_a_copy_that_comes_twice(story: Story) -> None:
    story.put("a")
    story.copy("a", 1)
    with pytest.raises(AssertionError, match="as number 2 of its lane"):
        story.copy("a", 1)
    with pytest.raises(AssertionError, match="topics hold"):
        story.copy("a", 2)


def test_copies_out_of_order(story: Story) -> None:
    story.put("a")
    story.put("b")
    with pytest.raises(AssertionError, match="topics hold"):
        story.copy("b", 1)


def test_a_copy_of_what_was_not_committed(story: Story) -> None:
    story.do("begin", DONE, unit="u1")
    story.put("a", unit="u1")
    with pytest.raises(AssertionError, match="topics hold"):
        story.copy("a", 1)


def test_a_copy_of_what_a_crash_took(story: Story) -> None:
    story.decide("put", queue="Q", messages=(Message("a", 0, True),))
    story.copy("a", 1)
    with pytest.raises(AssertionError, match="before the recovery"):
        story.auditor.recovered(True, NOW_MS, {"Q": []})


def test_half_a_unit_on_the_topics(story: Story) -> None:
    story.put("a")
    story.put("b")
    story.copy("a", 1, "u1", part=0, size=2)
    with pytest.raises(AssertionError, match="parts of units"):
        story.auditor.units_are_whole()
    story.copy("b", 2, "u1", part=1, size=2)
    story.auditor.units_are_whole()


def test_a_copy_that_never_comes(story: Story) -> None:
    story.put("a")
    with pytest.raises(AssertionError, match="the topics lack"):
        story.auditor.at_rest({"Q": [("a", 0)]})


def story_of_expiry(story: Story) -> None:
    message = Message("a", 0, True, NOW_MS)
    story.do("put", PUT, queue="Q", messages=(message,))


def test_a_message_that_is_not_discarded_though_its_time_is_over(story: Story) -> None:
    story_of_expiry(story)
    story.auditor.nothing_is_over(NOW_MS - 1)
    with pytest.raises(AssertionError, match="time is over"):
        story.auditor.nothing_is_over(NOW_MS)


@pytest.mark.parametrize("body", ["b", "c"], ids=["its time is not over", "not there"])
def test_a_message_that_is_discarded_for_no_reason(story: Story, body: str) -> None:
    story_of_expiry(story)
    story.put("b")
    good, bad = Op("", "tick", NOW_MS), Op("", "tick", NOW_MS)
    good.gone, bad.gone = (("Q", "a"),), (("Q", body),)
    story.auditor.decided(good)
    story.auditor.nothing_is_over(NOW_MS)
    with pytest.raises(AssertionError, match="discards what is not there"):
        story.auditor.decided(bad)


def test_a_waiting_get_is_served_when_its_page_has_come(story: Story) -> None:
    waiting = story.decide("get", queue="Q", wait_ms=-1)
    put = Op("ann", "put", NOW_MS, queue="Q", messages=(Message("a", 0, True),))
    put.stuck = frozenset({waiting})
    story.auditor.answered(story.auditor.decided(put), PUT)
    story.auditor.decided(Op("", "wake", NOW_MS, queue="Q"))
    story.auditor.answered(waiting, ("got", [("a", 0)]))


def test_what_has_left_a_queue_may_be_deleted(story: Story) -> None:
    for body in "abc":
        story.put(body)
    story.do("get", ("got", [("a", 0)]), queue="Q")
    story.do("begin", DONE, unit="u")
    story.do("get", ("got", [("b", 0)]), queue="Q", unit="u")
    story.decide("commit", unit="u")  # not answered: that b is deleted says that it happened
    story.auditor.trimmed("Q", ["a", "b"], NOW_MS)
    story.auditor.recovered(True, NOW_MS, {"Q": [("c", 0)]})


@pytest.mark.parametrize(("deleted", "before_ms"), [("a", NOW_MS), ("b", NOW_MS - 1)])
def test_what_a_unit_holds_or_what_has_just_left_may_not(
    story: Story, deleted: str, before_ms: int
) -> None:
    story.put("a")
    story.put("b")
    story.do("begin", DONE, unit="u")
    story.do("get", ("got", [("a", 0)]), queue="Q", unit="u")
    story.do("get", ("got", [("b", 0)]), queue="Q")
    with pytest.raises(AssertionError, match="were deleted; not all had left"):
        story.auditor.trimmed("Q", [deleted], before_ms)


@pytest.mark.parametrize("state", ["committed", "backed out"])
def test_nobody_can_say_what_became_of_an_empty_unit(story: Story, state: str) -> None:
    """It left nothing in the ledger, but a snapshot may have remembered it before a crash."""
    story.do("begin", DONE, unit="u1")
    story.decide("commit", unit="u1")
    story.auditor.recovered(True, NOW_MS, {"Q": []})
    story.do("ask", ("state", state), unit="u1")


@pytest.mark.parametrize(("touched", "count"), [(False, 0), (True, 1)])
def test_what_was_shown_counts_and_what_was_not_does_not(
    story: Story, touched: bool, count: int
) -> None:
    story.put("a")
    story.do("begin", DONE, unit="u", flag=True)
    story.do("get", ("got", [("a", 0)]), queue="Q", unit="u")
    if touched:
        story.decide("touch", unit="u")
    story.do("backout", GONE, unit="u")
    with pytest.raises(AssertionError, match="possible is"):
        story.do("get", ("got", [("a", 1 - count)]), queue="Q")


@pytest.mark.parametrize("answer", [DONE, GONE, ("refused", "QUEUE_FULL")])
def test_a_commit_is_refused_for_a_deferred_put(story: Story, answer: Answer) -> None:
    story.do("begin", DONE, unit="u")
    story.decide("put_deferred", queue="nowhere", unit="u", messages=(Message("a", 0, True),))
    story.decide("put_deferred", queue="Q", unit="u", messages=(Message("b", 0, True),))
    with pytest.raises(AssertionError, match="HANDLE_NOT_OPEN"):
        story.do("commit", answer, unit="u")
