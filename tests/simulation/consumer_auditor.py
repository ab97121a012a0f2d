"""An independent auditor of durable consumers: in whose hand each message is, and what a batch has.

It imports nothing of the product and knows the rules by itself. It is told each operation in
order, says what must be answered, and what must be seen of queues and consumers. A message is in
one hand at a time: available, a unit's, a batch's, or gone. All is durable at once here; what is
on its topic the auditor is told, for only that may be in a batch.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter

from tests.simulation.work_auditor import Answer, WorkAuditor, refused

FREE = ""
SMALLER = 10
ENLARGED_MAX = 10_000
AHEAD_MAX = 8


class Letter:
    """A message. hand: FREE, or the unit or the consumer that has it. lane and seq: its place."""

    def __init__(self, name: str, lane: int, *, hard: bool, expires_ms: int = 0) -> None:
        self.name = name
        self.lane = lane
        self.hard = hard
        self.expires_ms = expires_ms
        self.seq = 0
        self.order = 0
        self.lifts = 0
        self.hand = FREE
        self.copied = False
        self.was_claimed = False
        """Then nobody who replays the ledger doubts that it is on its topic."""

    @property
    def place(self) -> tuple[int, int]:
        """What messages are delivered by."""
        return -self.lane, self.order

    def is_over(self, now_ms: int) -> bool:
        """Whether its time is over."""
        return 0 < self.expires_ms <= now_ms

    def __repr__(self) -> str:
        return f"{self.name}@{self.lane}.{self.seq}{'' if self.hard else '~'}"


class Queue:
    """A queue: all that is on it, whoever has it in hand, in the order of delivery."""

    def __init__(self, depth_max: int = 0) -> None:
        self.depth_max = depth_max
        """0: as many as come."""
        self.letters: list[Letter] = []
        self.seqs: Counter[int] = Counter()

    @property
    def free(self) -> list[Letter]:
        """What is available."""
        return [one for one in self.letters if one.hand == FREE]


class Batch:
    """What was claimed together. Without letters: an empty one, or one that was broken up."""

    def __init__(self, letters: list[Letter]) -> None:
        self.letters = letters
        self.deliveries = 0
        self.broke_off = False
        """Whether a program that had it went without a word."""

    @property
    def has_failed(self) -> bool:
        """Whether a program is known to have failed with it."""
        return self.broke_off or self.deliveries > 1

    def told(self, number: int) -> Answer:
        """Say what reading it must show: number, (lane, seq) in order, how often they came back."""
        counts = {(one.lane, one.seq): one.lifts for one in self.letters if one.lifts}
        return number, [(one.lane, one.seq) for one in self.letters], counts


class Consumer:
    """A consumer. client: who has it open, or "". claim: counts how often it lost what it had."""

    def __init__(self, claim: int) -> None:
        self.claim = claim
        self.client = ""
        self.timeout_ms = 0
        self.away_ms = 0
        self.consumed = 0
        self.size_max = 0
        self.batches: list[Batch] = []
        """Those behind consumed."""
        self.seen: set[int] = set()
        """The batches that the program which has it open was handed out."""

    @property
    def last(self) -> int:
        """The number of the last batch that was claimed."""
        return self.consumed + len(self.batches)

    @property
    def held(self) -> int:
        """How many messages it has."""
        return sum(len(batch.letters) for batch in self.batches)

    def told(self) -> Answer:
        """Say where it stands."""
        return "state", self.claim, self.consumed, self.last


class Unit:
    """An open unit."""

    def __init__(self, client: str) -> None:
        self.client = client
        self.puts: list[Letter] = []


class ConsumerAuditor(WorkAuditor):
    """Expects answers. Raises AssertionError if there are others."""

    def __init__(self, threshold: int, requeue: str, requeue_max: int) -> None:
        """threshold: backout_threshold of the queue; requeue_max: as many go to requeue."""
        super().__init__()
        self.threshold = threshold
        self.main = Queue()
        self.queues = {"Q": self.main, "B": Queue(requeue_max)}
        self.requeue = self.queues.get(requeue)
        self.consumers: dict[str, Consumer] = {}
        self.units: dict[str, Unit] = {}
        self._order = 0
        self._claims = 0

    # -- what must be seen

    def listing(self) -> dict[str, list[tuple[str, int]]]:
        """Say what a browse of each queue must show: names, and how often they came back."""
        return {
            name: [(one.name, one.lifts) for one in queue.free if not one.is_over(self.now_ms)]
            for name, queue in self.queues.items()
        }

    def statuses(self) -> list[Answer]:
        """Say what must be told of the consumers."""
        return [
            (
                name,
                one.claim,
                bool(one.client),
                one.consumed,
                one.last,
                one.held,
                one.batches[0].deliveries if one.batches else 0,
                one.size_max,
                0.0 if one.client else (self.now_ms - one.away_ms) / 1000,
            )
            for name, one in sorted(self.consumers.items())
        ]

    def depths(self) -> dict[str, tuple[int, int]]:
        """Say how deep each queue must be at least and at most: of what has expired nobody knows
        when it is found out.
        """
        puts = sum(len(unit.puts) for unit in self.units.values())
        found = {}
        for name, queue in self.queues.items():
            more = puts if queue is self.main else 0
            over = sum(one.is_over(self.now_ms) for one in queue.free)
            found[name] = len(queue.free) - over + more, len(queue.free) + more
        return found

    # -- programs that put and get

    def put(self, letter: Letter, unit: str) -> None:
        """A message was put on the queue that has consumers."""
        if unit:
            self.units[unit].puts.append(letter)
        else:
            self._store(self.main, letter)

    def get(self, name: str, unit: str) -> tuple[str, int] | None:
        """MQGET of what comes first on a queue; what must be given."""
        queue = self.queues[name]
        found = next((one for one in queue.free if not one.is_over(self.now_ms)), None)
        if found is None:
            return None
        found.hand = unit
        if not unit:
            queue.letters.remove(found)
        return found.name, found.lifts

    def begun(self, client: str, unit: str) -> None:
        self.units[unit] = Unit(client)

    def committed(self, unit: str) -> None:
        ended = self.units.pop(unit)
        for queue in self.queues.values():
            queue.letters = [one for one in queue.letters if one.hand != unit]
        for letter in ended.puts:
            self._store(self.main, letter)

    def backed_out(self, unit: str) -> None:
        del self.units[unit]
        for one in self._in_hand(unit):
            one.hand, one.copied = FREE, False
            one.lifts += 1

    def purge(self) -> tuple[int, int]:
        """CLEAR QLOCAL; how many must have been there, at least and at most."""
        free = self.main.free
        self.met["purge beside a batch"] += any(one.held for one in self.consumers.values())
        self.main.letters = [one for one in self.main.letters if one.hand != FREE]
        return sum(not one.is_over(self.now_ms) for one in free), len(free)

    def copied(self) -> None:
        """All that was committed so far is on its topic."""
        for queue in self.queues.values():
            for one in queue.letters:
                one.copied = one.copied or one.hand == FREE

    def lost(self, client: str) -> None:
        """A connection is gone: its units are backed out, its consumers are away."""
        for unit in [name for name, one in self.units.items() if one.client == client]:
            self.backed_out(unit)
        for one in self.consumers.values():
            if one.client == client:
                for at, batch in enumerate(one.batches, one.consumed + 1):
                    batch.broke_off = batch.broke_off or (at in one.seen and bool(batch.letters))
                self._goes_away(one)

    def passes(self, now_ms: int) -> None:
        """Time passes: who has been away too long loses what he has."""
        self.now_ms = now_ms
        for one in self.consumers.values():
            is_late = now_ms - one.away_ms >= one.timeout_ms
            if not one.client and one.held and is_late:
                self.met["claim lost"] += 1
                self._take_away(one)

    def crashed(self, *, keeps_soft: bool) -> None:
        """The queue manager went, and is there again. keeps_soft: its process lived on."""
        way = "take-over" if keeps_soft else "crash"
        self.met[f"{way} with a batch"] += any(one.held for one in self.consumers.values())
        for queue in self.queues.values():
            queue.letters = [one for one in queue.letters if one.hard or keeps_soft]
            for letter in queue.letters:
                letter.copied = letter.was_claimed
                if letter.hand in self.units:
                    letter.lifts += not letter.hard
                    letter.hand = FREE
        self.units = {}
        for one in self.consumers.values():
            for batch in one.batches:
                batch.broke_off = False
            self._goes_away(one)

    # -- consumers

    def open(self, client: str, name: str, timeout_ms: int) -> Answer:
        one = self.consumers.get(name)
        if one is None:
            self._claims += 1
            one = self.consumers[name] = Consumer(self._claims)
        elif one.client:
            self.met["consumer in use"] += 1
            return refused("CONSUMER_IN_USE")
        one.client, one.timeout_ms, one.seen = client, timeout_ms, set()
        return one.told()

    def close(self, name: str) -> None:
        self._goes_away(self.consumers[name])

    def delete(self, name: str) -> Answer:
        one = self.consumers.get(name)
        if one is None:
            return refused("CONSUMER_NOT_FOUND")
        if one.client:
            return refused("CONSUMER_IN_USE")
        held = one.held
        self.met["consumer deleted with a batch"] += bool(held)
        for batch in one.batches:
            self._return(batch, int(batch.has_failed))
        del self.consumers[name]
        return "done", held

    def claim(self, name: str, limit: int, planned: int, only_ask: bool = False) -> Answer:
        """A batch is claimed. What came back too often goes to the backout queue, if it may.

        only_ask: it is only asked for, and stays where it is.
        """
        one = self.consumers[name]
        if one.last - max(planned, one.consumed) >= AHEAD_MAX:
            self.met["so many batches ahead"] += 1
            return one.told()
        found, poison = self._find(min(limit, one.size_max or limit))
        self._set_aside(poison)
        waits_for_its_end = bool(one.batches) and bool(one.batches[-1].letters)
        if not found and not waits_for_its_end:
            return one.told()
        if only_ask:
            self.met["batch asked for"] += 1
            return "state", one.claim, one.consumed, one.last + 1
        self._claim(name, found)
        return one.told()

    def _claim(self, name: str, found: list[Letter]) -> None:
        one = self.consumers[name]
        self.met["batch claimed" if found else "empty batch ends another"] += 1
        self.met["batch of what came back"] += any(letter.lifts for letter in found)
        for letter in found:
            letter.hand = name
        one.batches.append(Batch(found))

    def _find(self, limit: int) -> tuple[list[Letter], list[Letter]]:
        found: list[Letter] = []
        poison: list[Letter] = []
        shut: set[int] = set()
        for letter in self.main.free:
            if len(found) == limit:
                break
            if not letter.hard or letter.is_over(self.now_ms) or letter.lane in shut:
                continue
            if not letter.copied:  # nor what lies behind it
                shut.add(letter.lane)
                self.met["claim waits for copies"] += 1
            elif 0 < self.threshold <= letter.lifts:
                poison.append(letter)
            else:
                found.append(letter)
        return found, poison

    def _set_aside(self, poison: list[Letter]) -> None:
        target, before = self.requeue, self.met["what spoils set aside"]
        for at, letter in enumerate(poison):
            most = target.depth_max if target else 0
            if target is None or (most and len(target.free) >= most):
                self.met["what spoils stays"] += len(poison) - at
                break
            self.met["what spoils set aside"] += 1
            self.main.letters.remove(letter)
            copy = Letter(letter.name, letter.lane, hard=True, expires_ms=letter.expires_ms)
            self._store(target, copy)
        count = self.met["what spoils set aside"] - before
        self.met["several set aside at once"] += count > 1

    def read(self, name: str, claim: int, after: int, through: int, limit: int = -1) -> Answer:
        """Batches are read, and counted as handed out; those before are consumed.

        limit: the next batch is claimed with so many messages at most, if it is asked for.
        """
        one = self.consumers[name]
        is_next = limit >= 0 and through == one.last + 1
        problem = self._problem(one, claim, after, through - is_next)
        if problem:
            return refused(problem)
        if is_next:
            self.met["batch claimed to be read"] += 1
            found, poison = self._find(min(limit, one.size_max or limit)) if limit else ([], [])
            self._set_aside(poison)
            self._claim(name, found)
        self._consume(one, after)
        shown = []
        for number in range(after + 1, through + 1):
            batch = one.batches[number - one.consumed - 1]
            if number not in one.seen and batch.letters:
                self._hand_out(one, batch)
            one.seen.add(number)
            shown.append(batch.told(number))
            self.met["expired in a batch"] += any(x.is_over(self.now_ms) for x in batch.letters)
        return "batches", shown

    def _hand_out(self, one: Consumer, batch: Batch) -> None:
        """Count it; or break it up, if it was handed out too often."""
        if not self.threshold or batch.deliveries < self.threshold:
            self.met["batch handed out again"] += batch.deliveries > 0
            batch.deliveries += 1
            return
        size = len(batch.letters)
        self.met["batch broken up"] += 1
        self.met["message found that spoils"] += size == 1
        self._return(batch, batch.deliveries if size == 1 else 0)
        one.size_max = max(1, size // SMALLER)

    def consume(self, name: str, claim: int, through: int) -> Answer:
        one = self.consumers[name]
        if claim == one.claim and through <= one.consumed:
            return one.told()
        problem = self._problem(one, claim, one.consumed, through)
        if problem:
            return refused(problem)
        self._consume(one, through)
        return one.told()

    def _problem(self, one: Consumer, claim: int, after: int, through: int) -> str:
        if claim != one.claim:
            self.met["old claim refused"] += 1
            return "CLAIM_LOST"
        return "" if one.consumed <= after <= through <= one.last else "BATCH_NOT_FOUND"

    def _consume(self, one: Consumer, through: int) -> None:
        count = through - one.consumed
        if not count:
            return
        ended, one.batches = one.batches[:count], one.batches[count:]
        one.consumed = through
        letters = [letter for batch in ended for letter in batch.letters]
        for letter in letters:
            self.main.letters.remove(letter)
        self.met["batch consumed"] += bool(letters)
        if letters and one.size_max:
            self.met["batches grow again"] += 1
            larger = one.size_max * SMALLER
            one.size_max = 0 if larger >= ENLARGED_MAX else larger

    # -- what follows

    def _in_hand(self, hand: str) -> list[Letter]:
        return [one for queue in self.queues.values() for one in queue.letters if one.hand == hand]

    def _goes_away(self, one: Consumer) -> None:
        """Nobody has it open from now on."""
        one.client, one.away_ms = "", self.now_ms

    def _take_away(self, one: Consumer) -> None:
        last = one.last
        for batch in one.batches:
            self.met["claim lost of what may be done"] += not batch.has_failed
            self._return(batch, int(batch.has_failed))
        self._claims += 1
        one.claim, one.consumed, one.batches = self._claims, last, []

    def _return(self, batch: Batch, more: int) -> None:
        for letter in batch.letters:
            letter.hand = FREE
            letter.copied = letter.was_claimed = True
            letter.lifts += more
        batch.letters, batch.deliveries = [], 0

    def _store(self, queue: Queue, letter: Letter) -> None:
        self._order += 1
        letter.order = self._order
        if letter.hard:
            queue.seqs[letter.lane] += 1
            letter.seq = queue.seqs[letter.lane]
        insort(queue.letters, letter, key=lambda one: one.place)
