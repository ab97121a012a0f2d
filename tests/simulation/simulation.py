"""A queue manager and its mover in one thread, on a ledger and topics in memory, under faults.

The production core, owner's loop, memory ledger and stream mover run here; time, chance and Kafka
are the simulation's. A seed says everything that happens: the same seed gives the same run.

The mover is what runs: whenever it waits for entries, programs go on working. So a mover may be
killed in the middle of a transaction, and a rival may take over, while the owner lives; and the
owner may crash while the mover lives.
"""

from __future__ import annotations

import contextlib
import itertools
import random
from collections import Counter
from unittest import mock

from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import Delivered
from adapter.core.contract.records import Record
from adapter.core.contract.results import Messages, Refused, Result, Resumed
from adapter.runtime.owner import housekeeping, replay, retention, retries, snapshots
from adapter.runtime.owner.storage import FOREVER, HousekeepingBounds, Storage
from adapter.storage.format import chunks, names
from adapter.storage.ledger import envelope
from adapter.storage.ledger.memory import FAULTS as APPEND_FAULTS
from adapter.storage.ledger.port import Entry, LedgerError, LedgerReader, Position
from adapter.storage.movers.errors import Fenced
from adapter.storage.movers.mover import Mover
from adapter.storage.movers.settings import KafkaCluster, MoverSettings
from adapter.storage.movers.stream import Stream
from adapter.storage.topics.specs import TopicSettings
from tests.simulation import transactions as t
from tests.simulation.auditor import Auditor
from tests.simulation.copies import Copies
from tests.simulation.faults import COMMIT_FAULTS, NO_ROOM, REFUSED, RIVAL, TOPIC_FAULTS
from tests.simulation.forger import Forger
from tests.simulation.operations import Op
from tests.simulation.programs import (
    HANDLES,
    MODES,
    ONE_WAY,
    PASSING,
    Program,
    Programs,
    Sent,
    again,
    is_numbered,
    told,
)
from tests.simulation.standbys import FROZEN, OwnerEnds
from tests.simulation.storage import (
    NAME,
    PART_BYTES,
    PATIENCES,
    Faults,
    Log,
    Owner,
    Pages,
    Snapshots,
    Trimmer,
    topic_of,
)
from tests.simulation.world import Listing
from tests.support.core import START_MS, Client

TOPICS = names.queue_topic(NAME, "")
IDLE_READS_MAX = STEPS_MAX = 20_000
"""Ten times what a run takes: a mover that only fails is found out."""
LONG_ENTRY_BYTES = 250
LONG_BODY_BYTES = 3
"""Where they are long, nearly every entry and body is several records."""
WINDOWS = (1, 3, 8, 30)
"""Messages of each lane in memory."""
KEPT_BYTES = 1_500
"""Of messages that a program has not said it has seen: three of them."""
SNAPSHOT_ENTRIES = (8, 25, 60)
RETENTIONS_MS = (0, 0, 5_000, 60_000, FOREVER)
TICKS_MAX = 200
OVER_MS = 200_000
"""After so long all that can expire is gone, wherever it was."""


def fits_not(_: replay.Replay, entry: Entry, record: Record, why: str) -> None:
    """A record that does not fit is let pass of what former releases wrote, and not of this one."""
    raise AssertionError(f"{type(record).__name__} at offset {entry.offset}: {why}")


class Reader:
    """What a mover reads: before it is given anything, the world goes on."""

    def __init__(self, simulation: Simulation, mover: Mover, position: Position | None) -> None:
        self._simulation = simulation
        self._mover = mover
        self._inner = simulation.owner.new_reader(position)
        self._entries: list[Entry] = []

    def read(self, _timeout_s: float) -> list[Entry]:
        """See LedgerReader."""
        simulation = self._simulation
        is_dry = simulation.meanwhile(self._mover)
        self._entries += self._inner.read(0.0)
        count = len(self._entries) if simulation.calm else simulation.rng.randint(0, 30)
        entries, self._entries = self._entries[:count], self._entries[count:]
        if is_dry and not entries and simulation.may_stop(self._mover):
            self._mover.stop()
        return entries

    def offset_and_end(self) -> tuple[int, int]:
        """See LedgerReader."""
        offset, end = self._inner.offset_and_end()
        return (self._entries[0].offset if self._entries else offset), end

    def close(self) -> None:
        """See LedgerReader."""


class Simulation(OwnerEnds):
    """Programs, an owner, a mover, what goes wrong, and an auditor."""

    def __init__(self, seed: int, *, loses_topics: bool | None = None) -> None:
        self._seed = seed
        self.rng = random.Random(seed)
        self.met: Counter[str] = Counter()
        self._faults = Faults(self.rng, self.met)
        self._is_long = seed % 4 in (1, 2)
        """Whether bodies and entries are longer than one record."""
        self.left = 0
        self.calm = False
        self.auditor = Auditor()
        self._spoils_topics = self.rng.random() < 0.3
        loses = self._spoils_topics and self.rng.random() < 0.5
        self._loses_topics = loses if loses_topics is None else loses_topics
        """Whether topics go: then all is in memory and in the ledger, for nobody else has it."""
        self.kafka = t.Kafka(self, lambda: self.owner.log.end)
        self._mover: Mover | None = None
        self._undecided: dict[tuple[int, int], tuple[Program, Op]] = {}
        """By connection and request, what waits for a page, or for what waits for one."""
        self._shown: dict[tuple[str, int, int, int], bytes] = {}
        """Which message was shown at which place."""
        self._gone_unheard: list[tuple[str, str]] | None = None
        """While nobody may be told what is discarded: that."""
        self._bodies: dict[tuple[str, int, int, int], str] = {}
        """By queue, incarnation, lane and seq, what was put there last."""
        self._retention_ms = self.rng.choice(RETENTIONS_MS)
        self.owner = self._make_owner()
        self.programs = Programs(self.rng, seed)
        self._life = t.Life()
        self._nested = False
        self._idle_reads = self._steps = 0
        self._spoilt = False
        self._broken: BaseException | None = None
        self.owner.kept.bounds.patience = self.rng.choice(PATIENCES)
        self._rates = self.rng.choice([(0.004, 0.007), (0.001, 0.013), (0.008, 0.003)])
        self._copies = Copies(TOPICS)
        self._gone: set[tuple[str, int]] = set()
        self._owner_ids = itertools.count(1)
        cluster, topics = KafkaCluster("nowhere:9"), TopicSettings.for_brokers(1)
        self._settings = MoverSettings(
            queue_manager=NAME, source=cluster, destination=cluster, topics=topics, interval_ms=0
        )
        self._by_connection: dict[int, Program] = {}
        self.people = [self._program(name) for name in ("ada", "bob", "cem")]
        for queue in self.programs.standing:
            self._send(self.people[0], self.programs.define(self.people[0], queue, self.now_ms))
        for program in self.people:
            self._open_all(program)
        self.owner.held = True
        self._begin_standbys()

    def _make_owner(self) -> Owner:
        log = Log(lambda: self.now_ms, self.met, self._faults, Forger(self._seed, self.met))
        entries = self.rng.choice(SNAPSHOT_ENTRIES)
        storage = Storage(
            snapshots=Snapshots(self._faults),
            pages=Pages(self.kafka, self.rng),
            copied=self._copied,
            trimmer=Trimmer(self.kafka, self._faults, self._trimmed),
            retention_ms=FOREVER if self._loses_topics else self._retention_ms,
            snapshot_entries=1_000_000 if self._loses_topics else entries,
            bounds=HousekeepingBounds(last_copies_s=0.0),
        )
        most = 1_000 if self._loses_topics else self.rng.choice(WINDOWS)
        kept_bytes = KEPT_BYTES if self._seed % 2 else Limits().kept_bytes
        limits = Limits(window_messages=most, kept_bytes=kept_bytes)
        part_bytes = LONG_ENTRY_BYTES if self._is_long else envelope.PART_BYTES
        return Owner(limits, log, storage, part_bytes, log.forger)

    @property
    def _chunk_bytes(self) -> int:
        return LONG_BODY_BYTES if self._is_long else chunks.CHUNK_BYTES

    @property
    def now_ms(self) -> int:
        """The owner's time."""
        owner: Owner | None = getattr(self, "owner", None)
        return owner.now_ms if owner else START_MS

    # -- the run

    def run(self, operations: int) -> None:
        """Do so many operations, come to rest, and see that all is as it must be."""
        with self.installed():
            self.work(operations)
            self.come_to_rest()

    def installed(self) -> contextlib.AbstractContextManager[object]:
        """Let movers find the simulation's Kafka, and let housekeeping be silent."""
        stack = contextlib.ExitStack()
        stack.enter_context(self.kafka.installed(lambda: self._life))
        stack.enter_context(mock.patch.object(snapshots, "PART_BYTES", PART_BYTES))
        stack.enter_context(mock.patch.object(replay.Replay, "_note", fits_not))
        for module in (snapshots, retention, housekeeping, retries):
            stack.enter_context(mock.patch.object(module, "log", t.Silence()))
        return stack

    def work(self, operations: int) -> None:
        """Do so many operations."""
        self.left = operations
        while self.left > 0:
            self._mover_life()
            self._raise_what_broke()

    def _raise_what_broke(self) -> None:
        if self._broken is not None:
            raise self._broken

    def _mover_life(self) -> None:
        """Let a mover run until it is stopped, killed or fenced."""
        outer, self._life = self._life, t.Life()
        rivals = self.met[RIVAL]
        mover: Mover

        def reader(position: Position | None) -> LedgerReader:
            return Reader(self, mover, position)

        mover = Mover(self._settings, Stream(self._settings, self._chunk_bytes), reader)
        try:
            mover.run()
        except t.Killed:
            pass
        except Fenced:
            assert self._nested or self.met[RIVAL] > rivals, "fenced, and there was no rival"
        finally:
            self._life = outer

    def meanwhile(self, mover: Mover) -> bool:
        """Let programs work while a mover waits; whether it is to stop when nothing is left."""
        if self._broken is not None or self.calm:
            return True
        self._mover = mover
        for _ in range(self.rng.randint(1, 40)):
            if self.left <= 0:
                return True
            try:
                self._operate()
            except LedgerError as error:  # which the mover would take for its own reader's
                self._broken = AssertionError(f"the owner does not come back: {error}")
                return True
        if self.rng.random() < 0.5:
            self._look_at_topics()
        if self._spoils_topics:
            self._spoil_topic()
        if self.rng.random() < (0.3 if self._nested else 0.02):
            mover.stop()
        return False

    def may_stop(self, mover: Mover) -> bool:
        """Whether a mover has nothing left to do: not while it has something to catch up with."""
        self._idle_reads += 1
        assert self._idle_reads < IDLE_READS_MAX, f"the mover does not come to rest: {mover.parked}"
        return not mover.parked or not self.calm

    def _operate(self) -> None:
        """One operation, then whatever follows it by chance."""
        self.left -= 1
        rng, owner = self.rng, self.owner
        crash, fault = self._rates
        roll = rng.random()
        if roll < crash:
            self._crash()
        elif roll < crash + 0.015:
            self._lose(rng.choice(self.people))
        elif roll < crash + 0.03:
            owner.now_ms += rng.choice([500, 3_000, 20_000])
        elif roll < crash + 0.045:
            self._tick()
        else:
            program = rng.choice(self.people)
            self._send(program, self.programs.next(program, self.now_ms))
        if rng.random() < fault:
            owner.log.arm(rng.choice(list(APPEND_FAULTS)[1:]), rng.randint(1, 2))
        roll = rng.random()
        if roll < 0.5:
            owner.turn()
        if roll < 0.35:
            owner.ledger.pump()
        elif roll > 0.97:
            owner.ledger.release()
        self._keep_house()
        self._let_standbys_follow()
        self._hear()

    def come_to_rest(self) -> None:
        """End all units and look at everything; crash, and look again: no less and no more."""
        self.calm = self._faults.still = True
        self.kafka.refusing.clear()
        self._settle()
        for program in self.people:
            for unit, ident in list(program.units.items()):
                op = Op(program.name, "commit", self.now_ms, unit=unit)
                self._send(program, Sent(op, c.Commit(ident)))
            program.units.clear()
        self._tick()
        self._check_at_rest()
        self._crash()
        self._check_at_rest()
        self.owner.now_ms += OVER_MS
        for _ in range(TICKS_MAX):  # a tick asks for a page of what has expired, and looks again
            self._tick()
            self._settle()
            due_ms = self.owner.next_tick_ms()
            if due_ms is None:
                break
            self.owner.now_ms = max(due_ms, self.now_ms)
        self.auditor.nothing_is_over(self.now_ms)

    def _check_at_rest(self) -> None:
        self._settle()
        self._mover_life()  # it may end transactions that hide a page for which a get waits
        self._raise_what_broke()
        self._settle()
        self._look_at_topics()
        absent = {at for at in self._gone if topic_of(*at) not in self.kafka.topics}
        assert not self._undecided, f"never decided: {list(self._undecided.values())}"
        self.auditor.at_rest(self._listing(), self.now_ms, absent)

    def _settle(self) -> None:
        """Let appends go well, and everything be answered."""
        self.owner.log.disarm()
        self.owner.ledger.release()
        self._page_to_the_end()
        self._hear()
        while any(program.heard for program in self.people):
            for program in self.people:
                self._say(program, list(program.heard))
            self._page_to_the_end()
            self._hear()

    # -- programs

    def _program(self, name: str) -> Program:
        client = self.owner.connect()
        client.open_session(self.owner.new_session_id())
        program = Program(name, client)
        self._by_connection[client.number] = program
        return program

    def _open_all(self, program: Program) -> None:
        for queue in self.programs.queues:
            if queue != PASSING or self.rng.random() < 0.3:
                self._send(program, self.programs.open(program, queue, self.now_ms))

    def _send(self, program: Program, sent: Sent) -> None:
        """Ask for an operation, under its number if it has one; the auditor hears of it."""
        op, client = sent.op, program.client
        if op.kind in ONE_WAY:
            self._send_one_way(program, sent)
            return
        if is_numbered(op):
            op.number = op.number or client.issued + 1
            program.unanswered[op.number] = sent
        request = client._requests + 1
        client.send(sent.command, op.number)
        at = client.number, request
        if self._waits(at):
            self._undecided[at] = program, op
            self.met[NO_ROOM] += op.kind == "get" and self._is_full(program)
            return
        self._comes_in_turn(at, op)
        program.asked[request] = op
        self._count_commit(program, op)
        self._done(op)

    def _hear(self) -> None:
        """Pass on what was answered; recover if the ledger is in doubt."""
        owner = self.owner
        if owner.sent:
            arrived, owner.sent = owner.sent, []
            owner.answers.clear()
            for connection, replies in arrived:
                program = self._by_connection.get(connection)
                for reply in replies if program else ():
                    assert program is not None
                    if reply.request in program.asked:
                        self._answered(program, reply.request, reply.result)
        if owner.doubts:
            assert FROZEN.decode() not in str(owner.doubts), "it deposed its successor"
            owner.recover()
            self._recovered(crashed=False)

    def _answered(self, program: Program, request: int, result: Result) -> None:
        op = program.asked.pop(request)
        self.auditor.answered(op.index, told(op, result))
        if isinstance(result, Messages):
            self._saw(op.queue, result.messages)
        if op.kind == "browse" and isinstance(result, Messages):
            program.places[op.queue] = [
                (one.message.body.decode(), (one.lane, one.seq, one.n)) for one in result.messages
            ]
        if op.number:
            program.heard.append(op.number)
            if self.rng.random() < 0.6:
                self._say_what_was_seen(program)

    def _lose(self, program: Program) -> None:
        """Lose one connection, or take its session over from another; the owner lives on."""
        is_lost = self.rng.random() < 0.5
        self.met["connection lost" if is_lost else "session taken over"] += 1
        lose = Op(program.name, "lose", self.now_ms)
        if is_lost:
            program.client.lose()
            self._done(lose)
        self._reconnect(program, None if is_lost else lose)

    def _reconnect(self, program: Program, lose: Op | None = None) -> None:
        """Come back on a new connection, and send what was not answered, or not seen, again."""
        old = program.client
        self.met["outcome asked again"] += len(program.heard)
        self._by_connection.pop(old.number, None)
        program.forget_connection()
        for at in [at for at in self._undecided if at[0] == old.number]:
            del self._undecided[at]
        program.heard.clear()
        program.client = client = self.owner.connect()
        self._by_connection[client.number] = program
        client.session, client.issued = old.session, old.issued
        unanswered = sorted(program.unanswered.items())
        numbers = [number for number, _ in unanswered]
        resumed = client.send(c.SessionResume(old.session, numbers, old.issued))
        if lose is not None:
            self._done(lose)
        self._open_all(program)
        for _, sent in unanswered:
            self._send(program, Sent(again(sent.op, self.now_ms), sent.command))
        assert client.answer(resumed) in (None, Resumed()), client.answer(resumed)

    # -- the owner's faults

    def _programs_now(self) -> list[Program]:
        return self.people

    def _recovered(self, crashed: bool) -> None:
        """After the owner went: see what is left, and ask again for what was not answered."""
        self.owner.sent.clear()
        self.owner.answers.clear()
        self._by_connection.clear()
        self._undecided.clear()
        self.owner.log.disarm()
        self._gone_unheard = gone = []
        self.owner.advance(0)
        listing = self._listing()
        gone += self._gone_by(self.owner.took())
        self._gone_unheard = None
        self.auditor.recovered(crashed, self.now_ms, listing, gone)
        for program in self.people:
            self._reconnect(program)

    def _listing(self) -> Listing:
        """What a browse of each queue shows, by a client of its own, once all is durable."""
        client = self.owner.connect()
        self.owner.log.disarm()
        found: Listing = {}
        for queue in self.programs.queues:
            client.send(c.Open(HANDLES[queue], queue, MODES))
            shown: list[Delivered] = []
            while (result := self._browsed(client, queue)).messages:
                shown += result.messages
            if queue in self.owner.qm.queues:
                found[queue] = [(one.message.body.decode(), one.backout_count) for one in shown]
        client.lose()
        return found

    def _browsed(self, client: Client, queue: str) -> Messages:
        """Browse on."""
        request = client.send(c.Browse(HANDLES[queue], limit=10_000))
        self._page_to_the_end()
        result = client.answer(request)
        if isinstance(result, Messages):
            self._saw(queue, result.messages)
            return result
        assert queue == PASSING, (queue, result)
        assert isinstance(result, Refused), result
        return Messages([])

    # -- the mover's faults

    def at_step(self, step: str) -> None:
        """See transactions.Trouble."""
        self._steps += 1
        if self._steps > STEPS_MAX:
            self._broken = self._broken or AssertionError("the mover does not come to rest")
            raise t.Killed
        if step and not self.calm and self.rng.random() < 0.006:
            self.met[f"mover crash {step}"] += 1
            raise t.Killed

    def at_commit(self) -> str:
        """See transactions.Trouble."""
        if self.calm or self.rng.random() > 0.12:
            return ""
        fault = self.rng.choice((*COMMIT_FAULTS, t.TWICE))  # which does harm more rarely
        if fault == RIVAL:
            if self._nested:
                return ""
            self._rival()
            fault = ""
        else:
            self.met[fault] += 1
        return fault

    def arrives(self) -> bool:
        """See transactions.Trouble."""
        return self.rng.random() < 0.06

    def _rival(self) -> None:
        """Another mover begins while this one is about to commit."""
        self.met[RIVAL] += 1
        self._nested = True
        try:
            self._mover_life()
        except BaseException as error:  # noqa: BLE001 -- the other mover would keep it
            self._broken = self._broken or error
        finally:
            self._nested = False

    def _spoil_topic(self) -> None:
        """Let a topic refuse what is written, or be deleted; let others be as they were."""
        rng, kafka = self.rng, self.kafka
        if kafka.refusing and rng.random() < 0.1:
            kafka.refusing.clear()
        if rng.random() > 0.25:
            return
        topics = {name: parts for name, parts in kafka.topics.items() if name.startswith(TOPICS)}
        coming = topic_of(PASSING, self.owner.qm.numbers.incarnations.get(PASSING, 0))
        new = [name for name, parts in topics.items() if not any(part.records for part in parts)]
        topic = rng.choice([*new, coming] if rng.random() < 0.7 else [*topics, coming])
        faults = TOPIC_FAULTS if self._loses_topics and topic in topics else (REFUSED,)
        self.spoil(topic, rng.choice(faults))

    def spoil(self, topic: str, fault: str) -> None:
        """Let a topic refuse, or be deleted."""
        kafka = self.kafka
        self.met[fault] += 1
        self._spoilt = True  # from here on units are whole only when all is caught up with
        if fault == REFUSED:
            kafka.refusing.add(topic)
            return
        self._look_at_topics()
        del kafka.topics[topic]
        _, queue, incarnation = names.parse_queue_topic(topic)
        self.auditor.gone(queue, incarnation)
        self._gone.add((queue, incarnation))
        self._copies.forget(topic)

    # -- what readers of the topics see

    def _look_at_topics(self) -> None:
        self.auditor.copied(self._copies.new(self.kafka))
        if self.kafka.is_settled() and not self._spoilt:
            self.auditor.units_are_whole()
