"""Paging: a core with a small window answers as one that keeps everything in memory."""

import gc
import random

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Messages, Result, Statuses, Subscribed, UnitOutcome
from adapter.core.model.due import SWEEP_AT
from tests.support.core import Client, Core, client_on

SMALL = Limits(window_messages=4)
QUEUES = ("A", "B")
IDS = [bytes([number]) * 24 for number in range(1, 5)]


def paged(*names: str, **attributes: object) -> Client:
    return client_on(*names, limits=SMALL, **attributes)


def test_what_leaves_memory_comes_back_in_order() -> None:
    client = paged()
    for number in range(100):
        client.put(f"{number:02}", priority=number % 2)
    queue = client.core.queue()
    assert (queue.depth, queue.depth_by_priority[:2]) == (100, [50, 50])
    assert queue.paged_count == 100 - len(queue.stored) > 80
    got = [client.get()[0] for _ in range(100)]
    assert got == [f"{n:02}" for n in range(1, 100, 2)] + [f"{n:02}" for n in range(0, 100, 2)]
    assert client.get() == []
    assert client.core.pages > 10
    assert client.core.replayed().queues["Q"].depth == 0


def test_a_cursor_that_walks_through_a_queue_reads_each_page_once() -> None:
    client = paged()
    for number in range(100):
        client.put(f"{number:02}")
    pages = client.core.pages
    assert [client.browse()[0] for _ in range(100)] == [f"{number:02}" for number in range(100)]
    assert client.core.pages - pages <= 100 / SMALL.window_messages
    assert len(client.core.queue().stored) <= 3 * SMALL.window_messages


def test_a_page_that_is_asked_for_leaves_no_cycle_behind() -> None:
    """Collecting what refers to itself stopped the queue manager for 0.2 s in every second."""
    client = paged()
    for number in range(200):
        client.put(f"{number:03}", correlation_id=IDS[number % 4])
    gc.collect()
    gc.disable()
    try:
        pages = client.core.pages
        for _ in range(50):
            assert client.get(correlation_id=IDS[2])
        assert client.core.pages > pages + 30
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_waiting_get_is_served_from_a_page() -> None:
    client = paged()
    unit = client.begin()
    for number in range(30):
        client.put(str(number), unit=unit)
    client.do(c.Commit(unit))
    client.core.crash_with_snapshot()
    back = client.core.connect()
    back.open()
    assert back.core.queue().stored == {}
    assert back.get(wait_ms=-1) == ["0"]


def test_backout_counts_outlast_memory_and_snapshots() -> None:
    client = paged()
    for number in range(30):
        client.put(f"{number:02}")
    for _ in range(2):
        unit = client.begin()
        client.get(unit, place=(0, 20, 0))
        client.do(c.Backout(unit))
    for _ in range(2):
        assert client.browse(restart=True) == ["00"]
    client.core.crash_with_snapshot()
    back = client.core.connect()
    back.open()
    (found,) = back.take(place=(0, 20, 0))
    assert (found.message.body, found.backout_count) == (b"19", 2)


def test_a_selective_get_finds_what_is_not_in_memory() -> None:
    client = paged()
    for number in range(200):
        client.put(f"{number:03}", correlation_id=IDS[number % 4])
    assert client.get(correlation_id=IDS[2]) == ["002"]
    assert client.get(correlation_id=IDS[2]) == ["006"]
    assert client.get(correlation_id=b"?" * 24) == []
    client.put("new", correlation_id=b"n" * 24)
    for number in range(100):
        client.put(f"{number:03}")
    pages = client.core.pages
    assert client.get(correlation_id=b"n" * 24) == ["new"]
    assert client.core.pages <= pages + 2, "the index is kept, and not built again"


@pytest.mark.parametrize("seconds", [30, 3600])
def test_paged_out_messages_expire(seconds: int) -> None:
    client = paged()
    for number in range(50):
        client.put(str(number), expiry_ms=600_000 if number % 2 else -1)
    client.core.advance(590)
    assert client.core.queue().depth == 50
    client.core.advance(seconds)
    for _ in range(40):
        client.core.advance(61)
    assert client.core.queue().depth == 25
    assert client.core.replayed().queues["Q"].depth == 25


def test_ends_are_noted_a_bounded_number_of_times_however_often_pages_come_and_go() -> None:
    client = paged()
    for number in range(60):
        client.put(str(number), expiry_ms=86_400_000 + 60_000 * number)
    pages = client.core.pages
    while client.core.pages < pages + SWEEP_AT:
        client.browse(restart=True)
        while client.browse(limit=10):
            pass
    assert client.core.qm.due.paged_ends
    assert len(client.core.qm.due.paged_ends) <= SWEEP_AT
    client.core.advance(2 * 86_400)
    for _ in range(60):
        client.core.advance(2)
    assert client.core.queue().depth == 0


def test_a_purge_forgets_what_is_not_in_memory() -> None:
    client = paged()
    for number in range(50):
        client.put(str(number), priority=number % 3)
    client.put("soft", persistence=0)
    unit = client.begin()
    assert client.get(unit) == ["2"]
    client.do(c.PurgeQueue("Q"))
    queue = client.core.queue()
    assert (queue.depth, queue.depth_by_priority) == (0, [0] * 10)
    client.do(c.Backout(unit))
    assert (queue.depth, sum(queue.depth_by_priority)) == (1, 1)
    replayed = client.core.replayed().queues["Q"]
    assert (replayed.depth, replayed.depth_by_priority) == (1, queue.depth_by_priority)
    assert client.get() == ["2"]


def test_a_request_that_waits_for_a_page_goes_with_its_connection() -> None:
    lost = all_paged_out()
    core = lost.core
    other = core.connect()
    other.open()
    lost.send(c.Get(1))
    asked = other.send(c.Get(1))
    lost.lose()
    core.reads_pages = True
    core.advance(0)
    answer = other.answer(asked)
    assert isinstance(answer, Messages)
    assert answer.messages[0].message.body == b"0", "nobody got it before"
    assert core.queue().depth == 29


def test_a_request_that_waits_for_a_queue_it_has_no_handle_of_goes_with_its_connection() -> None:
    """A new subscription looks at retained publications, which may have to be read first."""
    core = Core()
    core.configure()
    publisher = core.connect()
    publisher.define("COPIES")
    publisher.do(c.OpenTopic(1, "prices"))
    publisher.do(c.Put(1, [MessageData(body=b"10")], options=c.RETAIN))
    core.crash_with_snapshot()
    core.reads_pages = False
    subscriber, other = core.connect(), core.connect()
    subscriber.send(c.Subscribe(1, "prices", destination="COPIES"))
    waiting = other.send(c.Subscribe(1, "prices", destination="COPIES"))
    assert core.answers == {}
    subscriber.lose()
    core.reads_pages = True
    core.advance(0)
    assert isinstance(other.answer(waiting), Subscribed)
    assert list(core.answers) == [(other.number, waiting)]


def test_a_get_that_waits_for_an_index_is_served_when_it_is_complete() -> None:
    client = paged()
    asked = client.send(c.Get(1, wait_ms=-1, correlation_id=IDS[0]))
    unit = client.begin()
    for number in range(30):
        client.put(f"{number:02}", unit=unit, correlation_id=IDS[1])
    client.do(c.Commit(unit))
    client.put("fits", correlation_id=IDS[0])
    answer = client.answer(asked)
    assert isinstance(answer, Messages), "nothing else wakes it"
    assert answer.messages[0].message.body == b"fits"


def all_paged_out() -> Client:
    """A client of a core that has no message in memory, and whose pages do not come yet."""
    client = paged()
    for number in range(30):
        client.put(str(number))
    core = client.core
    core.crash_with_snapshot()
    core.reads_pages = False
    back = core.connect()
    back.open()
    return back


def waiting_for_a_page() -> tuple[Client, int]:
    """A client whose get waits for a page."""
    client = all_paged_out()
    return client, client.send(c.Get(1))


def read_pages(core: Core) -> None:
    """Let what waits for a page have it."""
    core.reads_pages = True
    core.advance(0)


def got(client: Client, request: int) -> list[str]:
    answer = client.answer(request)
    assert isinstance(answer, Messages), answer
    return [one.message.body.decode() for one in answer.messages]


def test_a_unit_is_committed_behind_its_get_that_waits_for_a_page() -> None:
    client = all_paged_out()
    unit = client.begin()
    asked = client.send(c.Get(1, unit))
    put = client.send(c.Put(1, [MessageData(body=b"new")], unit))
    committed = client.send(c.Commit(unit))
    told = client.send(c.AskOutcome(unit))
    assert [client.answer(one) for one in (asked, put, committed, told)] == [None] * 4
    read_pages(client.core)
    assert got(client, asked) == ["0"]
    assert (client.answer(committed), client.answer(told)) == (Done(1), UnitOutcome("committed"))
    assert client.core.queue().depth == 30
    assert client.core.qm.sessions[client.session].running == set()


def test_a_backout_waits_too_and_what_belongs_to_another_unit_does_not() -> None:
    client = all_paged_out()
    one, other = client.begin(), client.begin()
    client.send(c.Get(1, one))
    backed_out = client.send(c.Backout(one))
    client.put("new", unit=other)
    assert client.do(c.Commit(other)) == Done(1)
    assert client.answer(backed_out) is None
    read_pages(client.core)
    assert client.answer(backed_out) == Done()
    assert client.core.queue().depth == 31


def test_a_handle_is_closed_and_opened_again_behind_what_waits_for_a_page() -> None:
    client, asked = waiting_for_a_page()
    closed = client.send(c.Close(1))
    opened = client.send(c.Open(1, "Q", c.INPUT))
    again = client.send(c.Get(1))
    assert [client.answer(one) for one in (asked, closed, opened, again)] == [None] * 4
    read_pages(client.core)
    assert (got(client, asked), got(client, again)) == (["0"], ["1"])
    assert (client.answer(closed), client.answer(opened)) == (Done(), Done())
    assert not client.core.queue().opens.output


def test_a_cursor_goes_on_in_the_order_of_the_browses() -> None:
    client = all_paged_out()
    client.put("ahead", priority=9)
    assert client.browse() == ["ahead"]
    on = client.send(c.Browse(1))
    first = client.send(c.Browse(1, restart=True))
    assert client.answer(first) is None, "it is in memory, but its cursor is in use"
    read_pages(client.core)
    assert (got(client, on), got(client, first)) == (["0"], ["ahead"])
    assert client.browse() == ["0"]


def test_what_is_held_waits_again_for_a_page_of_its_own() -> None:
    client = all_paged_out()
    unit = client.begin()
    asked = client.send(c.Get(1, unit))
    later = client.send(c.Get(1, unit, place=(0, 25, 0)))
    committed = client.send(c.Commit(unit))
    read_pages(client.core)
    assert (got(client, asked), got(client, later)) == (["0"], ["24"])
    assert client.answer(committed) == Done()
    assert client.core.queue().depth == 28


def test_what_is_held_goes_with_its_connection() -> None:
    client, _ = waiting_for_a_page()
    unit = client.begin()
    client.send(c.Get(1, unit))
    client.send(c.Commit(unit))
    client.lose()
    session = client.core.qm.sessions[client.session]
    assert (session.running, session.outcomes) == (set(), {})
    read_pages(client.core)
    assert client.core.queue().depth == 30
    back = client.core.connect()
    back.resume(client.session, [1], 1)
    assert back.refused(c.Commit(unit), 1) == Reason.BACKED_OUT


def oldest_s(client: Client) -> float:
    status = client.do(c.AskStatus("Q"))
    assert isinstance(status, Statuses)
    return status.queues[0].oldest_message_age_s


def aging(count: int) -> Client:
    """A client of a queue to which one message was put each second; the last just now."""
    client = paged()
    for number in range(count):
        client.core.advance(1)
        client.put(str(number), priority=number % 2)
    return client


def test_the_oldest_message_is_as_old_after_a_restart_as_before() -> None:
    client = aging(40)
    assert oldest_s(client) == 39
    for crash in (client.core.crash_with_snapshot, client.core.crash_with_snapshot):
        crash()
        client.core.reads_pages = False  # and nothing is read to know it
        client = client.core.connect()
        assert oldest_s(client) == 39
    client.core.advance(10)
    assert oldest_s(client) == 49
    read_pages(client.core)
    client.open()
    assert client.get() == ["1"]
    assert oldest_s(client) == 49, "of the other lane"


def test_the_oldest_message_is_known_while_a_unit_holds_it() -> None:
    client = aging(10)
    unit = client.begin()
    client.get(unit, limit=5)
    client.get(unit, limit=2)
    client.core.crash_with_snapshot()
    assert oldest_s(client.core.connect()) == 9


def test_the_age_goes_on_with_what_is_read() -> None:
    client = aging(60)
    client.core.crash_with_snapshot()
    back = client.core.connect()
    back.open()
    ages = []
    for left in range(60, 0, -1):
        ages.append(oldest_s(back))
        back.core.reads_pages = left % 7 > 0
        asked = back.send(c.Get(1))
        read_pages(back.core)
        assert len(got(back, asked)) == 1
    assert ages == sorted(ages, reverse=True)
    assert ages[0] == 59
    assert ages[-1] <= 2
    assert oldest_s(back) == 0


class Twin:
    """The same commands to a core with a small window and to one that keeps everything."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.clients = [client_on(*QUEUES, limits=limits) for limits in (SMALL, None)]
        self.cores: list[Core] = [client.core for client in self.clients]
        self.units: list[bytes] = []
        self.number = 0

    def do(self, command: c.Command) -> Result:
        small, large = (client.do(command) for client in self.clients)
        assert small == large, command
        return large

    def step(self) -> None:
        choice = self.random.random()
        handle = self.random.randint(1, len(QUEUES))
        unit = self.random.choice([*self.units, b""]) if self.units else b""
        if choice < 0.55:
            self.number += 1
            fields = self.fields()
            for client in self.clients:
                client.put(str(self.number), unit=unit, handle=handle, **fields)
        elif choice < 0.75:
            self.do(c.Get(handle, unit, correlation_id=self.wanted()))
        elif choice < 0.8:
            self.do(c.Browse(handle, restart=self.random.random() < 0.2))
        elif choice < 0.86:
            (begun, _) = [client.begin() for client in self.clients]
            self.units.append(begun)
        elif choice < 0.95 and self.units:
            ended = self.units.pop(self.random.randrange(len(self.units)))
            self.do(c.Commit(ended) if self.random.random() < 0.5 else c.Backout(ended))
        elif choice < 0.96:
            for core in self.cores:
                core.advance(20)
        elif choice < 0.97:
            self.crash()
        elif choice < 0.971:
            self.settle()
            self.do(c.PurgeQueue(QUEUES[handle - 1]))

    def settle(self) -> None:
        """Let everything expire that does: what is paged out goes up to a minute later."""
        for core in self.cores:
            for seconds in (170, *[2] * 20):
                core.advance(seconds)

    def fields(self) -> dict[str, object]:
        return {
            "priority": self.random.randint(0, 2),
            "persistence": int(self.random.random() < 0.8),
            "correlation_id": self.random.choice(IDS),
            "expiry_ms": 100_000 if self.random.random() < 0.1 else -1,
        }

    def wanted(self) -> bytes:
        return self.random.choice(IDS) if self.random.random() < 0.3 else b""

    def crash(self) -> None:
        self.units.clear()
        for core in self.cores:
            if core is self.cores[0]:
                core.snapshot()
            core.crash()
        for at, client in enumerate(self.clients):
            back = client.core.connect()
            back.resume(client.session, [], client.issued)
            back._units = client._units
            for handle, name in enumerate(QUEUES, 1):
                back.open(name, handle=handle)
            self.clients[at] = back


@pytest.mark.parametrize("seed", range(12))
def test_a_small_window_changes_no_answer(seed: int) -> None:
    twin = Twin(seed)
    for _ in range(600):
        twin.step()
    twin.settle()
    small, large = twin.cores
    for name in QUEUES:
        assert small.queue(name).depth == large.queue(name).depth
        assert small.queue(name).depth_by_priority == large.queue(name).depth_by_priority
    assert small.evicted > 20
    assert small.pages > 10
