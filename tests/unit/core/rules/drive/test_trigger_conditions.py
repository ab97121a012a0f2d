"""The table of conditions: of every way, each condition is needed, and all together are enough."""

from collections.abc import Callable
from typing import Any

import pytest

from adapter.core.attributes.queue import QueueAttributes
from adapter.core.contract.message import MessageData
from adapter.core.model.queue import LocalQueue
from adapter.core.model.trigger_event import TriggerEvent
from adapter.core.rules.drive.trigger_conditions import CONDITIONS, WAYS, Situation, way
from tests.support.each import each

NOW_MS = 1_700_000_000_000
INTERVAL_MS = 1_000


def queue(messages: int = 0, priority: int = 4, **attributes: Any) -> LocalQueue:
    """A queue that is to be triggered, with so many messages."""
    given: dict[str, Any] = {"trigger_control": True, "initiation_queue": "INITQ"}
    given |= {"process": "P", "trigger_msg_priority": 4}
    made = LocalQueue("Q", 0, QueueAttributes(**(given | attributes)))
    for _ in range(messages):
        made.hold_put(MessageData(priority=priority))
    return made


def situation(
    kind: Any, own: LocalQueue | None = None, *, of_initiation: bool = False, **event: Any
) -> Situation:
    """All is well: there are a process and an initiation queue that somebody monitors."""
    initiation = LocalQueue("INITQ", 0, QueueAttributes())
    initiation.opens.input = 1
    own = own or queue()
    about = initiation if of_initiation else own
    told = TriggerEvent(kind=kind, queue=about, now_ms=NOW_MS, **event)
    return Situation(
        told, own, initiation, has_process=True, interval_ms=INTERVAL_MS, since_ms=None
    )


def arrival(before: int, **attributes: Any) -> Situation:
    """A message of priority 4 arrives."""
    return situation("put", queue(before + 1, **attributes), priority=4, before=before)


def name_of(s: Situation) -> str:
    found = way(s)
    return found.name if found else ""


MET: dict[str, Callable[[], Situation]] = {
    "1": lambda: arrival(0),
    "10": lambda: arrival(1),
    "11": lambda: situation("close", queue(1), inputs=0),
    "12a": lambda: situation("alter", queue(1), was={"trigger_control": False}),
    "12b": lambda: situation("alter", queue(1), of_initiation=True, was={"inhibit_put": True}),
    "12c": lambda: situation("alter", queue(1), of_initiation=True, was={"inhibit_get": True}),
    "12d": lambda: situation("open", queue(1), of_initiation=True, inputs=1),
}


def set_event(**fields: Any) -> Callable[[Situation], None]:
    def change(s: Situation) -> None:
        for name, value in fields.items():
            setattr(s.event, name, value)

    return change


def set_own(**attributes: Any) -> Callable[[Situation], None]:
    return lambda s: s.queue.alter(attributes)


def set_initiation(**attributes: Any) -> Callable[[Situation], None]:
    def change(s: Situation) -> None:
        assert s.initiation is not None
        s.initiation.alter(attributes)

    return change


def served(s: Situation) -> None:
    s.queue.opens.input = 1


def no_process(s: Situation) -> None:
    s.has_process = False


def lacks_its_process(s: Situation) -> None:
    s.queue.alter({"usage": "XMITQ"})
    s.has_process = False


def no_initiation(s: Situation) -> None:
    s.initiation = None


def no_monitor(s: Situation) -> None:
    assert s.initiation is not None
    s.initiation.opens.input = 0


def too_soon(s: Situation) -> None:
    s.since_ms = INTERVAL_MS - 1


def too_few(s: Situation) -> None:
    s.queue.uncommitted_by_priority = [5, 5, 5, 5, 0, 0, 0, 0, 0, 0]


BROKEN: dict[str, list[Callable[[Situation], None]]] = {
    "1": [set_event(kind="close", inputs=1), set_event(kind="open"), set_event(kind="alter")],
    "2": [set_event(priority=3)],
    "3": [],  # one that is not the first is another way, if it is any: see below
    "4": [served],
    "5": [no_process, set_own(process=""), lacks_its_process],
    "6": [
        no_initiation,
        set_initiation(inhibit_get=True),
        set_initiation(inhibit_put=True),
        set_initiation(usage="XMITQ"),
    ],
    "7": [no_monitor],
    "8": [set_own(trigger_control=False)],
    "9": [set_own(trigger_type="NONE")],
    "10": [too_soon, set_event(kind="close", inputs=1)],
    "11": [set_event(kind="put"), set_event(inputs=1), set_own(trigger_type="EVERY")],
    "n": [too_few],
    "12a": [
        set_event(kind="open"),
        set_event(was={}),
        set_event(was={"trigger_depth": 2}),
        set_event(was={"inhibit_put": True}),
        lambda s: setattr(s.event, "queue", s.initiation),
    ],
    "12b": [
        set_event(kind="open"),
        set_event(was={"inhibit_put": False}),
        lambda s: setattr(s.event, "queue", s.queue),
    ],
    "12c": [set_event(kind="open"), set_event(was={"inhibit_get": False})],
    "12d": [set_event(kind="alter"), set_event(inputs=2)],
}


@pytest.mark.parametrize("name", MET)
def test_all_conditions_together_are_enough(name: str) -> None:
    assert name_of(MET[name]()) == name


@each(
    (one.name, condition.number, which)
    for one in WAYS
    for condition in one.conditions
    for which in range(len(BROKEN[condition.number]))
)
def test_each_condition_is_needed(name: str, number: str, which: int) -> None:
    s = MET[name]()
    BROKEN[number][which](s)
    assert name_of(s) == ""


def test_the_ways_need_what_the_manual_says() -> None:
    needed = {one.name: [each.number for each in one.conditions] for one in WAYS}
    assert needed == {
        "1": ["1", "2", "3", "4", "5", "6", "7", "8", "9"],
        "10": ["10", "2", "4", "5", "6", "7", "8", "9"],
        "11": ["11", "n", "5", "6", "7", "8", "9"],
        "12a": ["12a", "n", "4", "5", "6", "7", "8", "9"],
        "12b": ["12b", "n", "4", "5", "6", "7", "8", "9"],
        "12c": ["12c", "n", "4", "5", "6", "7", "8", "9"],
        "12d": ["12d", "n", "4", "5", "6", "7", "8", "9"],
    }
    assert list(needed) == list(MET)
    assert [each.number for each in CONDITIONS] == list(BROKEN)


@pytest.mark.parametrize("priority", [4, 9])
def test_2_a_priority_that_is_just_enough(priority: int) -> None:
    s = arrival(0)
    s.event.priority = priority
    assert name_of(s) == "1"


@pytest.mark.parametrize(
    ("trigger_type", "before", "name"),
    [
        ("FIRST", 0, "1"),
        ("FIRST", 1, "10"),
        ("FIRST", 7, "10"),
        ("EVERY", 0, "1"),
        ("EVERY", 1, "1"),
        ("EVERY", 7, "1"),
        ("DEPTH", 0, ""),
        ("DEPTH", 1, ""),
        ("DEPTH", 2, "1"),
        ("DEPTH", 3, "10"),
        ("DEPTH", 4, "10"),
    ],
)
def test_3_and_10_how_many_there_were_before(trigger_type: str, before: int, name: str) -> None:
    assert name_of(arrival(before, trigger_type=trigger_type, trigger_depth=3)) == name


@pytest.mark.parametrize(
    ("before", "stored", "name"),
    [(0, 2, ""), (0, 3, "1"), (0, 5, "1"), (2, 3, "1"), (3, 3, "10"), (1, 1, "")],
)
def test_3_several_segments_at_once_cross_the_depth(before: int, stored: int, name: str) -> None:
    s = arrival(before, trigger_type="DEPTH", trigger_depth=3)
    s.event.stored = stored
    assert name_of(s) == name


@pytest.mark.parametrize(
    ("since_ms", "name"),
    [(None, "10"), (0, ""), (INTERVAL_MS - 1, ""), (INTERVAL_MS, "10")],
)
def test_10_the_interval(since_ms: int | None, name: str) -> None:
    s = arrival(1)
    s.since_ms = since_ms
    assert name_of(s) == name


def test_10_the_interval_is_for_first_and_not_for_condition_1() -> None:
    for s in (arrival(0), arrival(5, trigger_type="DEPTH", trigger_depth=2)):
        s.since_ms = 0
        assert name_of(s)


@pytest.mark.parametrize("name", MET)
def test_every_goes_on_while_somebody_serves(name: str) -> None:
    s = MET[name]()
    set_own(trigger_type="EVERY")(s)
    served(s)
    assert name_of(s) == {"10": "1", "11": ""}.get(name, name)


@pytest.mark.parametrize("name", MET)
def test_5_a_transmission_queue_needs_no_process(name: str) -> None:
    s = MET[name]()
    set_own(usage="XMITQ", process="")(s)
    no_process(s)
    assert name_of(s) == name


@pytest.mark.parametrize("name", ["11", "12a", "12b", "12c", "12d"])
@pytest.mark.parametrize(
    ("trigger_type", "count", "enough"),
    [("FIRST", 1, True), ("FIRST", 0, False), ("DEPTH", 2, False), ("DEPTH", 3, True)],
)
def test_n_how_many_must_be_there(name: str, trigger_type: str, count: int, enough: bool) -> None:
    s = MET[name]()
    set_own(trigger_type=trigger_type, trigger_depth=3)(s)
    s.queue.uncommitted_by_priority = [9, 9, 9, 9, count, 0, 0, 0, 0, 0]
    assert name_of(s) == (name if enough else "")


@pytest.mark.parametrize(
    ("trigger_type", "changed", "is_one"),
    [
        ("FIRST", "trigger_type", True),
        ("FIRST", "trigger_msg_priority", True),
        ("FIRST", "trigger_depth", False),
        ("EVERY", "trigger_depth", False),
        ("DEPTH", "trigger_depth", True),
        ("DEPTH", "trigger_data", False),
    ],
)
def test_12a_which_changes_count(trigger_type: str, changed: str, is_one: bool) -> None:
    s = situation("alter", queue(1, trigger_type=trigger_type), was={changed: "something"})
    assert name_of(s) == ("12a" if is_one else "")


def test_12c_gets_from_the_queue_itself_are_allowed_again() -> None:
    assert name_of(situation("alter", queue(1), was={"inhibit_get": True})) == "12c"


def test_texts_name_what_they_are_about() -> None:
    for condition in CONDITIONS:
        assert condition.text
        assert condition.text[0].isalpha() or condition.number == "n"
    assert len({condition.text for condition in CONDITIONS}) == len(CONDITIONS)
