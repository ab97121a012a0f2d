"""Names by which messages arrive: what they lead to, leave open, and refuse."""

from typing import Any

import pytest

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.answers import DISCARD
from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Origin
from adapter.core.contract.message import MessageData
from adapter.core.contract.transmission import Transmission
from adapter.core.model.report import CONFIRM_ON_ARRIVAL, EXCEPTION
from adapter.core.mq_layouts import dead_letter
from tests.support.arrivals import Site, arrival, site

NAMES = ("Q", "ALIAS", "OF.TOPIC", "REMOTE", "OF.REMOTE", "OF.NOTHING", "NOTHING", "")
SAID: list[dict[str, Any]] = [
    {},
    {"priority": 7, "persistence": 1, "expiry_ms": 5_000, "delay_ms": 50},
    {"report": CONFIRM_ON_ARRIVAL | EXCEPTION, "reply_to": "OF.TOPIC"},
    {"report": EXCEPTION | DISCARD, "reply_to": "Q"},
    {"properties": {"": 1}},
    {"properties": {"a": 2**70}},
    {"group_seq": 2**40},
    {"priority": 2**40},
    {"expiry_ms": 2**62},
    {"message_id": b"short"},
]
"""What records of a client of Kafka say."""


def of_every_name(*, dead_letters: bool) -> Site:
    """A queue manager with a name of each kind, by which messages arrive."""
    at = site("Q", "S", "DEAD")
    do = at.client.do
    do(c.DefineObject("topic", "T", {"topic_string": "t"}))
    do(c.DefineObject("alias", "ALIAS", {"target": "Q"}))
    do(c.DefineObject("alias", "OF.TOPIC", {"target": "T", "target_type": "TOPIC"}))
    do(c.DefineObject("alias", "OF.REMOTE", {"target": "REMOTE"}))
    do(c.DefineObject("alias", "OF.NOTHING", {"target": "NOTHING"}))
    do(c.DefineQueue("X", {"usage": "XMITQ"}))
    remote = {"remote_name": "R", "remote_queue_manager": "QMB", "transmission_queue": "X"}
    do(c.DefineObject("remote", "REMOTE", remote))
    do(c.DefineObject("subscription", "SUB", {"topic_string": "t", "destination": "S"}))
    if dead_letters:
        do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
    return at


def plain(at: Site, to: str, **said: Any) -> None:
    """Let a record of a client of Kafka arrive."""
    message = MessageData(body=b"x", transmission=Transmission(to), **said)
    offset = next(at.offsets)
    unit = ArrivedUnit("mq.QM1.in", "t", offset, Origin("t"), [Arrival(message, 0, offset)])
    at.core.take(at.core.give(inputs.Arrived(unit)))


@pytest.mark.parametrize("dead_letters", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_what_arrives_can_be_written_whatever_it_says_and_its_name_leads_to(
    name: str, dead_letters: bool
) -> None:
    at = of_every_name(dead_letters=dead_letters)
    for said in SAID:
        plain(at, name, **said)
    at.core.crash()
    waits = "mq.QM1.in" in at.core.qm.arrivals.blocked
    assert not (dead_letters and waits)


@pytest.mark.parametrize("dead_letters", [True, False])
@pytest.mark.parametrize(
    ("name", "behind"), [("ALIAS", "Q"), ("OF.TOPIC", "S"), ("REMOTE", "X"), ("OF.REMOTE", "X")]
)
def test_the_name_by_which_a_message_arrives_says_what_it_leaves_open(
    name: str, behind: str, dead_letters: bool
) -> None:
    at = of_every_name(dead_letters=dead_letters)
    kind = "remote" if name == "REMOTE" else "alias"
    loud = {"def_priority": 9, "def_persistence": False, "expiry_cap": 1}
    at.client.do(c.AlterQueue("DEAD", loud))
    said = {"def_priority": 7, "def_persistence": True}
    at.client.do(c.AlterObject(kind, name, said | {"expiry_cap": 50}))
    plain(at, name)
    (found,) = list(at.core.qm.queues[behind].in_order())
    message = found.message
    assert (message.priority, message.persistence) == (7, 1)
    assert message.expires_at_ms == message.put_time_ms + 5_000
    at.client.do(c.AlterObject(kind, name, {"expiry_cap": -1}))
    plain(at, name)
    later = list(at.core.qm.queues[behind].in_order())[-1]
    assert later.message.expires_at_ms == 0


@pytest.mark.parametrize("name", ["ALIAS", "OF.TOPIC", "REMOTE", "OF.REMOTE"])
def test_nothing_arrives_by_a_name_that_is_inhibited(name: str) -> None:
    at = of_every_name(dead_letters=True)
    kind = "remote" if name == "REMOTE" else "alias"
    at.client.do(c.AlterObject(kind, name, {"inhibit_put": True}))
    plain(at, name)
    at.arrive(arrival("a", 1, to=name))
    dead = list(at.core.qm.queues["DEAD"].in_order())
    assert [dead_letter.from_dlh(one.message.body).reason for one in dead] == [2051, 2051]
    assert not any(at.core.qm.queues[other].available_count for other in ("Q", "S", "X"))


def test_a_report_to_an_alias_that_is_inhibited_is_a_dead_letter() -> None:
    at = of_every_name(dead_letters=True)
    at.client.do(c.AlterObject("alias", "ALIAS", {"inhibit_put": True}))
    at.client.put("a", handle=2, report=CONFIRM_ON_ARRIVAL, reply_to="ALIAS")
    (dead,) = at.core.qm.queues["DEAD"].in_order()
    assert dead_letter.from_dlh(dead.message.body).reason == 2051
