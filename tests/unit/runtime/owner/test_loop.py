"""The owner's loop: a reply is a promise, group commit falls out, entries stay within bounds."""

import random
import tracemalloc
from collections.abc import Callable
from functools import partial

import pytest

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Origin
from adapter.core.contract.audit import AuditNote
from adapter.core.contract.message import MessageData
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.results import Done, Messages, PutDone
from adapter.core.contract.transmission import Transmission
from adapter.core.inputs import Arrived
from adapter.core.rules.primitives import step_room
from adapter.core.rules.primitives.lifetime import STOPPED
from adapter.runtime.owner import liveness
from adapter.runtime.owner import loop as owner_loop
from adapter.runtime.owner.appends import ENTRIES_IN_FLIGHT_MAX
from adapter.storage.format import entries
from adapter.storage.ledger import port
from adapter.storage.ledger.memory import MemoryLedgerReader, MemoryLog
from adapter.storage.topics.port import Page
from tests.support.by_hand import ByHand
from tests.support.core import Client
from tests.support.examples import examples

MANY = ENTRIES_IN_FLIGHT_MAX


def held() -> Client:
    """A client with an open queue, on an owner whose turns and reports come by hand."""
    owner = ByHand()
    client = owner.connect()
    client.define()
    client.open()
    owner.held = True
    return client


def owner_of(client: Client) -> ByHand:
    assert isinstance(client.core, ByHand)
    return client.core


def put(client: Client, body: str = "a", unit: bytes = b"", persistence: int = 1) -> int:
    return client.send(c.Put(1, [MessageData(body=body.encode(), persistence=persistence)], unit))


def written(log: MemoryLog) -> list[int]:
    """How many records each entry of the ledger holds."""
    reader = MemoryLedgerReader(log)
    return [len(entries.decode(entry.payload)) for entry in reader.read(0)]


def bodies(client: Client, request: int) -> list[bytes] | None:
    answer = client.answer(request)
    if answer is None:
        return None
    assert isinstance(answer, Messages), answer
    return [each.message.body for each in answer.messages]


def test_no_reply_before_its_entry_is_durable() -> None:
    client = held()
    owner = owner_of(client)
    request = put(client)
    assert client.answer(request) is None
    owner.turn()
    assert client.answer(request) is None, "appended is not durable"
    owner.ledger.pump()
    assert isinstance(client.answer(request), PutDone)


def test_one_turn_makes_one_entry() -> None:
    client = held()
    owner = owner_of(client)
    before = len(written(owner.log))
    requests = [put(client) for _ in range(5)]
    owner.turn()
    assert written(owner.log)[before:] == [5]
    owner.ledger.pump()
    assert all(client.answer(each) for each in requests)


def test_bytes_are_counted_until_they_are_durable() -> None:
    client = held()
    owner = owner_of(client)
    for _ in range(10):
        put(client, "x" * 1000)
        owner.turn()
    assert owner.loop.appends.undurable_bytes > MANY * 1000
    while not owner.loop.idle:
        owner.ledger.pump()
        owner.turn()
    assert owner.loop.appends.undurable_bytes == 0


def test_group_commit_while_entries_are_in_flight() -> None:
    client = held()
    owner = owner_of(client)
    before = len(written(owner.log))
    for _ in range(MANY):
        put(client)
        owner.turn()
    late = [put(client) for _ in range(3)]
    owner.turn()
    put(client)
    owner.turn()
    assert written(owner.log)[before:] == [1] * MANY, "no more are in flight than may be"
    owner.ledger.pump()
    assert written(owner.log)[before:] == [*([1] * MANY), 4], "the next one has all that waited"
    assert client.answer(late[0]) is None
    owner.ledger.pump()
    assert all(client.answer(each) for each in late)


def test_a_question_waits_for_what_it_saw() -> None:
    client = held()
    owner = owner_of(client)
    put(client)
    other = owner.connect()
    asked = other.send(c.AskStatus("Q"))
    owner.turn()
    assert other.answer(asked) is None
    owner.ledger.pump()
    assert other.answer(asked) is not None


def test_a_question_that_saw_nothing_new_waits_for_nothing() -> None:
    client = held()
    owner = owner_of(client)
    before = len(written(owner.log))
    asked = client.send(c.AskStatus("Q"))
    owner.turn()
    assert client.answer(asked) is not None
    assert len(written(owner.log)) == before


def test_a_message_is_shown_when_its_put_is_durable() -> None:
    client = held()
    owner = owner_of(client)
    unit = client.begin_held()
    put(client)
    owner.turn()
    got = client.send(c.Get(1, unit))
    owner.turn()
    assert bodies(client, got) is None
    owner.ledger.pump()
    assert bodies(client, got) == [b"a"]


def test_a_returned_message_is_shown_when_its_count_is_durable() -> None:
    client = held()
    owner = owner_of(client)
    first, second = client.begin_held(), client.begin_held()
    put(client)
    owner.settle()
    client.send(c.Get(1, first))
    client.send(c.Backout(first))
    owner.turn()
    got = client.send(c.Get(1, second))
    owner.turn()
    assert bodies(client, got) is None
    owner.ledger.pump()
    assert bodies(client, got) == [b"a"]


def test_work_in_a_unit_is_answered_at_once() -> None:
    client = held()
    owner = owner_of(client)
    unit = client.begin_held()
    request = put(client, unit=unit)
    owner.turn()
    assert isinstance(client.answer(request), PutDone)


def test_a_reply_for_an_old_entry_holds_no_later_one_up() -> None:
    """A get of an undurable message and a question parked together, and then nothing is written."""
    client = held()
    owner = owner_of(client)
    unit = client.begin_held()
    put(client)
    owner.turn()
    put(client)
    owner.turn()
    asked = client.send(c.AskStatus("Q"))
    got = client.send(c.Get(1, unit))
    owner.turn()
    owner.ledger.pump()
    assert bodies(client, got) == [b"a"]
    owner.ledger.pump()
    assert client.answer(asked) is not None


def test_what_is_not_persistent_waits_for_no_entry_of_its_own() -> None:
    client = held()
    owner = owner_of(client)
    before = len(written(owner.log))
    request = put(client, persistence=0)
    got = client.send(c.Get(1))
    owner.turn()
    assert client.answer(request) is not None
    assert bodies(client, got) == [b"a"]
    assert len(written(owner.log)) == before


def test_what_is_not_persistent_waits_for_what_it_saw() -> None:
    client = held()
    owner = owner_of(client)
    put(client)
    request = put(client, persistence=0)
    owner.turn()
    assert client.answer(request) is None
    owner.ledger.pump()
    assert client.answer(request) is not None


@pytest.mark.parametrize("what", ["open", "resume", "unknown", "outcome"])
def test_some_answers_take_an_entry_made_after_the_request(what: str) -> None:
    """A deposed owner, whose entries count for nobody, cannot give them."""
    client = held()
    owner = owner_of(client)
    other = owner.connect()
    commands: dict[str, c.Command] = {
        "open": c.SessionOpen(client.session),
        "resume": c.SessionResume(client.session, [], client.issued),
        "unknown": c.SessionResume(b"?" * 16, [], 0),
        "outcome": c.AskOutcome(bytes(24)),
    }
    before = len(written(owner.log))
    asked = other.send(commands[what])
    owner.turn()
    assert other.answer(asked) is None
    assert written(owner.log)[before:] == [0]
    owner.ledger.pump()
    assert other.answer(asked) is not None


def test_a_deposed_owner_answers_nothing_more() -> None:
    client = held()
    owner = owner_of(client)
    before = len(owner.answers)
    owner.log.arm("rival owner")
    request = client.send(c.AskOutcome(bytes(24)))
    owner.turn()
    owner.ledger.pump()
    assert client.answer(request) is None
    assert len(owner.doubts) == 1
    put(client)
    owner.turn()
    assert len(owner.answers) == before


def test_a_heartbeat_is_an_empty_entry_of_an_idle_owner() -> None:
    client = held()
    owner = owner_of(client)
    before = len(written(owner.log))
    owner.loop.heartbeat()
    owner.turn()
    assert written(owner.log)[before:] == [0]
    put(client)
    owner.loop.heartbeat()
    owner.turn()
    assert written(owner.log)[before:] == [0, 1], "an entry on its way is sign enough"
    assert not owner.loop.idle
    owner.ledger.pump()
    assert owner.loop.idle


@pytest.mark.parametrize("seed", range(examples(30)))
def test_an_owner_that_serves_is_never_silent_from_one_heartbeat_to_the_next(seed: int) -> None:
    """Another would take the queue manager over. A beat may meet any moment of a turn."""
    chance = random.Random(seed)
    client = held()
    owner = owner_of(client)
    for _ in range(30):
        before = len(written(owner.log))
        for _ in range(chance.randrange(4)):
            put(client, persistence=chance.choice([0, 0, 0, 1]))
            if chance.random() < 0.3:
                owner.turn()
        owner.loop.heartbeat()
        for _ in range(chance.randrange(3)):
            put(client, persistence=0)
        owner.turn()
        assert len(written(owner.log)) > before
        while not owner.loop.idle:
            owner.ledger.pump()
            owner.turn()


def test_what_is_not_written_is_forgotten_when_it_is_gone() -> None:
    """Between two heartbeats there may be any number of messages that are not persistent."""
    client = held()
    owner = owner_of(client)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(20):
            put(client, "x" * 100_000, persistence=0)
            owner.turn()
            got = client.send(c.Get(1))
            owner.turn()
            assert bodies(client, got) is not None
            owner.acknowledge(client.number, [client.issued])
            owner.answers.clear()
            owner.sent.clear()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 500_000


def test_entries_are_closed_when_they_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner_loop, "ENTRY_BYTES", 2_000)
    client = held()
    owner = owner_of(client)
    before = len(written(owner.log))
    requests = [put(client, "x" * 500) for _ in range(4)]
    owner.turn()
    assert written(owner.log)[before:] == [2, 2]
    owner.ledger.pump()
    assert all(client.answer(each) for each in requests)


def test_no_entry_passes_what_the_ledger_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "ENTRY_BYTES_MAX", 3_000)
    client = held()
    owner = owner_of(client)
    before = len(written(owner.log))
    unit = client.begin_held()
    put(client, "a")
    for _ in range(3):
        put(client, "x" * 200, unit=unit)
    commit = client.send(c.Commit(unit))
    owner.turn()
    assert written(owner.log)[before:] == [1, 1]
    owner.ledger.pump()
    assert client.answer(commit) is not None


def test_a_step_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit that arrives, and the note that it did: a ledger with one of them would double it."""
    client = held()
    owner = owner_of(client)
    monkeypatch.setattr(entries, "ENTRY_BYTES_MAX", 3_000)
    before = len(written(owner.log))
    put(client)
    message = MessageData(body=b"x" * 1_500, transmission=Transmission("Q"))
    unit = ArrivedUnit("t", "id", 1, Origin("o"), [Arrival(message, 0, 1)])
    owner.loop.take(Arrived(unit))
    owner.turn()
    owner.ledger.pump()
    assert written(owner.log)[before:] == [1, 2]


def test_what_goes_to_a_later_entry_is_shown_with_that_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry was closed between a command's decision and its record."""
    monkeypatch.setattr(entries, "ENTRY_BYTES_MAX", 3_000)
    client = held()
    owner = owner_of(client)
    reading, unit = client.begin_held(), client.begin_held()
    put(client, "first")
    for _ in range(3):
        put(client, "x" * 200, unit=unit)
    client.send(c.Commit(unit))
    owner.log.arm("lost before durable", at=2)
    owner.turn()
    got = client.send(c.Get(1, reading, limit=10))
    owner.turn()
    owner.ledger.pump()
    assert owner.doubts, "the second entry was lost"
    assert bodies(client, got) is None, "a message was shown that was never put"


def test_a_waiting_get_is_answered_with_the_put_that_serves_it() -> None:
    client = held()
    owner = owner_of(client)
    other = owner.connect()
    owner.held = False
    other.open()
    waiting = other.send(c.Get(1, wait_ms=-1))
    owner.held = True
    request = put(client)
    owner.turn()
    assert (client.answer(request), bodies(other, waiting)) == (None, None)
    owner.ledger.pump()
    assert bodies(other, waiting) == [b"a"]


def test_replies_go_out_in_one_piece_for_each_connection() -> None:
    client = held()
    owner = owner_of(client)
    owner.sent.clear()
    for _ in range(3):
        put(client)
    owner.turn()
    owner.ledger.pump()
    assert [(connection, len(replies)) for connection, replies in owner.sent] == [
        (client.number, 3)
    ]


def test_a_session_that_moved_closes_its_old_connection() -> None:
    client = held()
    owner = owner_of(client)
    request = put(client)
    owner.held = False
    back = owner.connect()
    back.resume(client.session, [client.issued], client.issued)
    assert list(owner.closed) == [client.number]
    back.open()
    again = back.send(c.Put(1, [MessageData(body=b"a")]), number=client.issued)
    assert isinstance(back.answer(again), PutDone)
    assert client.answer(request) in (None, back.answer(again))
    assert owner.queue().depth == 1


def late_inputs(client: Client, chance: random.Random) -> list[Callable[[], object]]:
    """What may still come when an owner has written its last entry: in any order, any of it."""
    owner = owner_of(client)
    loop, session = owner.loop, client.number
    needed = PageNeeded("Q", 0, 1, 1)
    given: list[inputs.Input] = [
        inputs.Tick(),
        inputs.Disconnected(session),
        inputs.Quiesced(),
        inputs.Copied(loop.entry_n),
        inputs.Audited([AuditNote("taken_over", "QM1", {})]),
        inputs.OutcomesSeen(session, [1]),
        inputs.Stopped(for_good=True),
        inputs.PageMissing(needed, 1),
    ]
    calls: list[Callable[[], object]] = [partial(loop.take, one) for one in given]
    calls += [loop.heartbeat, partial(loop.page, needed, 1, Page(0, [])), partial(put, client)]
    return chance.sample(calls, len(calls))


@pytest.mark.parametrize("seed", range(examples(20)))
def test_nothing_is_written_behind_the_last_entry(seed: int) -> None:
    """Else a standby would not see that the owner was stopped, and by whom."""
    chance = random.Random(seed)
    client = held()
    owner = owner_of(client)
    for _ in range(chance.randrange(1, 2 * MANY)):
        message = MessageData(body=b"x", persistence=1, expiry_ms=chance.choice([-1, 1_000]))
        client.send(c.Put(1, [message], b""))
        if chance.random() < 0.5:
            owner.turn()
    client.begin_held()
    owner.loop.take(inputs.Stopped(for_good=True))
    owner.now_ms += 5_000
    for call in late_inputs(client, chance):
        call()
        if chance.random() < 0.5:
            owner.turn()
        if chance.random() < 0.3:
            owner.ledger.pump()
    for _ in range(2 * MANY):
        owner.turn()
        owner.ledger.pump()
    assert owner.loop.idle
    sign = owner.ledger.last_record()
    assert sign is not None
    (stop,) = [one for one in entries.decode(sign.payload) if getattr(one, "kind", "") == STOPPED]
    assert entries.decode(sign.payload)[-1] == stop
    assert liveness.is_stopped_for_good(sign.payload)


def poisoned(monkeypatch: pytest.MonkeyPatch) -> tuple[Client, ByHand, c.Backout]:
    """Return a client with six messages in a unit, the backout of which moves them: more than an
    entry takes.
    """
    client = ByHand().connect()
    move = {"backout_action": "MOVE", "backout_threshold": 1, "backout_requeue_queue": "ASIDE"}
    client.do(c.DefineQueue("Q", move))
    client.define("ASIDE")
    client.open()
    for _ in range(6):
        client.put("x" * 400)
    unit = client.begin()
    client.take(unit, limit=6)
    monkeypatch.setattr(entries, "ENTRY_BYTES_MAX", 3_000)
    monkeypatch.setattr(owner_loop, "STEP_BYTES_MAX", 3_000)
    monkeypatch.setattr(step_room, "BYTES_PER_STEP", 1_000)
    monkeypatch.setattr(port, "PAYLOAD_BYTES_MAX", 4_000)
    return client, owner_of(client), c.Backout(unit)


def test_a_step_that_no_entry_takes_is_several_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each holds whole decisions; none is more than the ledger takes."""
    client, owner, command = poisoned(monkeypatch)
    before = len(written(owner.log))
    request = client.send(command)
    assert isinstance(client.answer(request), Done)
    assert len(written(owner.log)) - before > 2
    assert (owner.queue("Q").depth, owner.queue("ASIDE").depth) == (0, 6)
    owner.crash()
    assert (owner.queue("Q").depth, owner.queue("ASIDE").depth) == (0, 6)


def test_what_a_step_of_several_entries_lost_is_moved_after_the_crash(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client, owner, command = poisoned(monkeypatch)
    owner.log.arm("lost before durable", at=2)
    request = client.send(command)
    assert owner.doubts, "the second entry was lost"
    assert client.answer(request) is None
    owner.crash()
    owner.advance(0.0)
    assert (owner.queue("Q").depth, owner.queue("ASIDE").depth) == (0, 6)
