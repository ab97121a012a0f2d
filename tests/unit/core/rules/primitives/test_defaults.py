"""What is not given is as the default object of the kind has it."""

import pytest

from adapter.core.attributes.objects import DEFAULT_OBJECTS, KINDS
from adapter.core.contract import commands as c
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Descriptions, Objects
from tests.support.core import Client, client_on


def of_queue(client: Client, name: str) -> dict[str, object]:
    answer = client.do(c.Inquire(name, system=True))
    assert isinstance(answer, Descriptions)
    return answer.queues[0].attributes


def of_object(client: Client, kind: str, name: str) -> dict[str, object]:
    answer = client.do(c.InquireObjects(kind, name, system=True))
    assert isinstance(answer, Objects)
    return answer.objects[0].attributes


def test_a_queue_is_like_the_default_queue_but_for_what_is_given() -> None:
    client = client_on()
    default = DEFAULT_OBJECTS["queue"]
    client.do(c.DefineQueue(default, {"description": "the default"}))
    client.do(c.AlterQueue(default, {"max_depth": 5, "share": False, "backout_threshold": 3}))
    client.do(c.DefineQueue("NEW", {"share": True, "max_depth": 7}))
    found = of_queue(client, "NEW")
    table = {row.name: row.default for row in KINDS["queue"].values()}
    assert found == table | {"backout_threshold": 3, "max_depth": 7}


def test_only_a_new_queue_is() -> None:
    client = client_on()
    client.do(c.DefineQueue("OLD", {}))
    client.do(c.DefineQueue(DEFAULT_OBJECTS["queue"], {"max_depth": 5}))
    client.do(c.DefineQueue("OLD", {"description": "replaced"}, replace=True))
    assert of_queue(client, "OLD")["max_depth"] == KINDS["queue"]["max_depth"].default
    client.do(c.DeleteQueue(DEFAULT_OBJECTS["queue"]))
    client.do(c.DefineQueue("NEW", {}))
    assert of_queue(client, "NEW")["max_depth"] == KINDS["queue"]["max_depth"].default


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("alias", "def_priority", 4),
        ("remote", "def_priority", 4),
        ("model", "max_depth", 5),
        ("process", "appl_id", "run"),
        ("namelist", "names", "A,B"),
        ("channel", "mca_user", "ann"),
    ],
)
def test_so_are_other_objects(kind: str, name: str, value: object) -> None:
    client = client_on()
    client.do(c.DefineObject(kind, DEFAULT_OBJECTS[kind], {name: value, "description": "d"}))
    client.do(c.DefineObject(kind, "NEW", {}))
    table = {row.name: row.default for row in KINDS[kind].values()}
    assert of_object(client, kind, "NEW") == table | {name: value}
    client.do(c.DefineObject(kind, "OTHER", {name: table[name]}))
    assert of_object(client, kind, "OTHER") == table


def test_what_it_was_like_outlasts_the_default() -> None:
    client = client_on()
    client.do(c.DefineQueue(DEFAULT_OBJECTS["queue"], {"max_depth": 5}))
    client.do(c.DefineQueue("NEW", {}))
    client.do(c.AlterQueue(DEFAULT_OBJECTS["queue"], {"max_depth": 6}))
    client.core.crash()
    assert of_queue(client.core.connect(), "NEW")["max_depth"] == 5


def test_a_topic_has_no_place_of_the_default() -> None:
    client = client_on()
    given = {"topic_string": "x", "publish": "DISABLED"}
    client.do(c.DefineObject("topic", DEFAULT_OBJECTS["topic"], given))
    for name in "AB":
        client.do(c.DefineObject("topic", name, {}))
        found = of_object(client, "topic", name)
        assert (found["topic_string"], found["publish"]) == ("", "DISABLED")


def test_what_an_object_may_not_be_is_asked_of_it_with_its_defaults() -> None:
    client = client_on()
    client.do(c.DefineObject("channel", DEFAULT_OBJECTS["channel"], {"mca_user": "bob"}))
    receiver = c.DefineObject("channel", "R", {"channel_type": "RCVR"})
    assert client.refused(receiver) is Reason.ATTRIBUTE_ERROR
    named = {"channel_type": "RCVR", "queue_manager": "QM2"}
    client.do(c.DefineObject("channel", "R", named))
    assert of_object(client, "channel", "R")["mca_user"] == "bob"
