"""Seed 4, S4.27-S4.37: trigger messages of uncommitted puts, more arrivals, and TriggerInterval."""

from collections.abc import Iterator

import pytest

import adapter
from tests.support.trigger_site import PROCESS, Site, site

INTERVAL_S = 10


@pytest.fixture
def at() -> Iterator[Site]:
    with site() as made:
        yield made


@pytest.fixture
def timed() -> Iterator[Site]:
    """With a TriggerInterval of ten seconds."""
    with site(trigger_interval_ms=INTERVAL_S * 1000) as made:
        yield made


def begun(at: Site, *names: str) -> adapter.Unit:
    """Begin a unit and put one message to each of these queues in it."""
    unit = at.app.unit()
    unit.begin()
    for name in names:
        at.put(name, unit=unit)
    return unit


def define_of_type(at: Site, trigger_type: str) -> None:
    at.define(trigger_type=trigger_type, trigger_depth=1)


@pytest.mark.parametrize("trigger_type", ["FIRST", "EVERY", "DEPTH"])
def test_s4_27_it_is_not_available_before_the_transaction_completes(
    at: Site, trigger_type: str
) -> None:
    """S4.27: if 1 to 9 hold and the message was put in a transaction, the trigger message is not
    available until that completes: the initiation queue shows nothing before the outcome."""
    define_of_type(at, trigger_type)
    unit = begun(at, "Q")
    assert at.triggered() == []
    assert list(at.app.queue("INITQ").browse()) == []
    unit.commit()
    assert at.triggered() == ["Q"]


@pytest.mark.parametrize("trigger_type", ["FIRST", "EVERY", "DEPTH"])
def test_s4_28_on_commit_it_becomes_available(at: Site, trigger_type: str) -> None:
    """S4.28: on commit it becomes available: the monitor gets it right after; and only then is the
    message there too."""
    define_of_type(at, trigger_type)
    unit = begun(at, "Q")
    unit.commit()
    assert at.triggered() == ["Q"]
    assert at.drain() == 1


@pytest.mark.parametrize("trigger_type", ["FIRST", "DEPTH"])
def test_s4_29_first_and_depth_on_rollback_too(at: Site, trigger_type: str) -> None:
    """S4.29: FIRST, DEPTH: on rollback it becomes available too: the monitor gets a trigger message
    though no message is on the queue."""
    define_of_type(at, trigger_type)
    unit = begun(at, "Q")
    assert at.triggered() == []
    unit.backout()
    assert at.triggered() == ["Q"]
    assert at.app.queue("Q").depth() == 0


@pytest.mark.parametrize("trigger_type", ["FIRST", "DEPTH"])
def test_s4_29_a_lost_connection_rolls_back(at: Site, trigger_type: str) -> None:
    """S4.29: so does a program that dies with its transaction."""
    define_of_type(at, trigger_type)
    other = at.manager.connect()
    unit = other.unit()
    unit.begin()
    other.put("Q", "work", unit=unit)
    other.disconnect(abrupt=True)
    message = at.initiation.get(timeout=20.0)
    assert message is not None


def test_s4_30_every_on_rollback_not(at: Site) -> None:
    """S4.30: EVERY: on rollback it does not: the initiation queue stays empty."""
    at.define(trigger_type="EVERY")
    begun(at, "Q", "Q").backout()
    assert at.triggered() == []
    begun(at, "Q", "Q").commit()
    assert at.triggered() == ["Q", "Q"]


def test_s4_30_the_other_reading_is_a_setting() -> None:
    """S4.30: every_triggers_on_backout: a trigger message for each put that was rolled back."""
    with site(every_triggers_on_backout=True) as at:
        at.define(trigger_type="EVERY")
        begun(at, "Q", "Q").backout()
        assert at.triggered() == ["Q", "Q"]
        assert at.app.queue("Q").depth() == 0


def test_s4_31_s4_33_first_with_messages_before(timed: Site) -> None:
    """S4.31: (10) a qualifying message is put and FIRST's queue was not empty before. S4.33: ...
    and TriggerInterval has elapsed since the last trigger message for that queue: inside the
    interval none; after it the next qualifying put gives one."""
    timed.define(trigger_msg_priority=3)
    timed.put(priority=3)
    assert timed.triggered() == ["Q"]
    timed.manager.clock.advance(INTERVAL_S - 1)
    timed.put(priority=3)
    assert timed.triggered() == []
    timed.manager.clock.advance(1)
    assert timed.triggered() == []  # time alone does nothing
    timed.put(priority=2)
    assert timed.triggered() == []  # nor does a message that does not qualify
    timed.put(priority=3)
    assert timed.triggered() == ["Q"]
    timed.put(priority=3)
    assert timed.triggered() == []  # the interval has begun anew


def test_s4_33_the_interval_is_of_that_queue(timed: Site) -> None:
    """S4.33: since the last trigger message for that queue: two queues share an initiation queue
    and not the interval."""
    timed.define("A")
    timed.define("B")
    timed.put("A")
    timed.manager.clock.advance(INTERVAL_S / 2)
    timed.put("B")
    assert timed.triggered() == ["A", "B"]
    timed.manager.clock.advance(INTERVAL_S / 2)
    timed.put("B")
    timed.put("A")
    assert timed.triggered() == ["A"]
    timed.manager.clock.advance(INTERVAL_S / 2)
    timed.put("A")
    timed.put("B")
    assert timed.triggered() == ["B"]


@pytest.mark.parametrize("elapsed", [False, True])
def test_s4_33_the_other_conditions_hold_too(timed: Site, elapsed: bool) -> None:
    """S4.33: ... and 2 to 9 (except 3) hold: with a server there is none, however long it is."""
    timed.define()
    timed.put()
    assert timed.triggered() == ["Q"]
    timed.manager.clock.advance(INTERVAL_S if elapsed else 1)
    with timed.serving() as server:
        timed.put()
        assert timed.triggered() == []
        assert server.get() is not None
        assert server.get() is not None


def test_s4_33_an_interval_of_0_is_always_over() -> None:
    """S4.33: with TriggerInterval 0 FIRST gives one for each put."""
    with site(trigger_interval_ms=0) as at:
        at.define()
        for _ in range(3):
            at.put()
        assert at.triggered() == ["Q"] * 3


def test_s4_32_s4_34_depth_with_as_many_before(timed: Site) -> None:
    """S4.32: (10) ... or before the put DEPTH's queue has TriggerDepth qualifying messages or more:
    d to d + 1 fires; the put that reaches d gives exactly one. S4.34: DEPTH has no interval: the
    next put above the depth fires."""
    timed.define(trigger_type="DEPTH", trigger_depth=2, trigger_msg_priority=1)
    fired = []
    for priority in (1, 0, 1, 1, 0, 1):
        timed.put(priority=priority)
        fired.append(len(timed.triggered()))
    assert fired == [0, 0, 1, 1, 0, 1]


def test_s4_34_unless_depth_disables() -> None:
    """S4.34: the setting depth_trigger_disables is IBM MQ's behaviour: a trigger message sets
    TriggerControl OFF, and the program sets it ON when it is ready for another."""
    with site(depth_trigger_disables=True) as at:
        at.define(trigger_type="DEPTH", trigger_depth=2)
        for _ in range(4):
            at.put()
        assert at.triggered() == ["Q"]
        assert at.app.queue("Q").inquire().trigger_control is False
        at.app.queue("Q").set(trigger_control=True)
        assert at.triggered() == ["Q"]
        assert at.app.queue("Q").inquire().trigger_control is False


def test_s4_35_a_server_may_end_before_it_has_processed_every_message(timed: Site) -> None:
    """S4.35: the purpose: a server may end before it has processed every message: later puts
    trigger again. (The close fires by (11); so here the process is away while it closes.)"""
    timed.define(messages=3)
    with timed.serving() as server:
        assert server.get() is not None
        timed.app.delete_object("process", PROCESS)
    timed.app.define_process(PROCESS)
    assert timed.triggered() == []
    timed.put()
    assert timed.triggered() == ["Q"]


def test_s4_36_fewer_duplicates_inside_an_interval(timed: Site) -> None:
    """S4.36: the purpose of the interval: fewer duplicates: N puts inside one give exactly one."""
    timed.define()
    for _ in range(20):
        timed.put()
        timed.manager.clock.advance(INTERVAL_S / 40)
    assert timed.triggered() == ["Q"]


def test_s4_36_in_one_transaction_too(timed: Site) -> None:
    """S4.36: the trigger message that the unit holds counts, though nobody can get it yet."""
    timed.define()
    unit = begun(timed, "Q", "Q", "Q")
    timed.manager.clock.advance(1)
    unit.commit()
    assert timed.triggered() == ["Q"]


@pytest.mark.parametrize("restarts", ["restart", "crash"])
def test_s4_37_a_restart_resets_the_timer(restarts: str) -> None:
    """S4.37: restarting the queue manager resets the timer of TriggerInterval: it is not inherited.
    (Opening the monitor fires by 12d, and begins an interval; so the process is away then.)"""
    with site(trigger_interval_ms=3_600_000) as at:
        at.define()
        at.put()
        assert at.triggered() == ["Q"]
        at.put()
        assert at.triggered() == []
        at.app.delete_object("process", PROCESS)
        if restarts == "restart":
            at.manager.restart()
        else:
            at.manager.crash()
            at.manager.start()
        at.start_monitor()
        at.app.define_process(PROCESS)
        assert at.triggered() == []
        at.put()
        assert at.triggered() == ["Q"]
        at.put()
        assert at.triggered() == []
