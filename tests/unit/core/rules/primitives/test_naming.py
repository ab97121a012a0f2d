"""Names and patterns."""

import pytest

from adapter.core.attributes import broker
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.rules.primitives import naming
from tests.support.core import Core


@pytest.mark.parametrize("name", ["A", "a.b_c/d%e", "0" * 48])
def test_names(name: str) -> None:
    naming.check_name(name)


@pytest.mark.parametrize("name", ["", "0" * 49, "A B", "Ä", "A*"])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(Refusal) as refused:
        naming.check_name(name)
    assert refused.value.reason is Reason.NAME_ERROR


def test_patterns_name_system_objects_only_when_they_begin_like_them() -> None:
    names = ["B", "SYSTEM.A", "A", "SX"]
    assert naming.fitting(names, "*", system=False) == ["A", "B", "SX"]
    assert naming.fitting(names, "*", system=True) == ["A", "B", "SX", "SYSTEM.A"]
    assert naming.fitting(names, "S*", system=False) == ["SX", "SYSTEM.A"]
    assert naming.fitting(names, "?", system=False) == ["A", "B"]


def test_a_pattern_has_a_bound() -> None:
    with pytest.raises(Refusal):
        naming.fitting([], "*" * 200, system=False)


OBJECTS: list[c.Command] = [
    c.DefineObject("process", "P"),
    c.DefineObject("subscription", "S", {"topic_string": "a", "destination": "Q"}),
    c.DefineObject("export", "E", {"queue": "Q", "topic": "t", "state": "PAUSED"}),
    c.Open(1, "", c.OUTPUT, kafka_topic="orders"),
    c.Subscribe(2, "a", name="SUB", options=c.DURABLE | c.MANAGED | c.CREATE),
    *(
        b.BrokerCreate(kind, "new", attributes)
        for kind, attributes in (
            (broker.MESSAGE_TYPE, {}),
            (broker.CONTRACT, {"by_any": "DEFAULT"}),
            (broker.SERVICE, {"queue": "asked"}),
            (broker.ROUTE, {"service": "Far", "address": "QM2"}),
            (broker.PRIORITY, {"level": 7}),
            (broker.NOTIFICATION, {"queue": "asked", "event": "QUEUE_ACTIVATION"}),
        )
    ),
]
"""What makes objects that are no local queues."""


@pytest.mark.parametrize(
    "command", OBJECTS, ids=lambda one: getattr(one, "kind", type(one).__name__)
)
def test_whatever_makes_an_object_asks_for_room(command: c.Command) -> None:
    at_first = Core()
    at_first.configure()
    core = Core(Limits(objects=len(at_first.qm.objects) + 1))
    core.configure()
    client = core.connect()
    client.define("Q")
    client.do(b.BrokerCreate(broker.QUEUE, "asked"))
    client.do(c.DefineObject("process", "FIRST"))
    assert client.refused(command) is Reason.LIMIT_REACHED
    client.do(c.DeleteObject("process", "FIRST"))
    client.do(command)
    assert len(core.qm.objects) == core.qm.limits.objects
