"""Topic objects and topic strings: what they lead to."""

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.results import Opened
from adapter.core.rules.network.topic_attributes import effective
from adapter.core.rules.network.topic_strings import full_string
from tests.support.core import Client, Core
from tests.support.topics import DURABLE, subscribe


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


def test_a_place_has_one_object(client: Client) -> None:
    client.do(c.DefineObject("topic", "A", {"topic_string": "a"}))
    client.do(c.DefineObject("topic", "B", {"topic_string": "b"}))
    other = c.DefineObject("topic", "C", {"topic_string": "a"})
    assert client.refused(other) == Reason.OBJECT_EXISTS
    moved = c.AlterObject("topic", "B", {"topic_string": "a"})
    assert client.refused(moved) == Reason.OBJECT_EXISTS
    assert client.refused(c.OpenTopic(1, "", "C")) == Reason.OBJECT_NOT_FOUND
    client.do(c.AlterObject("topic", "A", {"topic_string": "a", "def_priority": 1}))
    assert effective(client.core.qm, "a").def_priority == 1


@pytest.mark.parametrize("topic", ["", "a\0b", "x" * 10_241, "/" * 256, "#/x/" * 9])
def test_what_is_no_topic_string(core: Core, topic: str) -> None:
    with pytest.raises(Refusal) as refused:
        full_string(core.qm, "", topic)
    assert refused.value.reason == Reason.TOPIC_STRING_ERROR


def test_an_alias_of_a_topic_publishes(client: Client) -> None:
    client.do(c.DefineObject("topic", "T", {"topic_string": "fruit", "def_persistence": "NO"}))
    alias = {"target": "T", "target_type": "TOPIC", "def_priority": 3}
    client.do(c.DefineObject("alias", "A", alias))
    subscribe(client, "fruit", DURABLE, name="S")
    assert client.do(c.Open(2, "A", c.OUTPUT | c.INQUIRE)) == Opened("fruit", is_topic=True)
    unit = client.begin()
    client.put("in a unit", unit=unit, handle=2)
    client.do(c.Commit(unit))
    (got,) = client.take(handle=11)
    assert (got.message.priority, got.message.persistence) == (3, 1), "the alias comes first"
    assert (got.message.properties or {})["MQTopicString"] == "fruit"
    client.do(c.AlterObject("alias", "A", {"inhibit_put": True}))
    assert client.refused(c.Put(2, [MessageData()])) is Reason.PUT_INHIBITED
    client.do(c.AlterObject("alias", "A", {"inhibit_put": False}))
    client.do(c.AlterObject("topic", "T", {"publish": "DISABLED"}))
    assert client.refused(c.Put(2, [MessageData()])) is Reason.PUT_INHIBITED


@pytest.mark.parametrize("modes", [c.INPUT, c.BROWSE | c.OUTPUT, c.SET | c.OUTPUT, c.INQUIRE])
def test_an_alias_of_a_topic_is_for_output(client: Client, modes: int) -> None:
    client.do(c.DefineObject("topic", "T", {"topic_string": "fruit"}))
    client.do(c.DefineObject("alias", "A", {"target": "T", "target_type": "TOPIC"}))
    assert client.refused(c.Open(2, "A", modes)) is Reason.ALIAS_BASE_TYPE_ERROR


def test_an_alias_of_a_topic_that_is_not_there_leads_nowhere(client: Client) -> None:
    client.do(c.DefineQueue("Q"))
    client.do(c.DefineObject("alias", "A", {"target": "Q", "target_type": "TOPIC"}))
    assert client.refused(c.Open(2, "A", c.OUTPUT)) is Reason.UNKNOWN_ALIAS_BASE
    assert client.refused(c.Subscribe(20, "a", destination="A")) is Reason.QUEUE_NOT_FOUND
    client.do(c.AlterObject("alias", "A", {"target_type": "QUEUE"}))
    client.do(c.Open(2, "A", c.OUTPUT))
    assert client.refused(c.OpenTopic(2, "a")) is Reason.HANDLE_IN_USE
    client.do(c.AlterObject("alias", "A", {"target": "SYSTEM.BASE.TOPIC", "target_type": "TOPIC"}))
    assert client.refused(c.Open(2, "A", c.OUTPUT)) is Reason.HANDLE_IN_USE
