"""Seed 4, S4.1-S4.26: a message arrives, and the conditions 1 to 9 hold or do not."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import adapter
from adapter.mqi import TriggerMessage
from tests.support.trigger_site import APPL, INITQ, PROCESS, Site, site, take_away

WAIT_S = 20.0


@pytest.fixture
def at() -> Iterator[Site]:
    with site() as made:
        yield made


def test_s4_01_a_message_is_put(at: Site) -> None:
    """S4.1: (1) a message is put on the queue: no put, no arrival trigger."""
    at.define(messages=1)
    assert list(at.app.queue("Q").browse())
    assert at.app.queue("Q").depth() == 1
    assert at.triggered() == []
    at.alter(description="looked at, and altered in what does not matter")
    assert at.triggered() == []
    at.put()
    assert at.triggered() == ["Q"]


@pytest.mark.parametrize(("priority", "fires"), [(0, False), (4, False), (5, True), (9, True)])
def test_s4_02_its_priority_reaches_trigger_msg_priority(
    at: Site, priority: int, fires: bool
) -> None:
    """S4.2: (2) its priority is the queue's TriggerMsgPriority or higher; an equal one fires."""
    at.define(trigger_msg_priority=5)
    at.put(priority=priority)
    assert at.triggered() == (["Q"] if fires else [])


def test_s4_02_a_priority_that_the_queue_gives_counts(at: Site) -> None:
    """S4.2: the priority is the one that the message has on the queue: as the queue says."""
    at.define(trigger_msg_priority=5, def_priority=5)
    at.put()
    assert at.triggered() == ["Q"]


def test_s4_03_threshold_0_lets_every_message_qualify(at: Site) -> None:
    """S4.3: TriggerMsgPriority 0: every message gives a trigger message, the other conditions
    holding."""
    at.define(trigger_type="EVERY", trigger_msg_priority=0)
    for priority in range(10):
        at.put(priority=priority)
    assert at.triggered() == ["Q"] * 10


def test_s4_04_first_fires_on_the_first_message(at: Site) -> None:
    """S4.4: (3) FIRST: there was none before of such a priority: 0 to 1 fires, 1 to 2 does not."""
    at.define()
    at.put()
    assert at.triggered() == ["Q"]
    at.put()
    assert at.triggered() == []


def test_s4_05_every_fires_on_any_number(at: Site) -> None:
    """S4.5: EVERY: any number: each qualifying put fires."""
    at.define(trigger_type="EVERY", trigger_msg_priority=2)
    for priority in (2, 1, 3, 0, 9):
        at.put(priority=priority)
    assert at.triggered() == ["Q"] * 3


def test_s4_06_depth_fires_on_the_put_that_reaches_it(at: Site) -> None:
    """S4.6: DEPTH: there were TriggerDepth - 1: the put that reaches TriggerDepth fires, and none
    before."""
    at.define(trigger_type="DEPTH", trigger_depth=3)
    fired = []
    for _ in range(3):
        at.put()
        fired.append(at.triggered())
    assert fired == [[], [], ["Q"]]


def test_s4_07_only_qualifying_messages_count_first(at: Site) -> None:
    """S4.7: only messages of TriggerMsgPriority or higher are counted in (3): FIRST fires on the
    first of them, with others before it."""
    at.define(trigger_msg_priority=5)
    at.put(priority=4)
    at.put(priority=0)
    assert at.triggered() == []
    at.put(priority=5)
    assert at.triggered() == ["Q"]


def test_s4_07_only_qualifying_messages_count_depth(at: Site) -> None:
    """S4.7: the same for DEPTH."""
    at.define(trigger_type="DEPTH", trigger_depth=2, trigger_msg_priority=5)
    for priority in (4, 5, 4, 4):
        at.put(priority=priority)
    assert at.triggered() == []
    at.put(priority=9)
    assert at.triggered() == ["Q"]


def test_s4_08_uncommitted_messages_count(at: Site) -> None:
    """S4.8: messages are counted whether committed or not: with an uncommitted one the count is 1,
    and the next is not the first."""
    at.define()
    with at.manager.connect() as other:
        unit = other.unit()
        unit.begin()
        other.put("Q", "uncommitted", unit=unit)
        at.put()
        assert at.triggered() == []
        unit.backout()


def test_s4_08_depth_of_one_uncommitted_and_one_committed(at: Site) -> None:
    """S4.8: DEPTH 2: one uncommitted and one committed put fire."""
    at.define(trigger_type="DEPTH", trigger_depth=2)
    with at.manager.connect() as other:
        unit = other.unit()
        unit.begin()
        other.put("Q", "uncommitted", unit=unit)
        assert at.triggered() == []
        at.put()
        assert at.triggered() == ["Q"]
        unit.backout()


def test_s4_09_an_application_may_find_nothing_to_get(at: Site) -> None:
    """S4.9: so an application may be started when there is nothing to get: the messages are not
    committed. A get that does not wait finds none."""
    at.define(trigger_type="DEPTH", trigger_depth=1, trigger_msg_priority=0)
    with at.manager.connect() as other:
        unit = other.unit()
        unit.begin()
        other.put("Q", "uncommitted", unit=unit)
        at.alter(trigger_type="FIRST")  # fires at once: there is a message, says the count (S4.49)
        assert at.triggered() == ["Q"]
        with at.serving() as server:
            assert server.get() is None
            assert at.app.queue("Q").depth() == 1
        unit.commit()


def test_s4_10_a_get_that_waits_succeeds_when_the_putter_commits(at: Site) -> None:
    """S4.10: the remedy: the wait option with a suitable WaitInterval: the get succeeds once the
    putter commits."""
    at.define()
    with at.manager.connect() as other, at.serving() as server, ThreadPoolExecutor() as pool:
        unit = other.unit()
        unit.begin()
        other.put("Q", "late", unit=unit)
        waiting = pool.submit(server.get, timeout=WAIT_S)
        while at.app.queue("Q").status().waiting_gets == 0:
            assert not waiting.done()
        unit.commit()
        message = waiting.result(WAIT_S)
        assert message is not None
        assert message.body == b"late"


@pytest.mark.parametrize("trigger_type", ["FIRST", "DEPTH"])
def test_s4_11_nobody_may_have_it_open_for_input(at: Site, trigger_type: str) -> None:
    """S4.11: (4) FIRST, DEPTH: nobody has the queue open for input: else there is none."""
    at.define(trigger_type=trigger_type, trigger_depth=1)
    with at.serving() as server:
        at.put()
        assert at.triggered() == []
        assert server.get() is not None
    at.put()
    assert at.triggered() == ["Q"]


def test_s4_11_browsing_and_putting_handles_do_not_matter(at: Site) -> None:
    """S4.11: what counts is OpenInputCount: other handles are no obstacle."""
    at.define()
    with at.manager.connect() as other:
        other.queue("Q", open_for="browse")
        other.queue("Q", open_for="output").put("work")
        assert at.triggered() == ["Q"]


def test_s4_12_every_fires_with_a_getter_open(at: Site) -> None:
    """S4.12: EVERY is not subject to (4): it fires with a getter open."""
    at.define(trigger_type="EVERY")
    with at.serving():
        at.put()
        assert at.triggered() == ["Q"]


def test_s4_13_the_process_is_named_and_exists(at: Site) -> None:
    """S4.13: (5) ProcessName is not blank and that process exists: the trigger message carries its
    ApplType, ApplId, EnvData and UserData."""
    at.define(trigger_data="data")
    at.put()
    wanted = TriggerMessage(queue="Q", process=PROCESS, trigger_data="data", **APPL)
    assert at.said() == [wanted]


def test_s4_14_a_process_that_does_not_exist(at: Site) -> None:
    """S4.14: a ProcessName that is not blank without the process: no trigger message."""
    at.define(process="MISSING")
    at.define("X", process="MISSING", usage="XMITQ")
    at.put()
    at.put("X")
    assert at.triggered() == []


def test_s4_15_s4_17_a_transmission_queue_needs_no_process(at: Site) -> None:
    """S4.15: ... or the queue is a transmission queue with a blank ProcessName: a trigger message
    is made. S4.17: it holds QName and TriggerData; ProcessName is blank, ApplType MQAT_UNKNOWN,
    ApplId, EnvData and UserData are blank."""
    at.define("X", usage="XMITQ", process="", trigger_data="TO.THERE")
    at.put("X")
    (said,) = at.said()
    assert said.queue == "X"
    assert said.process == ""
    assert said.trigger_data == "TO.THERE"
    assert said.appl_type == -1
    assert (said.appl_id, said.env_data, said.user_data) == ("", "", "")


def test_s4_16_trigger_data_reaches_the_monitor_unchanged(at: Site) -> None:
    """S4.16: there the process is optional and the channel to start may be named in TriggerData:
    its value reaches the monitor as it is."""
    data = "CHANNEL(TO.TOKYO) 東京 " + "x" * 30
    at.define("X", usage="XMITQ", process="", trigger_data=data)
    at.put("X")
    assert [said.trigger_data for said in at.said()] == [data]


def test_s4_18_a_blank_process_on_another_queue(at: Site) -> None:
    """S4.18: a blank ProcessName on a queue that is not for transmission: no trigger message."""
    at.define(process="")
    at.put()
    assert at.triggered() == []


@pytest.mark.parametrize("what", ["6 no initiation queue named", "6 no such initiation queue"])
def test_s4_19_the_initiation_queue_exists_and_is_named(at: Site, what: str) -> None:
    """S4.19: (6) the initiation queue exists and is named in InitiationQName: missing or not named:
    none."""
    at.define()
    take_away(at, what)
    at.put()
    assert at.triggered() == []


def test_s4_20_gets_from_the_initiation_queue_are_allowed(at: Site) -> None:
    """S4.20: its InhibitGet is MQQA_GET_ALLOWED: inhibited: none, and none is there later."""
    at.define()
    at.alter(INITQ, inhibit_get=True)
    at.put()
    assert at.app.queue(INITQ).depth() == 0


def test_s4_21_puts_to_the_initiation_queue_are_allowed(at: Site) -> None:
    """S4.21: its InhibitPut is MQQA_PUT_ALLOWED: inhibited: none; nor is it a dead letter, for no
    trigger message was made."""
    at.app.define_queue("DEAD")
    at.app.alter_queue_manager(dead_letter_queue="DEAD")
    at.define()
    at.alter(INITQ, inhibit_put=True)
    at.put()
    assert at.app.queue(INITQ).depth() == 0
    assert at.app.queue("DEAD").depth() == 0


def test_s4_22_the_initiation_queue_is_a_normal_queue(at: Site) -> None:
    """S4.22: its Usage is MQUS_NORMAL: a transmission queue: none."""
    at.define()
    take_away(at, "6 for transmission")
    at.put()
    assert at.triggered() == []


def test_s4_23_the_initiation_queue_is_not_logically_deleted(at: Site) -> None:
    """S4.23: it is not a logically deleted dynamic queue: none, though the monitor still holds it
    open."""
    at.app.define_object("model", "MODEL")
    maker = at.manager.connect()
    maker.queue("MODEL", open_for="input")
    (made,) = at.app.queues("MQK.*")
    with at.manager.connect() as other:
        monitor = other.queue(made.name, open_for="input")
        at.define(initiation_queue=made.name, trigger_type="EVERY")
        at.put()
        assert monitor.get() is not None
        maker.close()  # the queue goes with the handle that made it, whoever else has it open
        at.put()
        with pytest.raises(adapter.Error):
            monitor.get()
        assert at.app.queues("MQK.*") == []


def test_s4_24_the_monitor_has_the_initiation_queue_open(at: Site) -> None:
    """S4.24: (7) the trigger monitor has the initiation queue open for input: no monitor: none."""
    at.define(trigger_type="EVERY")
    at.stop_monitor()
    at.put()
    at.app.queue(INITQ, open_for="browse")
    at.put()
    assert at.app.queue(INITQ).depth() == 0


@pytest.mark.parametrize("trigger_type", ["FIRST", "EVERY", "DEPTH"])
def test_s4_25_trigger_control_is_on(at: Site, trigger_type: str) -> None:
    """S4.25: (8) TriggerControl is MQTC_ON: off: none, whatever the TriggerType."""
    at.define(trigger_type=trigger_type, trigger_depth=1, trigger_control=False)
    at.put()
    assert at.triggered() == []


def test_s4_26_the_trigger_type_is_not_none(at: Site) -> None:
    """S4.26: (9) TriggerType is not MQTT_NONE: none, with TriggerControl ON too."""
    at.define(trigger_type="NONE", trigger_control=True)
    at.put()
    at.serve_nothing()
    assert at.triggered() == []
