"""The time of day is set ahead or back: intervals pass as if it were not, expiry follows it."""

from collections.abc import Callable, Iterator

import pytest

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.records import EventRaised
from adapter.core.contract.results import Connections, Consumers
from adapter.storage.format import entries
from tests.support.core import START_MS, Client, Core, client_on

HOUR_S, DAY_S = 3600, 86_400
STEPS = {
    "an hour back": [-HOUR_S],
    "a day ahead": [DAY_S],
    "a day ahead and right again": [DAY_S, -DAY_S],
    "ten years back": [-3650 * DAY_S],
}
INTERVAL_S = 60
"""Of every interval here."""

Is = Callable[[], bool]


def a_wait(core: Core) -> Is:
    client = core.connect()
    client.open("Q")
    asked = client.send(c.Get(1, wait_ms=INTERVAL_S * 1000))
    return lambda: client.answer(asked) is not None


def a_session(core: Core) -> Is:
    client = core.connect()
    client.define("MINE")
    client.lose()
    return lambda: client.session not in core.qm.sessions


def a_consumer(core: Core) -> Is:
    client = core.connect()
    client.open("Q")
    client.put("claimed")
    client.do(c.OpenConsumer(7, "Q", "C", INTERVAL_S * 1000))
    client.do(c.ClaimBatch(7, 100, 0))
    client.do(c.Close(7))
    return lambda: core.queue().depth == 1


def a_mark(core: Core) -> Is:
    client = core.connect()
    client.do(c.AlterObject("queue_manager", "QM1", {"mark_interval_ms": INTERVAL_S * 1000}))
    client.open("Q")
    client.put("marked")
    client.open("Q", c.BROWSE | c.CO_OP, handle=2)
    options = c.UNMARKED | c.MARK_CO_OP
    assert client.browse(2, restart=True, options=options) == ["marked"]
    return lambda: client.browse(2, restart=True, options=options) == ["marked"]


def a_trigger(core: Core) -> Is:
    client = core.connect()
    client.do(c.AlterObject("queue_manager", "QM1", {"trigger_interval_ms": INTERVAL_S * 1000}))
    client.define("INIT")
    client.open("INIT", handle=1)
    client.do(c.DefineObject("process", "P", {"appl_id": "server"}))
    client.define("T", trigger_control=True, initiation_queue="INIT", process="P")
    client.open("T", c.OUTPUT, handle=2)
    client.put("first", handle=2)
    assert client.get()

    def is_triggered() -> bool:
        client.put("another", handle=2)
        return bool(client.get())

    return is_triggered


def statistics(core: Core) -> Is:
    core.give(inputs.Restarted())
    core.qm.attributes.statistics_interval_s = INTERVAL_S
    client = core.connect()
    client.open("Q")
    client.put("a")

    def is_there() -> bool:
        records = (record for payload in core.entries for record in entries.decode(payload))
        return any(isinstance(record, EventRaised) for record in records)

    return is_there


INTERVALS = [a_wait, a_session, a_consumer, a_mark, a_trigger, statistics]


@pytest.mark.parametrize("steps", STEPS.values(), ids=list(STEPS))
@pytest.mark.parametrize("interval", INTERVALS)
def test_an_interval_takes_its_time(interval: Callable[[Core], Is], steps: list[int]) -> None:
    core = client_on(limits=Limits(session_expiry_ms=INTERVAL_S * 1000)).core
    core.advance(0)
    is_over = interval(core)
    for ahead_s in steps:
        core.step(ahead_s)
        core.advance(0)
        assert not is_over(), "no time has passed"
    core.advance(INTERVAL_S - 1)
    assert not is_over()
    core.advance(1)
    assert is_over()


@pytest.mark.parametrize("ahead_s", [-HOUR_S, DAY_S])
def test_a_message_is_put_when_the_clock_says_and_expires_by_it(ahead_s: int) -> None:
    client = client_on()
    core = client.core
    core.step(ahead_s)
    client.put("a", expiry_ms=60_000)
    (found,) = core.queue().in_order()
    assert found.message.put_time_ms == START_MS + ahead_s * 1000
    assert core.next_tick_ms() == core.now_ms + 60_000
    core.advance(60)
    assert core.queue().depth == 0


def test_a_clock_set_ahead_expires_messages_and_one_set_back_spares_them() -> None:
    client = client_on()
    client.put("short", expiry_ms=60_000)
    client.put("long", expiry_ms=2 * DAY_S * 1000)
    client.core.step(-HOUR_S)
    client.core.advance(60)
    assert client.core.queue().depth == 2
    client.core.step(HOUR_S)
    client.core.step(DAY_S)
    client.core.advance(0)
    assert client.core.queue().depth == 1


def shown(client: Client) -> Iterator[float]:
    """How long a unit has been open, and a consumer away, as operators are told."""
    connections = client.do(c.AskConnections(units=True))
    assert isinstance(connections, Connections)
    yield from (unit.age_s for unit in connections.units)
    yield from (one.oldest_unit_age_s for one in connections.connections)
    consumers = client.do(c.AskConsumers("Q"))
    assert isinstance(consumers, Consumers)
    yield from (one.away_s for one in consumers.consumers)


@pytest.mark.parametrize("ahead_s", [-HOUR_S, DAY_S])
def test_ages_are_of_the_time_that_has_passed(ahead_s: int) -> None:
    client = client_on()
    client.begin()
    client.do(c.OpenConsumer(7, "Q", "C", INTERVAL_S * 1000))
    client.do(c.Close(7))
    client.core.step(ahead_s)
    client.core.advance(2)
    assert list(shown(client)) == [2.0, 2.0, 2.0]
