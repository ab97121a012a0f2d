"""Pointers: who has rights on its own names alone leads nothing of others to them."""

import pytest

from adapter.core.attributes.broker import TABLES
from adapter.core.attributes.objects import KINDS
from adapter.core.attributes.queue import QUEUE_ATTRIBUTES
from adapter.core.contract import authority_commands as ac
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract.authorities import bits_of
from adapter.core.contract.results import Refused
from adapter.core.model.broker_queue import key_of
from tests.support.authorities import checked, is_denied, operator, user
from tests.support.core import Client

NAME_LENGTH = 48
POINTERS = {
    ("queue", "backout_requeue_queue"),
    ("queue", "initiation_queue"),
    ("model", "backout_requeue_queue"),
    ("model", "initiation_queue"),
    ("alias", "target"),
    ("remote", "remote_name"),
    ("remote", "remote_queue_manager"),
    ("remote", "transmission_queue"),
    ("subscription", "destination"),
    ("subscription", "destination_queue_manager"),
    ("subscription", "topic_object"),
    ("feed", "queue"),
    ("export", "queue"),
}
"""Of which a right on what they name is asked."""
OTHERS = {
    (
        "queue",
        "process",
    ): "a trigger message names it, for who may put to INITQ",
    ("model", "process"): "likewise",
    ("queue_manager", "*"): "chg on the queue manager includes setting authorities",
    ("channel", "queue_manager"): "the receiver of a queue manager: it hands nothing on",
}
"""Names of 48 characters that lead nowhere by themselves, and why."""
COMMANDS = [
    c.DefineObject("alias", "EVE.AL", {"target": "SECRET"}),
    c.DefineObject("alias", "EVE.AL", {"target": "PAY", "target_type": "TOPIC"}),
    c.DefineObject("alias", "EVE.AL", {"target": "LATER"}),
    c.AlterQueue("EVE.Q", {"backout_requeue_queue": "SECRET", "backout_action": "MOVE"}),
    c.AlterQueue("EVE.Q", {"initiation_queue": "SECRET"}),
    c.DefineObject("model", "EVE.M", {"initiation_queue": "SECRET"}),
    c.DefineObject("remote", "EVE.R", {"remote_name": "Q", "remote_queue_manager": "QM9"}),
    c.DefineObject("topic", "EVE.T", {"topic_string": "payroll/x"}),
    c.DefineObject("subscription", "EVE.S", {"topic_string": "eve", "destination": "SECRET"}),
    c.DefineObject("feed", "EVE.F", {"topic": "t", "queue": "SECRET"}),
    c.DefineObject("export", "EVE.E", {"topic": "t", "queue": "SECRET"}),
    b.BrokerCreate("service", "EVE.//x", {"queue": "Payroll"}),
    b.BrokerCreate("route", "EVE.r", {"service": "//payroll", "address": "QM9"}),
    b.BrokerCreate("route", "EVE.r", {"address": "QM9"}),
    b.BrokerCreate(
        "event_notification", "EVE.n", {"event": "QUEUE_ACTIVATION", "queue": "Payroll"}
    ),
    b.BrokerCreate(
        *("event_notification", "EVE.n"),
        {"event": "QUEUE_ACTIVATION", "queue": "Eve", "object": "Payroll"},
    ),
    b.BrokerCreate("event_notification", "EVE.n", {"event": "QUEUE_ACTIVATION", "queue": "Eve"}),
    b.BrokerCreate("broker_priority", "EVE.p", {"local_service": "//payroll"}),
]


def site() -> Client:
    """A queue manager where eve may do everything with EVE.**, and nothing with other objects."""
    client = checked()
    for name in ("SECRET", "EVE.Q"):
        client.define(name)
    client.define("QM9", usage="XMITQ")
    client.do(c.DefineObject("topic", "PAY", {"topic_string": "payroll"}))
    client.do(c.DefineObject("topic", "EVE.TREE", {"topic_string": "eve"}))
    client.do(b.BrokerCreate("queue", "Payroll"))
    client.do(b.BrokerCreate("queue", "Eve"))
    client.do(b.BrokerCreate("service", "//payroll", {"queue": "Payroll"}))
    for kind in ("queue", "topic", "feed", "export", "service"):
        everything = bits_of(kind, ["all"])
        client.do(ac.SetAuthority("EVE.**", kind, ["eve"], [], everything))
    client.do(ac.SetAuthority(key_of("Eve"), "queue", ["eve"], [], bits_of("queue", ["all"])))
    return client


@pytest.mark.parametrize("command", COMMANDS, ids=repr)
def test_rights_on_its_own_names_give_no_others(command: c.Command) -> None:
    client = site()
    user(client, "eve")
    assert is_denied(client, command)
    operator(client)
    answer = client.do(command)
    assert not isinstance(answer, Refused), answer
    user(client, "eve")


@pytest.mark.parametrize("right", ["dsp", "inq"])
def test_who_may_look_at_a_queue_may_be_told_of_its_events(right: str) -> None:
    client = site()
    client.do(ac.SetAuthority(key_of("Payroll"), "queue", ["eve"], [], bits_of("queue", [right])))
    user(client, "eve")
    attributes = {"event": "QUEUE_ACTIVATION", "queue": "Eve", "object": "Payroll"}
    assert not is_denied(client, b.BrokerCreate("event_notification", "EVE.n", attributes))


@pytest.mark.parametrize("target", ["EVE.Q", "EVE.LATER"])
def test_own_objects_lead_to_own_objects(target: str) -> None:
    client = site()
    user(client, "eve")
    for command in (
        c.DefineObject("alias", "EVE.AL", {"target": target}),
        c.AlterObject("alias", "EVE.AL", {"target": target}),
        c.AlterQueue("EVE.Q", {"initiation_queue": target, "backout_requeue_queue": target}),
        c.DefineObject("export", "EVE.E", {"topic": "t", "queue": target}),
    ):
        assert not is_denied(client, command), command


def test_what_was_defined_before_goes_on_and_is_altered_otherwise() -> None:
    client = site()
    client.do(c.DefineObject("alias", "EVE.AL", {"target": "SECRET"}))
    client.do(c.AlterQueue("EVE.Q", {"backout_requeue_queue": "SECRET"}))
    user(client, "eve")
    assert not is_denied(client, c.AlterObject("alias", "EVE.AL", {"description": "x"}))
    assert not is_denied(client, c.AlterQueue("EVE.Q", {"max_depth": 7, "initiation_queue": ""}))
    assert not is_denied(client, c.Open(1, "EVE.AL", c.BROWSE)), "as on IBM MQ"


def test_every_attribute_that_names_an_object_is_one_of_these() -> None:
    """A new attribute with the length of a name is a pointer, or it is said here why not."""
    tables = {"queue": QUEUE_ATTRIBUTES, **KINDS}
    named = {
        (kind, name)
        for kind, table in tables.items()
        for name, row in table.items()
        if row.attribute.length == NAME_LENGTH
    }
    excused = {one for one in named if one in OTHERS or (one[0], "*") in OTHERS}
    assert named - excused - POINTERS - {("subscription", "correlation_id")} == set()
    assert named >= POINTERS
    assert {"service", "route", "broker_priority", "event_notification"} <= TABLES.keys()
