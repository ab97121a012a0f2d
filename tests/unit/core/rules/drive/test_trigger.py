"""Triggers in core: what becomes of a trigger message, and in which order things happen."""

from collections.abc import Callable
from typing import Any

import pytest

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract import records as r
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Opened
from adapter.core.mq_layouts import dead_letter, trigger_message
from adapter.core.rules.drive.trigger import LOST
from adapter.core.rules.primitives import trigger_events
from adapter.storage.format import entries
from tests.support.core import Client, Core

TRIGGERED: dict[str, Any] = {
    "trigger_control": True,
    "initiation_queue": "INITQ",
    "process": "P",
}


class Site:
    """A queue manager with an initiation queue that a monitor has open, and an application."""

    def __init__(self) -> None:
        self.core = Core()
        self.app = self.core.connect()
        self.monitor = self.core.connect()
        self.app.define("INITQ", def_priority=3)
        self.app.do(c.DefineObject("process", "P", {"appl_id": "server", "user_data": "u"}))
        self.monitor.open("INITQ", c.INPUT)

    def queue(self, name: str = "Q", **attributes: Any) -> None:
        """Define a triggered queue and open it for output, under handle 1."""
        self.app.define(name, **(TRIGGERED | attributes))
        self.app.do(c.Open(len(self.handles) + 1, name, c.OUTPUT))

    @property
    def handles(self) -> dict[int, Any]:
        return self.core.qm.connections[self.app.number].handles

    def alter(self, name: str = "Q", **attributes: Any) -> None:
        self.app.do(c.AlterQueue(name, attributes))

    def qmgr(self, **attributes: Any) -> None:
        self.app.do(c.AlterObject("queue_manager", "QM1", attributes))

    def triggered(self) -> list[str]:
        """Take the trigger messages that are there: the queues that they name."""
        return [said.queue for said in self.said()]

    def said(self) -> list[trigger_message.TriggerFields]:
        found = []
        while got := self.monitor.take():
            assert got[0].message.format == "MQTRIG"
            found.append(trigger_message.from_tm(got[0].message.body))
        return found

    def events(self) -> list[r.EventRaised]:
        """What operators are told, as the ledger has it."""
        return [
            record
            for payload in self.core.entries
            for record in entries.decode(payload)
            if isinstance(record, r.EventRaised)
        ]


@pytest.fixture
def site() -> Site:
    return Site()


def test_a_trigger_message_is_put_as_the_manual_says(site: Site) -> None:
    site.queue(trigger_data="data")
    site.core.advance(5)
    site.app.put("work", priority=7, persistence=1)
    (got,) = site.monitor.take()
    message = got.message
    assert (message.persistence, message.priority, message.format) == (0, 3, "MQTRIG")
    assert message.put_time_ms == site.core.now_ms
    assert message.application == "QM1"
    assert message.details is not None
    assert message.details.appl_type == 7  # MQAT_QMGR
    assert len(message.message_id) == 24
    assert message.message_id != bytes(24)
    assert (message.correlation_id, message.group_id) == (bytes(24), bytes(24))
    assert (got.unit, got.unit_index, got.unit_size) == (bytes(24), 0, 1)
    assert trigger_message.from_tm(message.body) == trigger_message.TriggerFields(
        queue="Q",
        process="P",
        trigger_data="data",
        appl_type=6,
        appl_id="server",
        user_data="u",
    )


def test_what_a_put_writes_to_the_ledger_is_what_it_would_write_untriggered(site: Site) -> None:
    site.queue()
    site.app.define("PLAIN")
    site.app.open("PLAIN", handle=9)
    before = len(site.core.entries)
    site.app.put("work", persistence=1)
    site.app.put("work", persistence=1, handle=9)
    triggered, plain = (list(entries.decode(payload)) for payload in site.core.entries[before:])
    assert [type(record) for record in triggered] == [type(record) for record in plain]
    assert site.triggered() == ["Q"]


def test_after_a_restart_no_trigger_message_is_there_and_the_monitor_gets_one(site: Site) -> None:
    site.queue()
    site.app.put("work", persistence=1)
    site.core.crash()
    assert site.core.queue("INITQ").depth == 0
    site.monitor = site.core.connect()
    site.monitor.open("INITQ", c.INPUT)
    assert site.triggered() == ["Q"]


def test_after_a_restart_from_a_snapshot_too(site: Site) -> None:
    site.queue()
    site.app.put("work", persistence=1)
    site.core.crash_with_snapshot()
    site.monitor = site.core.connect()
    site.monitor.open("INITQ", c.INPUT)
    assert site.triggered() == ["Q"]


@pytest.mark.parametrize("ends", ["commit", "backout", "lose", "end_connection"])
def test_one_that_an_uncommitted_put_caused_is_held_until_the_unit_ends(
    site: Site, ends: str
) -> None:
    site.queue()
    unit = site.app.begin()
    site.app.put("work", unit=unit)
    site.core.advance(1)
    assert site.triggered() == []
    held = site.core.qm.held.total
    assert held == len(b"work") + trigger_message.TM_LENGTH
    if ends == "commit":
        site.app.do(c.Commit(unit))
    elif ends == "backout":
        site.app.do(c.Backout(unit))
    elif ends == "lose":
        site.app.lose()
    else:
        site.monitor.do(c.EndConnection(site.app.number))
    assert site.core.qm.held.total == 0
    (got,) = site.monitor.take()
    assert got.message.put_time_ms == site.core.now_ms
    assert site.triggered() == []


def test_the_interval_begins_when_it_was_caused_and_anew_when_it_is_put(site: Site) -> None:
    site.qmgr(trigger_interval_ms=10_000)
    site.queue()
    unit = site.app.begin()
    site.app.put("one", unit=unit)
    site.core.advance(5)
    site.app.put("two", unit=unit)
    site.app.do(c.Commit(unit))
    assert site.triggered() == ["Q"]
    site.core.advance(9)
    site.app.put("three")
    assert site.triggered() == []
    site.core.advance(1)
    site.app.put("four")
    assert site.triggered() == ["Q"]


@pytest.mark.parametrize("setting", [False, True])
def test_every_and_a_backout(site: Site, setting: bool) -> None:
    site.qmgr(every_triggers_on_backout=setting)
    site.queue(trigger_type="EVERY")
    unit = site.app.begin()
    site.app.put("one", "two", unit=unit)
    site.app.do(c.Backout(unit))
    assert site.triggered() == (["Q", "Q"] if setting else [])


def test_what_is_released_is_as_it_was_when_the_put_caused_it(site: Site) -> None:
    site.queue(trigger_data="then")
    unit = site.app.begin()
    site.app.put("work", unit=unit)
    site.alter(trigger_data="now", trigger_control=False)
    site.alter("INITQ", def_priority=9, inhibit_get=True)
    site.alter("INITQ", inhibit_get=False)
    site.app.do(c.Commit(unit))
    (got,) = site.monitor.take()
    assert got.message.priority == 3
    assert trigger_message.from_tm(got.message.body).trigger_data == "then"


def test_a_unit_of_many_queues_and_messages_gives_each_its_place(site: Site) -> None:
    site.queue("B", trigger_type="EVERY")
    site.queue("A")
    unit = site.app.begin()
    site.app.put("1", "2", unit=unit)
    site.app.put("3", "4", unit=unit, handle=2)
    site.app.put("5", unit=unit)
    site.app.do(c.Commit(unit))
    assert site.triggered() == ["B", "B", "A", "B"]


def test_a_queue_may_be_its_own_initiation_queue(site: Site) -> None:
    """It makes little sense, and every message has a place of its own all the same."""
    site.app.define("SELF", **(TRIGGERED | {"initiation_queue": "SELF", "trigger_type": "EVERY"}))
    site.app.open("SELF", handle=5)
    site.app.put("soft", handle=5, persistence=0)
    site.app.put("hard", handle=5, persistence=1)
    got = [one.message.format for one in (site.app.take(handle=5)[0] for _ in range(4))]
    assert got == ["", "MQTRIG", "", "MQTRIG"]


def test_a_trigger_message_causes_none_of_its_own(site: Site) -> None:
    site.alter("INITQ", **(TRIGGERED | {"trigger_type": "EVERY", "initiation_queue": "OTHER"}))
    site.app.define("OTHER")
    other = site.core.connect()
    other.open("OTHER", c.INPUT)
    site.queue()
    site.app.put("work")
    assert site.triggered() == ["Q"]
    assert other.take() == []


def test_a_waiting_monitor_gets_it_at_once(site: Site) -> None:
    site.queue()
    waiting = site.monitor.send(c.Get(1, wait_ms=-1))
    site.app.put("work")
    assert site.monitor.answer(waiting) is not None


def test_12d_gives_one_for_each_queue_in_the_order_of_their_names(site: Site) -> None:
    site.monitor.do(c.Close(1))
    for name in ("C", "A", "B"):
        site.queue(name)
        site.app.put("work", handle=len(site.handles))
    site.queue("EMPTY")
    site.app.define("OFF", **(TRIGGERED | {"trigger_control": False}))
    site.monitor.open("INITQ", c.INPUT)
    assert site.triggered() == ["A", "B", "C"]


def test_12d_of_an_initiation_queue_that_the_open_makes(site: Site) -> None:
    """Of a model; what the queues name is the name that it gets."""
    site.app.do(c.DefineObject("model", "MODEL", {}))
    site.queue(initiation_queue="DYNAMIC")
    site.app.put("work")
    other = site.core.connect()
    made = other.do(c.Open(1, "MODEL", c.INPUT, "DYNAMIC"))
    assert made == Opened("DYNAMIC", True, incarnation=1)
    (got,) = other.take()
    assert trigger_message.from_tm(got.message.body).queue == "Q"


def test_12d_is_for_the_first_who_opens_and_through_an_alias_too(site: Site) -> None:
    site.monitor.do(c.Close(1))
    site.app.do(c.DefineObject("alias", "ALIAS", {"target": "INITQ"}))
    site.queue()
    site.app.put("work")
    site.monitor.open("ALIAS", c.INPUT)
    assert site.triggered() == ["Q"]
    site.core.connect().open("INITQ", c.INPUT)
    assert site.triggered() == []


def test_a_queue_that_names_another_initiation_queue_is_not_found_by_the_old_one(
    site: Site,
) -> None:
    site.monitor.do(c.Close(1))
    site.queue()
    site.queue("GONE")
    site.app.put("work")
    site.alter(initiation_queue="ELSEWHERE")
    site.app.do(c.Close(2))
    site.app.do(c.DeleteQueue("GONE"))
    site.monitor.open("INITQ", c.INPUT)
    assert site.triggered() == []
    assert set(site.core.qm.initiates) == {"ELSEWHERE"}
    assert set(site.core.replayed().initiates) == {"ELSEWHERE"}


def test_11_when_a_connection_ends_that_has_the_queue_open_twice(site: Site) -> None:
    site.queue()
    server = site.core.connect()
    server.open(modes=c.INPUT, handle=1)
    server.open(modes=c.INPUT, handle=2)
    site.app.put("work")
    server.lose()
    assert site.triggered() == ["Q"]


def test_11_comes_after_the_gets_of_the_connection_were_backed_out(site: Site) -> None:
    site.queue()
    server = site.core.connect()
    server.open(modes=c.INPUT)
    site.app.put("work", persistence=1)
    unit = server.begin()
    server.take(unit)
    server.lose()
    assert site.triggered() == ["Q"]


def test_a_close_that_deletes_the_queue_causes_none(site: Site) -> None:
    site.app.do(c.DefineObject("model", "MODEL", TRIGGERED | {"trigger_type": "DEPTH"}))
    server = site.core.connect()
    server.do(c.Open(1, "MODEL", c.INPUT | c.OUTPUT, "TEMP"))
    server.put("work", persistence=0)
    server.do(c.Close(1))
    assert site.triggered() == []


def test_one_alteration_causes_one_trigger_message(site: Site) -> None:
    site.queue(trigger_control=False, inhibit_get=True)
    site.app.put("work")
    site.alter(
        trigger_control=True, trigger_type="EVERY", trigger_msg_priority=0, inhibit_get=False
    )
    assert site.triggered() == ["Q"]
    site.alter("INITQ", inhibit_get=True, inhibit_put=True)
    site.alter("INITQ", inhibit_get=False, inhibit_put=False)
    assert site.triggered() == ["Q"]


def test_an_alteration_that_changes_nothing_causes_none(site: Site) -> None:
    site.queue()
    site.app.put("work")
    assert site.triggered() == ["Q"]
    site.alter(trigger_control=True, trigger_type="FIRST", inhibit_get=False)
    site.alter(trigger_data="x", description="y")
    assert site.triggered() == []


def test_a_refused_alteration_causes_none(site: Site) -> None:
    site.queue(trigger_control=False)
    site.app.put("work")
    refused = site.app.refused(c.AlterQueue("Q", {"trigger_control": True, "trigger_depth": 0}))
    assert refused is Reason.ATTRIBUTE_ERROR
    assert site.triggered() == []


def test_depth_may_disable(site: Site) -> None:
    """In the middle of a put of several, and for good: the ledger knows."""
    site.qmgr(depth_trigger_disables=True)
    site.queue(trigger_type="DEPTH", trigger_depth=2)
    unit = site.app.begin()
    site.app.put("1", "2", "3", unit=unit)
    site.app.do(c.Commit(unit))
    assert site.triggered() == ["Q"]
    assert not site.core.queue().attributes.trigger_control
    assert not site.core.replayed().queues["Q"].attributes.trigger_control
    site.app.put("4")
    assert site.triggered() == []


def test_a_temporary_queue_may_be_disabled_too(site: Site) -> None:
    """It is not in the ledger, and nothing is that is done to it."""
    site.qmgr(depth_trigger_disables=True)
    site.app.do(c.DefineObject("model", "MODEL", TRIGGERED | {"trigger_type": "DEPTH"}))
    other = site.core.connect()
    other.do(c.Open(1, "MODEL", c.OUTPUT, "TEMP"))
    other.put("work", persistence=0)
    assert site.triggered() == ["TEMP"]
    assert not site.core.queue("TEMP").attributes.trigger_control
    assert "TEMP" not in site.core.replayed().queues


def test_several_messages_of_one_put_that_count_as_one_event(site: Site) -> None:
    """Segments: the number is reached by crossing it, and EVERY gives one."""

    def store(name: str, stored: int) -> None:
        queue = site.core.queue(name)
        trigger_events.note_put(
            site.core.qm, queue, MessageData(priority=0), site.core.now_ms, stored=stored
        )
        site.core.give(inputs.Tick())

    site.queue("DEPTH", trigger_type="DEPTH", trigger_depth=3)
    site.app.put("before")
    store("DEPTH", 1)
    assert site.triggered() == []
    store("DEPTH", 2)
    store("DEPTH", 3)
    assert site.triggered() == ["DEPTH", "DEPTH"]
    site.queue("EVERY", trigger_type="EVERY")
    store("EVERY", 3)
    assert site.triggered() == ["EVERY"]


# What becomes of one that the initiation queue cannot take.


def dead(site: Site) -> tuple[dead_letter.DeadLetter, MessageData]:
    """Take the only message of the dead-letter queue."""
    site.app.open("DEAD", handle=90)
    (got,) = site.app.take(handle=90)
    assert site.app.take(handle=90) == []
    site.app.do(c.Close(90))
    header, rest = dead_letter.split(got.message.format, got.message.body)
    assert header is not None
    assert trigger_message.from_tm(rest).queue == "Q"
    return header, got.message


def test_a_full_initiation_queue(site: Site) -> None:
    site.app.define("DEAD")
    site.qmgr(dead_letter_queue="DEAD")
    site.alter("INITQ", max_depth=0)
    site.queue()
    site.app.put("work")
    header, message = dead(site)
    assert header == dead_letter.DeadLetter(
        reason=2053,
        destination="INITQ",
        destination_queue_manager="QM1",
        format="MQTRIG",
        application_type=7,
        application="QM1",
        put_date="20231114",
        put_time="22132000",
    )
    assert (message.format, message.persistence, message.priority) == ("MQDEAD", 0, 3)
    assert site.triggered() == []


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [({"inhibit_put": True}, 2051), ({"max_message_length": 683}, 2030)],
)
def test_an_initiation_queue_that_takes_it_no_more_when_the_unit_ends(
    site: Site, attributes: dict[str, Any], reason: int
) -> None:
    site.app.define("DEAD")
    site.qmgr(dead_letter_queue="DEAD")
    site.queue()
    unit = site.app.begin()
    site.app.put("work", unit=unit)
    site.alter("INITQ", **attributes)
    site.app.do(c.Commit(unit))
    assert dead(site)[0].reason == reason


def test_an_initiation_queue_that_is_gone_when_the_unit_ends(site: Site) -> None:
    site.app.define("DEAD")
    site.qmgr(dead_letter_queue="DEAD")
    site.queue()
    unit = site.app.begin()
    site.app.put("work", unit=unit)
    site.monitor.do(c.Close(1))
    site.app.do(c.DeleteQueue("INITQ"))
    site.app.do(c.Commit(unit))
    assert dead(site)[0].reason == 2085


@pytest.mark.parametrize("name", ["", "MISSING", "DEAD", "Q"])
def test_without_a_dead_letter_queue_that_takes_it_there_is_an_event(site: Site, name: str) -> None:
    site.app.define("DEAD", inhibit_put=True)
    site.qmgr(dead_letter_queue=name)
    site.alter("INITQ", max_depth=0)
    site.queue(trigger_type="EVERY")
    assert len(site.app.put("work")) == 1
    site.app.put("work")
    (event,) = site.events()
    assert (event.kind, event.name, event.time_ms) == (LOST, "Q", site.core.now_ms)
    assert event.details == {
        "initiation_queue": "INITQ",
        "reason": "2053",
        "dead_letter_queue": name,
    }


def test_a_loss_is_told_again_after_one_was_put(site: Site) -> None:
    site.queue(trigger_type="EVERY")
    for _ in range(2):
        site.alter("INITQ", max_depth=0)
        site.app.put("work")
        site.app.put("work")
        site.alter("INITQ", max_depth=1)
        site.app.put("work")
        assert site.triggered() == ["Q"]
    assert [event.kind for event in site.events()] == [LOST, LOST]


def test_a_dead_letter_queue_may_be_triggered_itself(site: Site) -> None:
    site.app.define("HANDLERS")
    handler = site.core.connect()
    handler.open("HANDLERS", c.INPUT)
    site.app.define("DEAD", **(TRIGGERED | {"initiation_queue": "HANDLERS"}))
    site.qmgr(dead_letter_queue="DEAD")
    site.alter("INITQ", max_depth=0)
    site.queue()
    site.app.put("work")
    (got,) = handler.take()
    assert trigger_message.from_tm(got.message.body).queue == "DEAD"


def test_what_is_lost_for_the_dead_letter_queue_ends_there(site: Site) -> None:
    """Its own trigger messages cannot be put either: that is told, and does not go on for ever."""
    site.app.define("DEAD", **(TRIGGERED | {"trigger_type": "EVERY"}))
    site.qmgr(dead_letter_queue="DEAD")
    site.alter("INITQ", max_depth=0)
    site.queue()
    site.app.put("work")
    assert site.core.queue("DEAD").depth == 1
    assert [event.name for event in site.events()] == ["DEAD"]


def test_a_queue_manager_that_quiesces_has_nobody_started(site: Site) -> None:
    """Not by connections that end, so that TriggerControl stays as it is, too. What a unit holds is
    put when it ends, as what else it has put.
    """
    site.qmgr(depth_trigger_disables=True)
    site.queue("D", trigger_type="DEPTH")
    site.app.define("Q", **TRIGGERED)
    server = site.core.connect()
    server.open("D", c.INPUT)
    site.app.put("work")
    site.app.do(c.Open(9, "Q", c.OUTPUT))
    unit = site.app.begin()
    site.app.put("work", unit=unit, handle=9)
    site.core.give(inputs.Quiesced())
    server.lose()
    site.app.put("more", unit=unit, handle=9)
    site.app.do(c.Commit(unit))
    assert [stored.message.format for stored in site.core.queue("INITQ").in_memory()] == ["MQTRIG"]
    assert site.core.queue("D").attributes.trigger_control


def test_a_refused_put_causes_none(site: Site) -> None:
    site.queue(max_depth=0)
    assert site.app.refused(c.Put(1, [MessageData(b"work")])) is Reason.QUEUE_FULL
    assert site.triggered() == []


def test_a_client_without_triggers_notes_nothing() -> None:
    client: Client = Core().connect()
    client.define()
    client.open()
    client.put("work")
    client.do(c.Close(1))
    assert not client.core.qm.step.trigger_work


def put_delayed(site: Site) -> None:
    for body in "ab":
        site.app.put(body, delay_ms=5_000)
    site.core.advance(6)


def put_by_a_move(site: Site) -> None:
    site.app.define("S", backout_action="MOVE", backout_threshold=1, backout_requeue_queue="Q")
    site.app.open("S", handle=20)
    site.app.put("a", handle=20)
    site.app.put("b", handle=20)
    unit = site.app.begin()
    site.app.get(unit, handle=20, limit=2)
    site.app.do(c.Backout(unit))


def put_in_a_unit(site: Site) -> None:
    unit = site.app.begin()
    site.app.put("a", "b", unit=unit)
    site.app.do(c.Commit(unit))


@pytest.mark.parametrize("put", [put_delayed, put_by_a_move, put_in_a_unit])
@pytest.mark.parametrize(
    ("kind", "depth", "count"), [("DEPTH", 2, 1), ("DEPTH", 1, 2), ("FIRST", 1, 1), ("EVERY", 1, 2)]
)
def test_messages_of_one_step_are_counted_one_after_the_other(
    put: Callable[[Site], None], kind: str, depth: int, count: int
) -> None:
    """Else DEPTH is not reached by a step of several messages, and FIRST is each of them."""
    site = Site()
    site.core.configure()
    site.queue(trigger_type=kind, trigger_depth=depth)
    put(site)
    said = site.triggered()
    assert said == ["Q"] * len(said)
    if kind != "DEPTH" or depth > 1:
        assert len(said) == count
