"""Seed 4, S4.48-S4.64: (12) attributes change, or a monitor opens the initiation queue."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.trigger_site import INITQ, TAKEN_AWAY, Site, site, take_away

Change = Callable[[Site], None]


@pytest.fixture
def at() -> Iterator[Site]:
    with site() as made:
        yield made


def control_on(at: Site) -> None:
    at.app.queue("Q").set(trigger_control=True)


def puts_allowed(at: Site) -> None:
    at.app.queue(INITQ).set(inhibit_put=False)


def gets_allowed(at: Site) -> None:
    at.app.queue(INITQ).set(inhibit_get=False)


def own_gets_allowed(at: Site) -> None:
    at.app.queue("Q").set(inhibit_get=False)


def monitor_opens(at: Site) -> None:
    at.start_monitor()


def before(at: Site, event: str, name: str = "Q") -> None:
    """Bring about what the event is to end."""
    match event:
        case "12a":
            at.alter(name, trigger_control=False)
        case "12b":
            at.alter(INITQ, inhibit_put=True)
        case "12c":
            at.alter(INITQ, inhibit_get=True)
        case "12c own":
            at.alter(name, inhibit_get=True)
        case "12d":
            at.stop_monitor()


EVENTS: dict[str, Change] = {
    "12a": control_on,
    "12b": puts_allowed,
    "12c": gets_allowed,
    "12c own": own_gets_allowed,
    "12d": monitor_opens,
}
OF_INITIATION = ("12b", "12c", "12d")


def happens(at: Site, event: str, *, messages: int, **attributes: Any) -> list[str]:
    """Let an event happen while so many messages are on the queue: which queues trigger."""
    at.define(messages=messages, **attributes)
    before(at, event)
    EVENTS[event](at)
    return at.triggered()


def test_s4_48_control_on_with_a_message_waiting(at: Site) -> None:
    """S4.48: (12a) MQSET changes TriggerControl to MQTC_ON: off to on with a message waiting
    fires."""
    assert happens(at, "12a", messages=1) == ["Q"]


@pytest.mark.parametrize(
    ("attributes", "change"),
    [
        ({}, {"trigger_type": "EVERY"}),
        ({}, {"trigger_msg_priority": 1, "trigger_type": "FIRST"}),
        ({"trigger_type": "DEPTH", "trigger_depth": 5}, {"trigger_depth": 3}),
    ],
)
def test_s4_49_criteria_change_while_it_is_on(
    at: Site, attributes: dict[str, Any], change: dict[str, Any]
) -> None:
    """S4.49: ... or, with it ON already, changes TriggerType, TriggerMsgPriority or TriggerDepth:
    each of the three fires."""
    at.define(def_priority=4, messages=3, **attributes)
    at.app.queue("Q").set(**change)
    assert at.triggered() == ["Q"]
    at.app.queue("Q").set(**change)
    assert at.triggered() == []  # it has these values: that is no change


@pytest.mark.parametrize("trigger_type", ["FIRST", "EVERY"])
def test_s4_49_the_depth_matters_for_depth_only(at: Site, trigger_type: str) -> None:
    """S4.49: TriggerDepth where relevant: only for DEPTH."""
    at.define(messages=3, trigger_type=trigger_type)
    at.app.queue("Q").set(trigger_depth=2)
    assert at.triggered() == []


@pytest.mark.parametrize(
    ("trigger_type", "messages", "fires"),
    [
        ("FIRST", 0, False),
        ("FIRST", 1, True),
        ("EVERY", 0, False),
        ("EVERY", 1, True),
        ("DEPTH", 2, False),
        ("DEPTH", 3, True),
        ("DEPTH", 4, True),
    ],
)
def test_s4_50_enough_messages_are_there(
    at: Site, trigger_type: str, messages: int, fires: bool
) -> None:
    """S4.50: ... while the queue holds 1 message or more (FIRST, EVERY) or TriggerDepth or more
    (DEPTH): empty, or one less: none."""
    fired = happens(at, "12a", messages=messages, trigger_type=trigger_type, trigger_depth=3)
    assert fired == (["Q"] if fires else [])


@pytest.mark.parametrize("what", [one for one in TAKEN_AWAY if one[0] != "8"])
def test_s4_51_the_other_conditions_hold(at: Site, what: str) -> None:
    """S4.51: ... and 4 to 9 hold: a trigger message at the MQSET; none if any of them fails."""
    at.define(messages=1)
    before(at, "12a")
    take_away(at, what)
    control_on(at)
    assert at.app.queue(INITQ).depth() == 0


def test_s4_51_nobody_serves_first_and_depth(at: Site) -> None:
    """S4.51: (4) is one of them: with the queue open for input: none; EVERY is not subject to
    it."""
    at.define(messages=1)
    before(at, "12a")
    with at.serving() as server:
        control_on(at)
        assert at.triggered() == []
        at.app.queue("Q").set(trigger_type="EVERY")
        assert at.triggered() == ["Q"]
        assert server.get() is not None


@pytest.mark.parametrize(("priority", "fires"), [(4, False), (5, True)])
def test_s4_51_the_messages_need_the_priority(at: Site, priority: int, fires: bool) -> None:
    """S4.51: ... of the required priority (2)."""
    fired = happens(at, "12a", messages=1, def_priority=priority, trigger_msg_priority=5)
    assert fired == (["Q"] if fires else [])


def test_s4_52_criteria_can_be_changed_when_they_are_met_already(at: Site) -> None:
    """S4.52: the purpose: an application may change the criteria when the new ones are met
    already: no further message is needed."""
    at.define(messages=5, trigger_type="DEPTH", trigger_depth=10)
    at.put()
    assert at.triggered() == []
    at.app.queue("Q").set(trigger_depth=6)
    assert at.triggered() == ["Q"]


def test_s4_53_puts_to_the_initiation_queue_are_allowed_again(at: Site) -> None:
    """S4.53: (12b) the initiation queue's InhibitPut goes from INHIBITED to ALLOWED while there
    are messages enough: a trigger message at that change."""
    assert happens(at, "12b", messages=1) == ["Q"]
    puts_allowed(at)
    assert at.triggered() == []  # nothing was lifted


@pytest.mark.parametrize("event", OF_INITIATION)
def test_s4_53_s4_56_other_ways_of_changing_the_attribute(at: Site, event: str) -> None:
    """S4.53, S4.56: the heading speaks of MQSET; ALTER is as good."""
    at.define(messages=1)
    before(at, event)
    if event == "12d":
        EVENTS[event](at)
    else:
        at.alter(INITQ, inhibit_put=False, inhibit_get=False)
    assert at.triggered() == ["Q"]


@pytest.mark.parametrize("event", ["12b", "12c", "12c own", "12d"])
@pytest.mark.parametrize(
    ("trigger_type", "messages", "fires"),
    [
        ("FIRST", 0, False),
        ("FIRST", 1, True),
        ("EVERY", 0, False),
        ("EVERY", 1, True),
        ("DEPTH", 2, False),
        ("DEPTH", 3, True),
    ],
)
def test_s4_53_s4_56_s4_58_enough_messages_are_there(
    at: Site, event: str, trigger_type: str, messages: int, fires: bool
) -> None:
    """S4.53, S4.56, S4.58: ... while 1 or more (FIRST, EVERY) or TriggerDepth or more (DEPTH)
    qualifying messages are there."""
    fired = happens(at, event, messages=messages, trigger_type=trigger_type, trigger_depth=3)
    assert fired == (["Q"] if fires else [])


@pytest.mark.parametrize("event", OF_INITIATION)
@pytest.mark.parametrize(
    "what",
    [one for one in TAKEN_AWAY if one[0] in "589"] + ["7 no monitor", "6 for transmission"],
)
def test_s4_53_s4_56_s4_58_the_other_conditions_hold(at: Site, event: str, what: str) -> None:
    """S4.53, S4.56, S4.58: ... and 4 to 9 hold, else there is none."""
    at.define(messages=1)
    before(at, event)
    if what == "7 no monitor" and event == "12d":
        return  # that is what ends
    take_away(at, what)
    EVENTS[event](at)
    assert at.app.queue(INITQ).depth() == 0


@pytest.mark.parametrize("event", OF_INITIATION)
def test_s4_53_s4_56_s4_58_nobody_serves(at: Site, event: str) -> None:
    """S4.53, S4.56, S4.58: (4) is one of them: with the queue open for input: none."""
    at.define(messages=1)
    with at.serving() as server:
        before(at, event)
        EVENTS[event](at)
        assert at.triggered() == []
        assert server.get() is not None


@pytest.mark.parametrize("event", ["12b", "12c"])
def test_s4_54_one_for_each_queue(at: Site, event: str) -> None:
    """S4.54: one trigger message is made for each queue that satisfies the conditions: three that
    share an initiation queue give three."""
    for name in ("C", "A", "B"):
        at.define(name, messages=2)
    at.define("EMPTY")
    at.define("ELSEWHERE", messages=1, initiation_queue="OTHER")
    before(at, event)
    EVENTS[event](at)
    assert at.triggered() == ["A", "B", "C"]


def test_s4_55_what_was_suppressed_by_the_inhibition_appears(at: Site) -> None:
    """S4.55: the purpose: trigger messages that the inhibition suppressed appear when it is
    lifted: what can be made, not each: five suppressed EVERY puts give one."""
    at.define(trigger_type="EVERY")
    before(at, "12b")
    for _ in range(5):
        at.put()
    assert at.app.queue(INITQ).depth() == 0
    puts_allowed(at)
    assert at.triggered() == ["Q"]


def test_s4_56_gets_from_the_initiation_queue_are_allowed_again(at: Site) -> None:
    """S4.56: (12c) the initiation queue's InhibitGet goes from INHIBITED to ALLOWED: a trigger
    message at that change."""
    assert happens(at, "12c", messages=1) == ["Q"]
    gets_allowed(at)
    assert at.triggered() == []


def test_s4_56_s4_57_gets_from_the_queue_itself_are_allowed_again(at: Site) -> None:
    """S4.56: (12c) is read of both queues. S4.57: the purpose: applications are triggered only
    when messages can be retrieved from the application queue."""
    at.define(messages=1)
    before(at, "12c own")
    assert at.triggered() == []
    own_gets_allowed(at)
    assert at.triggered() == ["Q"]
    assert at.drain() == 1


def test_s4_58_the_monitor_opens_the_initiation_queue(at: Site) -> None:
    """S4.58: (12d) the trigger monitor issues MQOPEN for input on the initiation queue, with the
    same counts, (2), and 4 to 9: a trigger message at the open."""
    assert happens(at, "12d", messages=1) == ["Q"]


@pytest.mark.parametrize("open_for", ["browse", "output"])
def test_s4_58_for_input_it_must_be(at: Site, open_for: Any) -> None:
    """S4.58: opening it for anything else is nothing."""
    at.define(messages=1)
    at.stop_monitor()
    at.app.queue(INITQ, open_for=open_for)
    assert at.app.queue(INITQ).depth() == 0


def test_s4_59_nobody_else_has_it_open_for_input(at: Site) -> None:
    """S4.59: 12d requires that no other application has the initiation queue open for input: a
    second opener makes none."""
    at.define(messages=1)
    with at.manager.connect() as second:
        second.queue(INITQ, open_for="input")
        assert at.triggered() == []
        at.stop_monitor()
        at.start_monitor()  # the second is there
        assert at.triggered() == []
    at.stop_monitor()
    at.start_monitor()
    assert at.triggered() == ["Q"]


def test_s4_60_one_for_each_queue_at_the_open(at: Site) -> None:
    """S4.60: 12d: one trigger message for each queue that satisfies: three waiting queues, one
    open, three trigger messages."""
    for name in ("C", "A", "B"):
        at.define(name, messages=2)
    before(at, "12d")
    monitor_opens(at)
    assert at.triggered() == ["A", "B", "C"]


def test_s4_61_messages_that_arrived_while_the_monitor_was_away(at: Site) -> None:
    """S4.61: the purpose: messages that arrived while the monitor did not run trigger at its
    start: three puts, and FIRST yields one."""
    at.define()
    at.stop_monitor()
    for _ in range(3):
        at.put()
    at.start_monitor()
    assert at.triggered() == ["Q"]


@pytest.mark.parametrize("crashes", [False, True])
def test_s4_62_trigger_messages_lost_by_a_restart_are_made_again(at: Site, crashes: bool) -> None:
    """S4.62: the purpose: trigger messages that a restart lost are made again: they are not
    persistent. A restart empties the initiation queue; the monitor's open makes them again: one
    for each queue that qualifies."""
    at.define("A", trigger_type="EVERY")
    at.define("B")
    at.define("EMPTY")
    for name in ("A", "A", "B"):
        at.put(name)
    assert at.app.queue(INITQ).depth() == 3
    if crashes:
        at.manager.crash()
        at.manager.start()
    else:
        at.manager.restart()
    with at.manager.connect() as looks:
        assert looks.queue(INITQ).depth() == 0
    at.start_monitor()
    assert at.triggered() == ["A", "B"]


@pytest.mark.parametrize("event", ["11", *EVENTS])
def test_s4_63_events_other_than_arrivals_are_in_no_transaction(at: Site, event: str) -> None:
    """S4.63: from condition 11 on, trigger messages are not put as part of a transaction: they are
    there at once, inside the caller's unit of work too, and its rollback does not retract them."""
    at.app.define_queue("PLAIN")
    at.define(messages=1)
    with at.app.unit() as unit:
        at.app.put("PLAIN", "of the unit", unit=unit)
        if event == "11":
            serving = at.app.queue("Q", open_for="input")
            assert serving.get(unit=unit) is not None
            at.put(unit=unit)
            assert at.triggered() == []
            serving.close()
        else:
            before(at, event)
            EVENTS[event](at)
        assert at.app.queue(INITQ).depth() == 1
        unit.backout()
    assert at.triggered() == ["Q"]


def test_s4_63_so_one_of_condition_10_is_held_by_the_unit() -> None:
    """S4.63: condition 10 comes before: its trigger message belongs to the transaction."""
    with site(trigger_interval_ms=0) as at:
        at.define(messages=1)
        unit = at.app.unit()
        unit.begin()
        at.put(unit=unit)
        assert at.triggered() == []
        unit.commit()
        assert at.triggered() == ["Q"]


@pytest.mark.parametrize("event", EVENTS)
def test_s4_64_every_gives_exactly_one_for_such_an_event(at: Site, event: str) -> None:
    """S4.64: on those events EVERY with messages on the queue yields exactly one trigger message:
    five messages: one, for each event."""
    assert happens(at, event, messages=5, trigger_type="EVERY") == ["Q"]
    before(at, event)
    EVENTS[event](at)
    assert at.triggered() == ["Q"]
