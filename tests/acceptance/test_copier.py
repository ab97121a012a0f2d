"""Programs copy messages from queue to queue in units while everything around them is killed.

Every number is on the target once, in order, whatever was unanswered when the queue manager died;
the copiers' doubts are resolved by asking for the outcomes of units by their ids.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import groupby, islice
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest
from msgspec import Struct

import adapter
from adapter.core.model.session import UNIT_RANGES_MAX
from adapter.core.rules.primitives.decision import SESSION_ID_LENGTH
from adapter.host import launch
from adapter.storage.format import names
from mqk_demo.proxy import Proxy
from tests.acceptance import journal as journals
from tests.acceptance.copier import SOURCE, TARGET, UNIT_MESSAGES_MAX
from tests.acceptance.journal import Journal
from tests.support.commit_trap import CommitTrap, Unanswered, Where
from tests.support.queue_topic import Copy, read_until
from tests.support.server_process import HOST, ServerProcess
from tests.support.shared_kafka import AnyKafka

COPIERS = 3
KILLS = 5
MARKER = b"the end"
PUT_UNIT = 25
END_S = 60.0
COMMITS_BETWEEN = 25


class Kill(Struct, frozen=True):
    """One SIGKILL of the queue manager. where: which way of a commit was held at that moment."""

    where: Where
    time_s: float
    unanswered: Unanswered


class Scene:
    """A queue manager on Kafka, a proxy before it, and copiers that know the proxy only."""

    def __init__(self, kafka: AnyKafka, name: str, folder: Path, ends: ExitStack) -> None:
        self.kafka = kafka
        self.name = name
        self.folder = folder
        self.trap = CommitTrap()
        self.server = ends.enter_context(ServerProcess(name, kafka.bootstrap_servers, folder))
        self.server.start()
        self.proxy = ends.enter_context(Proxy(HOST, self.server.port, tap=self.trap))
        self.trap.watch(self.proxy)
        self.qm = ends.enter_context(adapter.connect(self.server.address))
        self.kills: list[Kill] = []
        self._ends = ends
        self._copiers: dict[Path, launch.Child] = {}

    def start_copier(self, seed: int, *options: str) -> None:
        journal = self.folder / f"copier-{seed}.log"
        command = [sys.executable, "-m", "tests.acceptance.copier"]
        told = ["--address", self.proxy.address, "--seed", str(seed), *options]
        copier = launch.start([*command, *told], output=journal)
        self._ends.callback(copier.kill)
        self._copiers[journal] = copier

    def kill(self, where: Where) -> None:
        """Kill the queue manager at a moment when a commit is on its way, and start it again."""
        self.trap.catch(where)
        unanswered = self.trap.freeze()
        self.server.kill()
        self.kills.append(Kill(where, time.monotonic(), unanswered))
        self.proxy.cut()
        self.proxy.release()
        self.server.start()

    def cut(self) -> float:
        """Break every connection of the copiers; the queue manager lives on."""
        self.proxy.cut()
        return time.monotonic()

    def stop_copiers(self) -> Journal:
        """Let the copiers end when the source is empty; what they wrote.

        END_S bounds how long nothing comes: how long all takes depends on how much is left.
        """
        source = self.qm.queue(SOURCE)
        left, since_s = 0, time.monotonic()
        while (status := source.status()).current_depth or status.uncommitted:
            if status.current_depth != left:
                left, since_s = status.current_depth, time.monotonic()
            assert time.monotonic() - since_s < END_S, f"nothing came in {END_S} s: {status}"
            time.sleep(0.05)
        for journal, copier in self._copiers.items():
            assert copier.stop(END_S) == 0, journal.read_text()[-2000:]
        return journals.read(list(self._copiers))

    def put_markers(self) -> None:
        """End every lane of both queues with a message that nobody copies."""
        for queue in (SOURCE, TARGET):
            with self.qm.unit():
                for priority in range(10):
                    self.qm.put(queue, MARKER, priority=priority)

    def topic(self, queue: str) -> list[Copy]:
        topic = names.queue_topic(self.name, queue, 0)
        return read_until(self.kafka.bootstrap_servers, topic, MARKER)


@pytest.fixture
def scene(kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as ends:
        scene = Scene(kafka, unique_name("COPY"), tmp_path, ends)
        scene.qm.define_queue(SOURCE)
        scene.qm.define_queue(TARGET)
        yield scene


def numbered(count: int, seed: int) -> Iterator[adapter.Message]:
    """Messages 0, 1, ... with mixed priorities."""
    chance = random.Random(seed)
    for number in range(count):
        yield adapter.Message(b"%d" % number, priority=chance.randrange(10))


def lanes_of(copies: list[Copy]) -> dict[int, list[int]]:
    """The numbers of each lane, in the order in which they lie there."""
    return {
        lane: [int(copy.body) for copy in group]
        for lane, group in groupby(copies, key=lambda copy: copy.lane)
    }


def check_once_each(scene: Scene, count: int, seed: int) -> list[Copy]:
    """Both topics hold every number once, under its priority, densely numbered; the target's."""
    scene.put_markers()
    priority = {int(m.body): m.priority for m in numbered(count, seed)}
    source, target = scene.topic(SOURCE), scene.topic(TARGET)
    for copies in (source, target):
        assert Counter(int(copy.body) for copy in copies) == Counter(range(count))
        for copy in copies:
            told = copy.descriptor
            assert copy.lane == told["priority"] == priority[int(copy.body)]
            assert copy.time_ms == told["put_time_ms"]
        for _, lane in groupby(copies, key=lambda copy: copy.lane):
            seqs = [copy.descriptor["seq"] for copy in lane]
            assert seqs == list(range(1, len(seqs) + 1))
    assert all(numbers == sorted(numbers) for numbers in lanes_of(source).values())
    return target


def check_units(scene: Scene, journal: Journal, target: list[Copy]) -> None:
    """What the copiers were told of each unit is what happened to it."""
    size_of = Counter(unit_of(copy) for copy in target)
    committed = journal.ids("committed")
    with_messages = {ident for ident in committed if journal.units[ident].counts}
    assert set(size_of) == with_messages
    for copy in target:
        story = journal.units[unit_of(copy)]
        assert copy.descriptor["unit_size"] == size_of[unit_of(copy)]
        assert int(copy.body) in story.counts
    assert not journal.ids("", "in flight", "unknown"), "a copier never learnt what became of it"
    for ident in remembered(journal):
        story = journal.units[ident]
        outcome = "committed" if ident in committed else "backed out"
        assert scene.qm.outcome(bytes.fromhex(ident)) == outcome, story


def remembered(journal: Journal) -> Iterator[str]:
    """The units whose outcome is to be known: so many newest ones of each session.

    What did nothing is not remembered through a restart.
    """
    of_session: dict[str, list[str]] = {}
    for ident, story in journal.units.items():
        if story.counts:
            of_session.setdefault(ident[: 2 * SESSION_ID_LENGTH], []).append(ident)
    for idents in of_session.values():
        yield from idents[-UNIT_RANGES_MAX:]


def check_kills(scene: Scene, journal: Journal) -> None:
    """Commits were unanswered at the kills: held replies were committed, held requests not."""
    assert len(scene.kills) == KILLS
    assert sum(bool(kill.unanswered.units) for kill in scene.kills) >= 3
    committed = journal.ids("committed")
    for kill in scene.kills:
        done = {unit.hex() for unit in kill.unanswered.done}
        held = {unit.hex() for unit in kill.unanswered.units} & set(journal.units)
        assert done <= committed
        assert bool(done) == (kill.where == "reply")
        assert held, "no copier waited for the answer to a commit"
        if kill.where == "request":
            assert held - committed, "the commit that was held reached the queue manager"


def check_backout_counts(scene: Scene, journal: Journal, cut_s: float, in_flight: int) -> None:
    """Own backouts are counted for ever, kills never; the cut counted what was in flight then."""
    kills_s = [kill.time_s for kill in scene.kills]
    counted, uncertain = journals.backouts(journal, kills_s)
    assert len(uncertain) <= in_flight * KILLS
    lost_at_cut = {
        number
        for story in journal.units.values()
        if story.end == "lost" and story.spans(cut_s) and not any(map(story.spans, kills_s))
        for number in story.counts
    }
    rose_otherwise = set()
    for ident in journal.ids("committed"):
        for number, count in journal.units[ident].counts.items():
            extra = count - counted[number]
            if number in uncertain:
                continue
            assert extra in (0, 1), f"{number} was backed out {counted[number]} times, not {count}"
            if extra:
                rose_otherwise.add(number)
    assert lost_at_cut - uncertain <= rose_otherwise, "a lost connection did not count"
    assert len(rose_otherwise) <= in_flight, "a kill of the queue manager counted"


def test_one_copier_keeps_the_order_through_five_kills(scene: Scene) -> None:
    seed, count = 7, 1200
    print(f"seed {seed}")
    assert scene.qm.queue(SOURCE).put_many(numbered(count, seed), unit_size=PUT_UNIT) == count
    scene.start_copier(seed, "--impatient")
    cut_s = 0.0
    for number, where in enumerate(chosen(seed)):
        scene.trap.await_commits(COMMITS_BETWEEN)
        scene.kill(where)
        scene.trap.await_commits(COMMITS_BETWEEN)
        if number == KILLS // 2:
            cut_s = scene.cut()

    journal = scene.stop_copiers()

    target = check_once_each(scene, count, seed)
    for lane, numbers in lanes_of(target).items():
        assert numbers == sorted(numbers), f"lane {lane} is out of order"
    check_units(scene, journal, target)
    check_kills(scene, journal)
    check_backout_counts(scene, journal, cut_s, UNIT_MESSAGES_MAX)
    print(f"in doubt: {journal.in_doubt}, broken: {journal.broken}")
    # Its time to connect again is over at each kill, and every doubt is resolved by asking.
    at_kills = {unit.hex() for kill in scene.kills for unit in kill.unanswered.units}
    assert at_kills <= set(journal.in_doubt)
    assert len(at_kills) == KILLS
    assert set(journal.in_doubt.values()) == {"committed", "backed out"}


def test_three_copiers_through_five_kills_of_the_queue_manager_and_one_of_its_movers(
    scene: Scene,
) -> None:
    """While they copy, another program fills the source in portions, across the same kills."""
    seed, count = 11, 1800
    print(f"seed {seed}")
    feeder = Feeder(scene, count, seed)
    scene.start_copier(seed)
    scene.start_copier(seed + 1, "--impatient")
    scene.start_copier(seed + 2, "--impatient", "--style", "loop")
    cut_s = 0.0
    with feeder:
        for number, where in enumerate(chosen(seed)):
            feeder.go_on()
            scene.trap.await_commits(COMMITS_BETWEEN)
            scene.kill(where)
            scene.trap.await_commits(COMMITS_BETWEEN)
            if number == 1:
                os.kill(scene.server.movers_pid(), signal.SIGKILL)
            if number == KILLS // 2:
                cut_s = scene.cut()
        feeder.go_on()
    assert feeder.put == count

    journal = scene.stop_copiers()

    target = check_once_each(scene, count, seed)
    check_units(scene, journal, target)
    check_order_in_units(journal, target)
    check_kills(scene, journal)
    check_backout_counts(scene, journal, cut_s, COPIERS * UNIT_MESSAGES_MAX)
    print(f"in doubt: {journal.in_doubt}, broken: {journal.broken}, resent: {journal.resent}")
    assert journal.ended == COPIERS
    assert journal.in_doubt, "nobody was in doubt"
    assert journal.resent, "the patient one never asked again"


class Feeder:
    """Fills the source in portions, one for each kill and one more, on a connection of its own."""

    def __init__(self, scene: Scene, count: int, seed: int) -> None:
        self.put = 0
        self._messages = numbered(count, seed)
        self._portion = count // (KILLS + 1)
        self._address = scene.server.address
        self._may_go_on = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._thread.join(END_S)

    def go_on(self) -> None:
        """Put the next portion."""
        self._may_go_on.release()

    def _run(self) -> None:
        with adapter.connect(self._address) as qm:
            source = qm.queue(SOURCE)
            for _ in range(KILLS + 1):
                self._may_go_on.acquire()
                portion = islice(self._messages, self._portion)
                self.put += source.put_many(portion, unit_size=PUT_UNIT)


def chosen(seed: int) -> list[Where]:
    """Which way of a commit is held at each kill: two or three times each."""
    both: list[Where] = ["request", "reply"]
    return random.Random(seed).sample(both * 3, KILLS)


def check_order_in_units(journal: Journal, target: list[Copy]) -> None:
    """What one unit put lies together in each lane, in the order in which it was got.

    That is the order of the source, but for messages that another copier gave back meanwhile.
    """
    for lane, copies in groupby(target, key=lambda copy: copy.lane):
        units = [(ident, list(of)) for ident, of in groupby(copies, key=unit_of)]
        assert len({ident for ident, _ in units}) == len(units), f"lane {lane}: a unit is in two"
        for ident, unit in units:
            numbers = [int(copy.body) for copy in unit]
            counts = journal.units[ident].counts
            assert numbers == [number for number in counts if number in numbers]
            first_time = [number for number in numbers if not counts[number]]
            assert first_time == sorted(first_time), f"lane {lane}: {numbers}"


def unit_of(copy: Copy) -> str:
    """The unit that put it."""
    return str(copy.descriptor["unit"].hex())
