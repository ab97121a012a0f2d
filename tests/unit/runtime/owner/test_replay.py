"""Replay, and what is carried over a doubt: non-persistent messages, outcomes told to nobody."""

import time
from functools import partial

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract import records as r
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Messages, PutDone, Refused, Resumed, UnitOutcome
from adapter.runtime.owner import replay
from adapter.runtime.owner.paging import PageTimings
from adapter.runtime.owner.replay import LedgerUnreadableError, Replay, Replayed, take_over
from adapter.runtime.owner.storage import CopyStatus, Storage
from adapter.storage.format import entries
from adapter.storage.ledger.memory import MemoryLedger, MemoryLedgerReader, MemoryLog
from adapter.storage.ledger.port import Known, LedgerMismatch, LedgerUnavailable, Position
from adapter.storage.ledger.seals import NO_KEYS, SealKeys, keys_of
from adapter.storage.ledger.snapshots import MemorySnapshots, Snapshot
from adapter.storage.topics.port import MessageMissingError, Page
from tests.support.by_hand import ByHand
from tests.support.core import Client, Core
from tests.unit.runtime.owner.test_housekeeping import NoPages


def client_by_hand(*names: str) -> Client:
    owner = ByHand()
    client = owner.connect()
    for handle, name in enumerate(names or ("Q",), 1):
        client.define(name)
        client.open(name, handle=handle)
    return client


def owner_of(client: Client) -> ByHand:
    assert isinstance(client.core, ByHand)
    return client.core


def doubt(client: Client, *, happened: bool = False) -> Client:
    """Let the next append be doubtful, recover, and come back on a new connection."""
    owner = owner_of(client)
    owner.held = False
    if not owner.doubts:
        owner.log.arm("lost after durable" if happened else "lost before durable")
        owner.loop.heartbeat()
        owner.settle()
    owner.recover()
    owner.answers.clear()
    back = owner.connect()
    back.session, back.issued = client.session, client.issued
    back.open()
    return back


def resume(back: Client, *unanswered: int) -> None:
    assert isinstance(back.resume(back.session, list(unanswered), back.issued), Resumed)


def test_replay_makes_the_same_queue_manager() -> None:
    client = client_by_hand("A", "B")
    client.put("a", priority=3)
    unit = client.begin()
    client.put("b", unit=unit, handle=2)
    client.get(unit)
    client.do(c.Commit(unit))
    owner = owner_of(client)
    owner.crash()
    assert {name: queue.depth for name, queue in owner.qm.queues.items()} == {"A": 0, "B": 1}
    assert owner.qm.sessions[client.session].issued == client.issued


def test_a_crash_takes_what_is_not_persistent() -> None:
    client = client_by_hand()
    client.put("hard")
    client.put("soft", persistence=0)
    owner_of(client).crash()
    assert client.core.queue().depth == 1


def test_a_doubt_leaves_what_is_not_persistent() -> None:
    client = client_by_hand()
    for body, persistence in (("a", 1), ("b", 0), ("c", 0), ("d", 1), ("e", 0)):
        client.put(body, persistence=persistence)
    back = doubt(client)
    assert [stored.message.body for stored in back.core.queue().in_order()] == [
        *(b"a", b"b", b"c", b"d", b"e")
    ]
    assert back.core.queue().depth == 5


def test_expiry_is_carried_over() -> None:
    client = client_by_hand()
    client.put("a", persistence=0, expiry_ms=1000)
    back = doubt(client)
    back.core.advance(1.0)
    assert back.core.queue().depth == 0


def test_a_unit_in_flight_is_backed_out_with_a_count() -> None:
    client = client_by_hand()
    client.put("soft", persistence=0)
    unit = client.begin()
    assert client.get(unit) == ["soft"]
    client.put("never", unit=unit, persistence=0)
    back = doubt(client)
    resume(back)
    assert back.refused(c.Commit(unit)) is Reason.BACKED_OUT
    (message,) = back.take()
    assert (message.message.body, message.backout_count) == (b"soft", 1)
    assert back.get() == []


def test_a_put_that_did_not_happen_is_not_carried_over() -> None:
    """It went with a persistent one in a unit whose entry was lost."""
    client = client_by_hand()
    client.put("before", persistence=0)
    unit = client.begin()
    client.put("soft", unit=unit, persistence=0)
    client.put("hard", unit=unit)
    owner = owner_of(client)
    owner.log.arm("lost before durable")
    owner.held = True
    client.send(c.Commit(unit))
    owner.turn()
    owner.ledger.pump()
    back = doubt(client)
    bodies = [stored.message.body for stored in owner.queue().in_order()]
    assert bodies == [b"before"]
    resume(back)
    assert back.refused(c.Commit(unit)) is Reason.BACKED_OUT


def test_which_units_were_committed_is_known_even_of_those_without_persistent_messages() -> None:
    client = client_by_hand()
    owner = owner_of(client)
    units = [client.begin() for _ in range(3)]
    client.put("soft", unit=units[0], persistence=0)
    client.do(c.Commit(units[0]))
    client.put("never", unit=units[1], persistence=0)
    client.put("never", unit=units[1])
    client.put("never", unit=units[2])
    owner.log.arm("lost before durable")
    owner.held = True
    client.send(c.Commit(units[1]))
    client.send(c.Commit(units[2]))
    owner.turn()
    owner.ledger.pump()
    back = doubt(client)
    resume(back)
    states = [back.do(c.AskOutcome(unit)) for unit in units]
    assert states == [UnitOutcome(state) for state in ("committed", "backed out", "backed out")]


@pytest.mark.parametrize("defined_again", [False, True])
def test_a_deletion_that_did_not_happen_loses_nothing(defined_again: bool) -> None:
    client = client_by_hand("Q", "T")
    client.put("soft", handle=2, persistence=0)
    client.do(c.Close(2))
    owner = owner_of(client)
    owner.log.arm("lost before durable")
    owner.held = True
    client.send(c.DeleteQueue("T", purge=True))
    if defined_again:
        client.send(c.DefineQueue("T"))
    owner.turn()
    owner.ledger.pump()
    doubt(client)
    assert [stored.message.body for stored in owner.queue("T").in_order()] == [b"soft"]


def test_a_put_that_happened_is_carried_over() -> None:
    client = client_by_hand()
    unit = client.begin()
    client.put("soft", unit=unit, persistence=0)
    client.put("hard", unit=unit)
    owner = owner_of(client)
    owner.log.arm("lost after durable")
    owner.held = True
    client.send(c.Commit(unit))
    owner.turn()
    owner.ledger.pump()
    back = doubt(client)
    assert [stored.message.body for stored in back.core.queue().in_order()] == [b"soft", b"hard"]


def test_a_get_that_did_not_happen_is_undone() -> None:
    client = client_by_hand()
    for body, persistence in (("a", 0), ("b", 1), ("c", 0)):
        client.put(body, persistence=persistence)
    unit = client.begin()
    assert client.get(unit, limit=3) == ["a", "b", "c"]
    owner = owner_of(client)
    owner.log.arm("lost before durable")
    owner.held = True
    client.send(c.Commit(unit))
    owner.turn()
    owner.ledger.pump()
    doubt(client)
    bodies = [stored.message.body for stored in owner.queue().in_order()]
    assert bodies == [b"a", b"b", b"c"]


def test_a_purge_that_did_not_happen_is_undone() -> None:
    client = client_by_hand()
    client.put("soft", persistence=0)
    client.put("hard")
    owner = owner_of(client)
    owner.log.arm("lost before durable")
    owner.held = True
    purge = client.send(c.PurgeQueue("Q"))
    owner.turn()
    owner.ledger.pump()
    assert client.answer(purge) is None
    doubt(client)
    assert [stored.message.body for stored in owner.queue().in_order()] == [b"soft", b"hard"]


def test_a_message_whose_neighbour_did_not_happen_keeps_its_order() -> None:
    """Its place names a seq that the ledger does not have: it moves up, and stays behind others."""
    client = client_by_hand()
    client.put("a")
    owner = owner_of(client)
    owner.log.arm("lost before durable")
    owner.held = True
    client.send(c.Put(1, [MessageData(body=b"lost")]))
    client.send(c.Put(1, [MessageData(body=b"x", persistence=0)]))
    client.send(c.Put(1, [MessageData(body=b"y", persistence=0)]))
    owner.turn()
    owner.ledger.pump()
    back = doubt(client)
    resume(back, 3, 4, 5)
    bodies = [stored.message.body for stored in owner.queue().in_order()]
    assert bodies == [b"a"], "all three were in the entry that was lost"
    assert isinstance(back.do(c.Put(1, [MessageData(body=b"lost")]), number=3), PutDone)


def test_soft_messages_behind_a_lost_put_move_up() -> None:
    client = client_by_hand()
    client.put("a")
    client.put("x", persistence=0)
    owner = owner_of(client)
    owner.held = True
    owner.log.arm("lost before durable")
    client.send(c.Put(1, [MessageData(body=b"lost")]))
    owner.turn()
    client.send(c.Put(1, [MessageData(body=b"y", persistence=0)]))
    owner.turn()
    owner.ledger.pump()
    doubt(client)
    stored = list(owner.queue().in_order())
    assert [each.message.body for each in stored][:2] == [b"a", b"x"]
    assert len({each.place for each in stored}) == len(stored)


def test_an_outcome_that_only_the_process_knows_is_kept() -> None:
    client = client_by_hand()
    done = client.do(c.Put(1, [MessageData(body=b"soft", persistence=0)]), number=2)
    back = doubt(client)
    resume(back, 2)
    assert back.do(c.Put(1, [MessageData(body=b"soft", persistence=0)]), number=2) == done
    assert back.core.queue().depth == 1


def test_an_outcome_that_did_not_happen_is_not_kept() -> None:
    client = client_by_hand()
    owner = owner_of(client)
    owner.log.arm("lost before durable")
    owner.held = True
    client.send(c.Put(1, [MessageData(body=b"a")]))
    owner.turn()
    owner.ledger.pump()
    back = doubt(client)
    resume(back, 2)
    assert back.core.queue().depth == 0
    assert isinstance(back.do(c.Put(1, [MessageData(body=b"a")]), number=2), PutDone)
    assert back.core.queue().depth == 1


@pytest.mark.parametrize("happened", [False, True])
def test_an_answer_built_on_what_did_not_happen_is_not_kept(happened: bool) -> None:
    """It was never given: the command is decided again, on what did happen."""
    client = client_by_hand()
    client.do(c.AlterQueue("Q", {"max_depth": 1}))
    owner = owner_of(client)
    owner.log.arm("lost after durable" if happened else "lost before durable")
    owner.held = True
    client.send(c.Put(1, [MessageData(body=b"fills it")]))
    full = client.send(c.Put(1, [MessageData(body=b"too many")]))
    owner.turn()
    owner.ledger.pump()
    assert client.answer(full) is None
    back = doubt(client)
    resume(back, 3, 4)
    answer = back.do(c.Put(1, [MessageData(body=b"too many")]), number=4)
    assert isinstance(answer, Refused if happened else PutDone), answer


def test_a_get_that_found_nothing_because_of_what_did_not_happen() -> None:
    client = client_by_hand()
    client.put("only")
    owner = owner_of(client)
    owner.log.arm("lost before durable")
    owner.held = True
    client.send(c.Get(1))
    client.send(c.Get(1))
    owner.turn()
    owner.ledger.pump()
    back = doubt(client)
    resume(back, 3, 4)
    answer = back.do(c.Get(1), number=4)
    assert isinstance(answer, Messages)
    assert [each.message.body for each in answer.messages] == [b"only"]


def test_a_queue_that_was_deleted_meanwhile_takes_its_messages_along() -> None:
    client = client_by_hand("A", "B")
    client.put("gone", persistence=0)
    client.put("stays", persistence=0, handle=2)
    client.do(c.Close(1))
    owner = owner_of(client)
    owner.log.arm("lost after durable")
    owner.held = True
    client.send(c.DeleteQueue("A", purge=True))
    owner.turn()
    owner.ledger.pump()
    owner.recover()
    assert {name: queue.depth for name, queue in owner.qm.queues.items()} == {"B": 1}


def test_an_entry_that_cannot_be_read_is_named() -> None:
    log = MemoryLog()
    ledger = MemoryLedger(log)
    ledger.take_over(b"1" * 16, "first", lambda entry: None)
    ledger.append(b"\x01 no entry")
    with pytest.raises(LedgerUnreadableError, match=r"of QM1 cannot be replayed: offset 1, .* n 1"):
        take_over("QM1", b"2" * 16, "second", MemoryLedger(log), None)


@pytest.mark.parametrize("number", range(3))
def test_an_entry_that_fits_no_state_is_named(number: int) -> None:
    """A record of what no release knows: another release wrote it, or this one has a bug."""

    unfit: list[r.Record] = [
        r.QueueAltered("Q", {"no_such": 1}),
        r.QueueDefined("R", 0, {"no_such": 1}),
        r.MessagesDiscarded([r.Taken("Q", 77, 7)], "purged"),
    ]
    with pytest.raises(LedgerUnreadableError, match="offset 2"):
        take_over("QM1", b"2" * 16, "second", ledger_with(unfit[number]), None)


@pytest.mark.parametrize(
    "record",
    [r.QueueDeleted("NONE"), r.MessagesDiscarded([r.Taken("Q", 0, 7)], "purged")],
    ids=lambda record: type(record).__name__,
)
def test_what_is_gone_already_need_not_go_again(record: r.Record) -> None:
    taken = take_over("QM1", b"2" * 16, "second", ledger_with(record), None)
    assert taken.qm.queues.keys() == {"Q"}


def ledger_with(record: r.Record) -> MemoryLedger:
    """A ledger with a queue, and then this record."""
    log = MemoryLog()
    ledger = MemoryLedger(log)
    ledger.take_over(b"1" * 16, "first", lambda entry: None)
    ledger.append(entries.encode([r.QueueDefined("Q", 0, {})]))
    ledger.append(entries.encode([record]))
    return MemoryLedger(log)


def test_what_a_browse_had_locked_did_not_come_back() -> None:
    client = client_by_hand()
    client.put("soft", persistence=0)
    assert client.browse(options=c.LOCK) == ["soft"]
    back = doubt(client)
    resume(back)
    (message,) = back.take()
    assert message.backout_count == 0


RIVAL = bytes(range(16))


class CountedSnapshots(MemorySnapshots):
    """Counts how often the newest one is read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def newest(self) -> Snapshot | None:
        self.reads += 1
        return super().newest()


def owned(entries_written: int = 3) -> MemoryLog:
    """A log of a rival."""
    log = MemoryLog()
    rival = MemoryLedger(log)
    rival.take_over(RIVAL, "a rival", lambda _entry: None)
    for _ in range(entries_written):
        rival.append(entries.encode([]))
    return log


def followed(log: MemoryLog, entries_read: int) -> Replay:
    """What a standby knows that has read so many entries."""
    replay = Replay("QM1", None, None)
    for entry in MemoryLedgerReader(log).read(0.0)[:entries_read]:
        replay.apply(entry)
    return replay


def copied(offset: int) -> Known:
    return Known(Position(offset, RIVAL, offset), f"was copied up to offset {offset}")


def succeed(
    log: MemoryLog, replay: Replay, *known: Known, snapshots: CountedSnapshots | None = None
) -> Replayed:
    storage = Storage(
        snapshots=snapshots or CountedSnapshots(),
        known=lambda: list(known),
        pages=NoPages(),
        copied=CopyStatus,
    )
    ledger, who = MemoryLedger(log), "a standby"
    how = partial(take_over, "QM1", bytes(16), who, ledger, None, storage, check=True)
    return how(instead_of=RIVAL, followed=replay)


@pytest.mark.parametrize("entries_read", [1, 3])
def test_a_standby_goes_on_where_it_has_read_to(entries_read: int) -> None:
    log, snapshots = owned(), CountedSnapshots()
    replayed = succeed(log, followed(log, entries_read), copied(3), snapshots=snapshots)
    assert (replayed.taken.entries, snapshots.reads) == (3 - entries_read, 0)


def test_a_standby_takes_no_ledger_over_that_has_lost_what_it_had_not_read() -> None:
    """Movers are ahead of it, and what they have copied is not in the ledger any more."""
    log = owned()
    end = log.end
    with pytest.raises(LedgerMismatch, match="was copied up to offset 4: entries that Kafka had"):
        succeed(log, followed(log, 2), copied(4))
    assert log.end == end, "something was written"


def test_a_standby_takes_no_ledger_over_that_has_lost_what_it_has_read() -> None:
    replay, shorter = followed(owned(3), 3), owned(1)
    end = shorter.end
    with pytest.raises(LedgerMismatch, match="was copied up to offset 3: entries that Kafka had"):
        succeed(shorter, replay, copied(3))
    assert shorter.end == end, "something was written"


class GonePages(NoPages):
    """Topics that have nothing of what is asked for. says: or they give what comes behind it."""

    def __init__(self, gives: Page | None) -> None:
        self.gives = gives

    def read(self, queue: str, incarnation: int, lane: int, seq: int, count: int) -> Page:
        if self.gives is not None:
            return self.gives
        raise MessageMissingError(f"{queue} {incarnation} {lane} {seq} {count}")


@pytest.mark.parametrize("gives", [None, Page(9, [])], ids=["missing", "nothing"])
def test_an_outcome_whose_message_is_gone_keeps_nothing_from_starting(
    gives: Page | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was got, and none but its client may ask again, which is refused."""
    monkeypatch.setattr(replay, "PAGE_TIMINGS", PageTimings(missing_s=0.3))
    core = Core()
    client = core.connect()
    client.define("Q")
    client.open("Q")
    client.put("got")
    client.put("left")
    core.crash_with_snapshot()
    client = core.connect()
    client.open("Q")
    assert client.get() == ["got"]
    log = MemoryLog()
    rival = MemoryLedger(log)
    rival.take_over(RIVAL, "a rival", lambda _entry: None)
    for payload in core.entries:
        rival.append(payload)
    storage = Storage(snapshots=MemorySnapshots(), pages=GonePages(gives), copied=CopyStatus)
    began_s = time.monotonic()
    replayed = take_over("QM1", bytes(16), "a start", MemoryLedger(log), None, storage)
    assert time.monotonic() - began_s < 5
    session = replayed.qm.sessions[client.session]
    (refused,) = [one for one in session.outcomes.values() if isinstance(one, Refused)]
    assert (refused.reason, refused.name) == (Reason.OBJECT_DAMAGED, "Q")
    assert not replayed.qm.absent
    assert replayed.qm.queues["Q"].depth == 1


class BusyMovers:
    """A live owner whose movers have copied more each time that they are asked."""

    def __init__(self, keys: SealKeys, trims: bool = False) -> None:
        self.log = MemoryLog()
        self.ledger = MemoryLedger(self.log, keys=keys)
        self.ledger.take_over(RIVAL, "a live owner", lambda _entry: None)
        self.snapshots = CountedSnapshots()
        self.trims = trims
        self.asked = 0

    def known(self) -> list[Known]:
        self.asked += 1
        self.ledger.append(entries.encode([]))
        at = self.ledger.durable()
        if self.trims and self.asked == 1:  # between this answer and the look at the ledger
            self.ledger.append(entries.encode([]))
            behind = self.ledger.durable()
            self.snapshots.write(Snapshot(behind, behind.n, [entries.encode([])]))
            self.ledger.trim(behind.offset)
        return [Known(at, f"was copied up to offset {at.offset}")]

    def taken_over(self, ledger: MemoryLedger) -> Replayed:
        storage = Storage(
            snapshots=self.snapshots, known=self.known, pages=NoPages(), copied=CopyStatus
        )
        return take_over("QM1", bytes(16), "next", ledger, None, storage, check=True)


def test_a_ledger_that_cannot_be_read_is_not_tried_again_because_others_copy_from_it() -> None:
    live = BusyMovers(keys_of([b"a" * 32]))
    with pytest.raises(LedgerMismatch, match="the ledger is sealed with key"):
        live.taken_over(MemoryLedger(live.log, keys=keys_of([b"b" * 32])))
    assert live.asked == 1


def test_a_take_over_that_was_given_up_is_not_tried_again() -> None:
    live = BusyMovers(NO_KEYS)
    ledger = MemoryLedger(live.log)
    ledger.give_up()
    with pytest.raises(LedgerUnavailable, match="given up"):
        live.taken_over(ledger)
    assert live.asked == 1


def test_a_ledger_that_was_trimmed_meanwhile_is_taken_over_from_what_is_known_then() -> None:
    live = BusyMovers(NO_KEYS, trims=True)
    assert live.taken_over(MemoryLedger(live.log)).taken.last_owner == RIVAL
    assert live.asked == 2


def test_a_take_over_has_few_rounds() -> None:
    """Here each snapshot that is read is another one, and something else is wrong."""
    live = BusyMovers(keys_of([b"a" * 32]))
    at = live.ledger.durable()

    class New(CountedSnapshots):
        def newest(self) -> Snapshot | None:
            self.write(Snapshot(at, self.reads, [entries.encode([])]))
            return super().newest()

    live.snapshots = New()
    with pytest.raises(LedgerMismatch):
        live.taken_over(MemoryLedger(live.log, keys=keys_of([b"b" * 32])))
    assert live.asked == replay.ROUNDS_MAX
