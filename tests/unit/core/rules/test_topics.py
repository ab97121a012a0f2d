"""Topic objects and topic strings: what they lead to, and what holds where."""

import pytest

from adapter.core import commands as c
from adapter.core.reasons import Reason, Refusal
from adapter.core.rules.topics import Standing, full_string, standing
from tests.support.core import Client, Core


@pytest.mark.parametrize(
    ("place", "given", "whole"),
    [
        ("Football/Scores", "", "Football/Scores"),
        ("Football", "Scores", "Football/Scores"),
        ("Football", "/Scores", "Football//Scores"),
        ("/Football", "Scores", "/Football/Scores"),
        ("Football/", "Scores", "Football//Scores"),
    ],
)
def test_a_topic_object_is_what_a_topic_string_begins_with(
    client: Client, place: str, given: str, whole: str
) -> None:
    client.do(c.DefineObject("topic", "T", {"topic_string": place}))
    assert full_string(client.core.qm, "T", given) == whole
    assert full_string(client.core.qm, "SYSTEM.BASE.TOPIC", "a") == "a"


def test_what_the_nearest_object_says_holds(client: Client, core: Core) -> None:
    above = {"topic_string": "a", "def_priority": 5, "def_persistence": "NO", "durable": "NO"}
    client.do(c.DefineObject("topic", "A", above))
    client.do(c.DefineObject("topic", "C", {"topic_string": "a/b/c", "def_priority": 7}))
    qm = core.qm
    assert standing(qm, "a/b/c/d") == Standing(7, "NO", durable="NO")
    assert standing(qm, "a/b") == Standing(5, "NO", durable="NO")
    assert standing(qm, "ab") == Standing()
    client.do(c.AlterObject("topic", "SYSTEM.BASE.TOPIC", {"subscribe": "DISABLED"}))
    assert standing(qm, "ab") == Standing(subscribe="DISABLED")
    client.do(c.AlterObject("topic", "C", {"topic_string": "x"}))
    assert standing(qm, "a/b/c") == Standing(5, "NO", subscribe="DISABLED", durable="NO")
    assert standing(qm, "x").def_priority == 7
    client.do(c.DeleteObject("topic", "A"))
    core.crash_with_snapshot()
    assert standing(core.qm, "a/b") == Standing(subscribe="DISABLED")
    assert standing(core.qm, "x").def_priority == 7


def test_a_place_has_one_object(client: Client) -> None:
    client.do(c.DefineObject("topic", "A", {"topic_string": "a"}))
    client.do(c.DefineObject("topic", "B", {"topic_string": "b"}))
    other = c.DefineObject("topic", "C", {"topic_string": "a"})
    assert client.refused(other) == Reason.OBJECT_EXISTS
    moved = c.AlterObject("topic", "B", {"topic_string": "a"})
    assert client.refused(moved) == Reason.OBJECT_EXISTS
    assert client.refused(c.OpenTopic(1, "", "C")) == Reason.OBJECT_NOT_FOUND
    client.do(c.AlterObject("topic", "A", {"topic_string": "a", "def_priority": 1}))
    assert standing(client.core.qm, "a").def_priority == 1


@pytest.mark.parametrize("topic", ["", "a\0b", "x" * 10_241, "/" * 256])
def test_what_is_no_topic_string(core: Core, topic: str) -> None:
    with pytest.raises(Refusal) as refused:
        full_string(core.qm, "", topic)
    assert refused.value.reason == Reason.TOPIC_STRING_ERROR
