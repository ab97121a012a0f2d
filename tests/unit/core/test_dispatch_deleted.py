"""Queues that are deleted while requests wait for pages of them: each is answered, and what waits
behind it goes on.
"""

from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.limits import Limits
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from tests.support.core import Client, Core
from tests.support.msmq import PATH, client_of_msmq, receive, send

SMALL = Limits(window_messages=4)
JOURNAL = f"{PATH};journal"


def reader_that_waits() -> tuple[Client, int, int]:
    """A client whose receive waits for a page of a journal, and whose close waits for that."""
    maker = client_of_msmq(Core(SMALL), transactional=True, journaling=True)
    for number in range(30):
        send(maker, str(number), single=True)
        receive(maker)
    core = maker.core
    core.crash_with_snapshot()
    reader = core.connect()
    reader.do(m.MsmqOpen(1, JOURNAL, m.RECEIVE_ACCESS))
    core.reads_pages = False
    waits = reader.send(m.MsmqReceive(1))
    behind = reader.send(c.Close(1))
    assert (reader.answer(waits), reader.answer(behind)) == (None, None)
    return reader, waits, behind


def test_a_request_behind_one_that_waits_for_a_page_goes_on_when_the_queue_is_deleted() -> None:
    reader, waits, behind = reader_that_waits()
    reader.core.connect().do(m.MsmqDelete(PATH))
    told = reader.answer(waits)
    assert isinstance(told, Refused)
    assert told.reason == Reason.QUEUE_DELETED
    assert reader.answer(behind) is not None
    state = reader.core.qm.connections[reader.number].turns
    assert not state.suspended
    assert not state.held


def test_a_client_that_is_lost_while_it_waits_for_a_queue_that_is_deleted() -> None:
    reader, waits, behind = reader_that_waits()
    other = reader.core.connect()
    reader.lose()
    other.do(m.MsmqDelete(PATH))
    assert (reader.answer(waits), reader.answer(behind)) == (None, None)


def test_a_get_that_waits_for_a_page_of_a_managed_queue_that_goes_with_its_subscription() -> None:
    core = Core(SMALL)
    core.configure()
    subscriber = core.connect()
    durable = c.DURABLE | c.MANAGED
    made = subscriber.do(c.Subscribe(1, "NEWS", "", "S", c.CREATE | durable))
    assert not isinstance(made, Refused), made
    (name,) = [name for name in core.qm.queues if name.startswith("SYSTEM.MANAGED.DURABLE")]
    publisher = core.connect()
    publisher.do(c.OpenTopic(1, "NEWS"))
    for number in range(30):
        publisher.put(str(number))
    core.crash_with_snapshot()
    reader = core.connect()
    reader.open(name, c.INPUT)
    unit = reader.begin()
    core.reads_pages = False
    waits = reader.send(c.Get(1, unit))
    behind = reader.send(c.Commit(unit))
    assert reader.answer(waits) is None
    subscriber = core.connect()
    subscriber.do(c.Subscribe(1, "NEWS", "", "S", c.RESUME | durable))
    subscriber.do(c.CloseSubscription(1, remove=True))
    assert name not in core.qm.queues
    told = reader.answer(waits)
    assert isinstance(told, Refused)
    assert told.reason == Reason.QUEUE_DELETED
    assert reader.answer(behind) is not None
