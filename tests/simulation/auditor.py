"""An independent auditor: what a queue manager must answer, and what its topics must hold.

It imports nothing of the product. It is told each operation when it was decided, each answer when
it was given, each copy when a reader of a topic could see it, and what a browse shows after each
crash or doubt. While an answer is out, the operation may yet turn out not to have happened: what a
crash leaves is a beginning of what was decided, and nobody says how much. So the auditor keeps
every line of events that is possible, and drops those that an answer, a browse or a copy
contradicts: one must always be left.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Container, Iterable
from typing import NamedTuple

from tests.simulation.operations import Op
from tests.simulation.world import PERHAPS, Answer, LaneKey, Listing, World

TRACELESS = frozenset(
    {"open", "close", "begin", "begin_unheard", "put_deferred", "browse", "ask", "status"}
)
"""A crash just before or just after one of these leaves the same."""
UNANSWERED = frozenset({"lose", "tick", "expire", "wake", "begin_unheard", "touch", "put_deferred"})
Gone = Iterable[tuple[str, str]]
"""(queue, body) of what was discarded because its time was over."""


class Copied(NamedTuple):
    """A copy as a reader of a topic finds it."""

    lane: LaneKey
    body: str
    seq: int
    unit: str
    part: int
    size: int
    queue_index: int
    queue_size: int


def fits(expected: Answer | None, answer: Answer) -> bool:
    """Whether this is what a line expects."""
    if expected == PERHAPS:
        return answer in (("state", "committed"), ("state", "backed out"))
    return expected == answer


class Line:
    """A line of events: what has happened for certain, and what was decided behind that."""

    def __init__(self, world: World) -> None:
        self.certain = world
        self.newest = world.copy()
        self.between: deque[tuple[int, Op]] = deque()
        self.expected: dict[int, tuple[Answer, int]] = {}
        """By the index of an operation its answer, and the operation that it was given after."""
        self.lanes: dict[LaneKey, list[str]] = defaultdict(list)
        self._in_lanes = 0

    def decide(self, index: int, op: Op) -> None:
        """Go on by one operation."""
        answer = self.newest.apply(op)
        if answer is not None:
            self.expected[index] = answer, index
        for waited, answer in self.newest.served.items():
            self.expected[waited] = answer, index
        self.newest.served.clear()
        self.between.append((index, op))

    def need(self, index: int) -> None:
        """All that was decided up to this operation has happened."""
        while self.between and self.between[0][0] <= index:
            self.certain.apply(self.between.popleft()[1])

    def shown(self, messages: list[tuple[str, int]]) -> None:
        """These messages were handed out: what put them there has happened."""
        for body, count in messages:
            while self.certain.ever.get(body, -1) < count and self.between:
                self.certain.apply(self.between.popleft()[1])

    def trimmed(self, queue: str, bodies: list[str], before_ms: int) -> bool:
        """These were deleted: they had left their queues by then, and nothing brings them back."""
        left = self.certain.left
        for body in bodies:
            while (queue, body) not in left and self.between:
                self.certain.apply(self.between.popleft()[1])
        return all(left.get((queue, body), before_ms + 1) <= before_ms for body in bodies)

    def after(self, crashed: bool, now_ms: int, gone: Gone) -> Iterable[World]:
        """What a crash or a doubt may have left; ends this line."""
        world = self.certain
        last = ""
        while True:
            if last not in TRACELESS:
                left = world.copy()
                left.recover(crashed, now_ms, gone)
                yield left
            if not self.between:
                return
            _, op = self.between.popleft()
            world.apply(op)
            last = op.kind if op.kind != "put" or not op.unit else "begin"

    def lane(self, key: LaneKey) -> list[str]:
        """Every persistent message that was ever committed to a lane, in order."""
        for at in range(self._in_lanes, len(self.newest.stored)):
            lane, body = self.newest.stored[at]
            self.lanes[lane].append(body)
        self._in_lanes = len(self.newest.stored)
        return self.lanes[key]


class Auditor:
    """Keeps every line that is possible. Raises AssertionError when none is."""

    def __init__(self) -> None:
        self.lines = [Line(World())]
        self.ops: dict[int, Op] = {}
        self.copies: dict[LaneKey, list[str]] = defaultdict(list)
        self.trace: Callable[..., object] | None = None
        """Hears all that is told here, if somebody wants to read it."""
        self._units: dict[str, set[int]] = {}
        self._met_before: dict[LaneKey, int] = {}
        """Of topics that went: how many copies each lane had."""
        self._decided = 0

    def decided(self, op: Op) -> int:
        """An operation was decided; returns its index."""
        index = self._decided = self._decided + 1
        op.index = index
        if op.kind == "lose":
            self.ops = {at: one for at, one in self.ops.items() if one.client != op.client}
        if op.kind not in UNANSWERED:
            self.ops[index] = op
        self._note(index, op)
        for line in self.lines:
            line.decide(index, op)
        if op.gone:
            self.lines = [line for line in self.lines if not line.newest.is_contradicted]
            assert self.lines, f"{op} discards what is not there, or whose time is not over"
        return index

    def answered(self, index: int, answer: Answer) -> None:
        """It was answered. Most answers promise all that was decided before, too."""
        op = self.ops.pop(index)
        self._note(index, "answered", answer)
        possible = [line.expected.pop(index, (None, index)) for line in self.lines]
        pairs = list(zip(self.lines, possible, strict=True))
        fitting = [(line, after) for line, (expected, after) in pairs if fits(expected, answer)]
        self.lines = [line for line, _ in fitting]
        assert self.lines, f"{op} was answered {answer}, possible is {possible}"
        in_unit = op.unit and op.kind in ("begin", "put", "get") and not op.number
        if op.kind == "close":
            return  # it says nothing of any message
        if op.kind == "get" and in_unit and answer[0] == "got" and answer[1]:
            for line in self.lines:
                line.shown(answer[1])
        elif not in_unit or (op.kind == "get" and answer == ("got", [])):
            for line, after in fitting:
                line.need(after)

    def recovered(self, crashed: bool, now_ms: int, listing: Listing, gone: Gone = ()) -> None:
        """After a crash or a doubt this is what a browse shows: a beginning has happened."""
        self._note("a crash left" if crashed else "a doubt left", listing)
        left = [world for line in self.lines for world in line.after(crashed, now_ms, gone)]
        fitting: list[World] = []
        for world in left:
            if world.is_contradicted or not world.adopt(listing, now_ms):
                continue
            like = next((other for other in fitting if world.is_like(other)), None)
            if like is None:
                fitting.append(world)
            else:
                like.perhaps |= world.perhaps
        what = "a crash" if crashed else "a doubt"
        possible = [world.listing(now_ms) for world in left]
        assert fitting, f"after {what} there is {listing}, possible is {possible}"
        self.ops.clear()
        self.lines = [Line(world) for world in fitting]
        self._drop_what_copies_contradict("what was there before the recovery")

    def copied(self, copies: Iterable[Copied]) -> None:
        """A reader of the topics sees these copies now, in order within each lane."""
        new: Copied | None = None
        for new in copies:
            lane = self.copies[new.lane]
            assert new.seq == len(lane) + 1, f"{new} comes as number {len(lane) + 1} of its lane"
            lane.append(new.body)
            if new.seq <= self._met_before.get(new.lane, 0):
                continue
            met = self._units.setdefault(new.unit, set())
            assert new.part not in met, f"{new}: this part of the unit came before"
            met.add(new.part)
            if len(met) == new.size:
                self._units[new.unit] = set()
        if new is not None:
            self._drop_what_copies_contradict(repr(new))

    def trimmed(self, queue: str, bodies: list[str], before_ms: int) -> None:
        """These messages were deleted from a queue's topic, which was right if all left before."""
        self._note("trimmed", queue, bodies)
        self.lines = [line for line in self.lines if line.trimmed(queue, bodies, before_ms)]
        assert self.lines, f"{bodies} were deleted; not all had left their queues by {before_ms}"

    def _note(self, *facts: object) -> None:
        if self.trace is not None:
            self.trace(*facts)

    def gone(self, queue: str, incarnation: int) -> None:
        """A topic was deleted with all that was in it: its copies are to come again."""
        for key in [key for key in self.copies if key[:2] == (queue, incarnation)]:
            before = self._met_before.get(key, 0)
            self._met_before[key] = max(before, len(self.copies.pop(key)))

    def _drop_what_copies_contradict(self, newest: str) -> None:
        before = self.lines
        self.lines = [line for line in before if self._holds(line)]
        assert self.lines, f"topics hold {self._difference(before[0])}, and last {newest}"

    def _holds(self, line: Line) -> bool:
        return all(line.lane(key)[: len(seen)] == seen for key, seen in self.copies.items())

    def _difference(self, line: Line) -> str:
        for key, seen in self.copies.items():
            if line.lane(key)[: len(seen)] != seen:
                return f"{key}: {seen}, committed were {line.lane(key)}"
        return "what was committed"

    def units_are_whole(self) -> None:
        """No transaction is open: every unit is on the topics as a whole, or not at all."""
        torn = {unit: met for unit, met in self._units.items() if met}
        assert not torn, f"the topics hold parts of units: {torn}"

    def nothing_is_over(self, now_ms: int) -> None:
        """Enough time has passed: what has expired is gone."""
        before = self.lines
        self.lines = [line for line in before if not line.newest.over(now_ms)]
        assert self.lines, f"time is over, and there still is {before[0].newest.over(now_ms)}"

    def at_rest(
        self, listing: Listing, now_ms: int = 0, absent: Container[tuple[str, int]] = ()
    ) -> None:
        """All is answered, copied and settled, and this is what a browse shows.

        absent: queues and incarnations whose topics went; nothing was to be written there since.
        """
        for line in self.lines:
            waiting = {op.index for gets in line.newest.waiting.values() for op in gets}
            silent = [op for index, op in self.ops.items() if index not in waiting]
            assert not silent, f"never answered: {silent}"
        possible = [line.newest.listing(now_ms) for line in self.lines]
        assert listing in possible, f"at rest there is {listing}, possible is {possible}"
        self.units_are_whole()
        for line in self.lines:
            line.lane(("", 0, 0))
            missing = {
                key: bodies[len(self.copies[key]) :]
                for key, bodies in line.lanes.items()
                if bodies != self.copies[key] and key[:2] not in absent
            }
            assert not missing, f"the topics lack {missing}"
