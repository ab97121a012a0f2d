"""A unit copier works while the queue manager and the brokers are killed, again and again.

Every number is on the target once, each lane is in order, every unit is what its copier was told.
Half of the kills meet a commit whose request is held, half one whose reply is; some of both meet
movers with a transaction open, which lives on, stopped, and comes to when others have taken over.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path

from confluent_kafka.admin import AdminClient
from msgspec import Struct

from adapter.localkafka import LocalKafka
from adapter.storage.format import names
from tests.acceptance.copier import SOURCE, TARGET
from tests.acceptance.journal import Journal
from tests.acceptance.test_copier import (
    Scene,
    check_once_each,
    check_units,
    lanes_of,
    numbered,
)
from tests.support.commit_trap import Where
from tests.support.ends import stop_in_transaction

MESSAGES_PER_KILL = 100
MESSAGES_MAX = 10_000_000
COMMITS_BETWEEN = 5
PUT_UNIT = 25
WHERE: tuple[Where, Where] = ("request", "reply")
ANSWER_S = 10.0


class Plan(Struct, frozen=True, kw_only=True):
    """How much of what.

    kills: of the queue manager. in_transaction: so many of them meet an open transaction of its
    movers.
    """

    brokers: int
    kills: int
    in_transaction: int
    broker_kills: int
    seed: int

    def meets_transaction(self, number: int) -> bool:
        """Whether a kill does; spread evenly, over both kinds of unanswered commits."""
        return _spread(number, self.in_transaction, self.kills)

    def kills_broker(self, number: int) -> bool:
        """Whether a broker is killed after a kill of the queue manager."""
        return _spread(number, self.broker_kills, self.kills)


class Counts(Struct):
    """What was done to them, and how long nobody was served."""

    requests_held: int = 0
    replies_held: int = 0
    in_transaction: int = 0
    leaders: int = 0
    followers: int = 0
    in_doubt: int = 0
    messages: int = 0
    owner_s: list[float] = []
    broker_s: list[float] = []

    def __str__(self) -> str:
        kills = len(self.owner_s) + len(self.broker_s)
        return (
            f"{self.messages:,} messages once and in order through {kills} kills of the queue "
            f"manager ({self.requests_held} with the request of a commit unanswered, "
            f"{self.replies_held} with its reply on the way, {self.in_transaction} inside an open "
            f"transaction of its movers) and {len(self.broker_s)} of brokers ({self.leaders} led "
            f"the ledger); {self.in_doubt} units were in doubt; back after {_times(self.owner_s)}, "
            f"with a broker killed too {_times(self.broker_s)}"
        )


def soak(kafka: LocalKafka, plan: Plan, tell: Callable[[str], None]) -> Counts:
    """Run once on a cluster and kill its brokers; raises AssertionError for whatever is off."""
    with ExitStack() as ends:
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))
        scene = Scene(kafka, f"SOAK{plan.brokers}", folder, ends)
        return Soak(kafka, scene, plan, tell).run()


class Soak:
    """One run on one scene."""

    def __init__(
        self, kafka: LocalKafka, scene: Scene, plan: Plan, tell: Callable[[str], None]
    ) -> None:
        self._kafka = kafka
        self._scene = scene
        self._plan = plan
        self._tell = tell
        self._chance = random.Random(plan.seed)
        self._admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        self._messages = numbered(MESSAGES_MAX, plan.seed)
        self._source = scene.qm.queue(SOURCE)
        self.counts = Counts()

    def run(self) -> Counts:
        """Raises AssertionError for whatever is off."""
        scene, plan = self._scene, self._plan
        for queue in (SOURCE, TARGET):
            scene.qm.define_queue(queue, max_depth=999_999_999)
        self._put(MESSAGES_PER_KILL)
        scene.start_copier(plan.seed, "--impatient")
        for number in range(plan.kills):
            self._kill(number)
            self._put(MESSAGES_PER_KILL)
        self._check(scene.stop_copiers())
        return self.counts

    def _put(self, count: int) -> None:
        portion = islice(self._messages, count)
        self.counts.messages += self._source.put_many(portion, unit_size=PUT_UNIT)

    def _kill(self, number: int) -> None:
        """Kill the queue manager, and a broker if it is its turn; wait until commits come again."""
        scene, counts = self._scene, self.counts
        scene.trap.await_commits(COMMITS_BETWEEN)
        with self._transaction_open(self._plan.meets_transaction(number)):
            scene.kill(WHERE[number % 2])
        unanswered = scene.kills[-1].unanswered
        counts.replies_held += bool(unanswered.done)
        counts.requests_held += bool(unanswered.units - unanswered.done)
        killed_s = scene.kills[-1].time_s
        broker = self._plan.kills_broker(number)
        if broker:
            self._kill_broker()
        scene.trap.await_commits(1)
        (counts.broker_s if broker else counts.owner_s).append(time.monotonic() - killed_s)
        self._tell(f"{number + 1} of {self._plan.kills}")

    @contextmanager
    def _transaction_open(self, wanted: bool) -> Iterator[None]:
        """Stop the movers within a transaction; they come to, and are fenced, when it is over."""
        if not wanted:
            yield
            return
        pid = self._scene.server.movers_pid()
        topic = names.queue_topic(self._scene.name, SOURCE, 0)
        stop_in_transaction(pid, self._admin, topic, lambda: self._put(PUT_UNIT))
        try:
            yield
            self.counts.in_transaction += 1
        finally:
            os.kill(pid, signal.SIGCONT)

    def _kill_broker(self) -> None:
        """Kill a broker and start it again: by turns the one that leads the ledger, and any."""
        kafka, counts = self._kafka, self.counts
        leader = self._leader()
        broker = leader
        if counts.leaders > counts.followers:
            broker = self._chance.randint(1, self._plan.brokers)
        counts.leaders += broker == leader
        counts.followers += broker != leader
        kafka.kill(broker)
        kafka.start(broker)

    def _leader(self) -> int:
        ledger = names.ledger_topic(self._scene.name)
        return self._admin.list_topics(ledger, ANSWER_S).topics[ledger].partitions[0].leader

    def _check(self, journal: Journal) -> None:
        scene, counts, plan = self._scene, self.counts, self._plan
        counts.in_doubt = len(journal.in_doubt)
        target = check_once_each(scene, counts.messages, plan.seed)
        for lane, numbers in lanes_of(target).items():
            assert numbers == sorted(numbers), f"lane {lane} is out of order"
        check_units(scene, journal, target)
        assert len(scene.kills) == plan.kills
        assert counts.requests_held + counts.replies_held >= plan.kills // 2, counts
        assert counts.in_transaction == plan.in_transaction
        assert counts.leaders + counts.followers == plan.broker_kills


def _spread(number: int, some: int, of_all: int) -> bool:
    return (number + 1) * some // of_all > number * some // of_all


def _times(seconds: list[float]) -> str:
    if not seconds:
        return "(never)"
    found = sorted(seconds)
    return f"{found[len(found) // 2]:.1f} s (at most {found[-1]:.1f} s)"
