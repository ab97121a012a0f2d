"""What a queue manager does with its queues, by sorted lists: one way in which all may have gone.

It imports nothing of the product, and is as dumb as can be: no indexes, no cleverness, no bounds.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tests.simulation.groups import begins_whole
from tests.simulation.operations import Message, Op

Answer = tuple[Any, ...]
Item = tuple[int, int, Message, int]
"""-lane, order of the commits, the message, how often it came back: sorts as it is delivered."""
Listing = dict[str, list[tuple[str, int]]]
LaneKey = tuple[str, int, int]
"""queue, incarnation, lane."""
DONE: Answer = ("done",)
GONE: Answer = ("gone",)
PUT: Answer = ("put",)
WAITS: Answer = ("waits",)
PERHAPS: Answer = ("state", "committed or backed out")
START = (-99, 0)
PRIORITIES = 10

MOVES = {"M": ("B", 2)}
"""By queue, where the queue manager moves what came back so often; B always has room."""

HARD, SOFT, NOTHING = "hard", "soft", "nothing"
"""What is left of an operation: a line in the ledger; only what memory holds; not even that."""


class Unit(NamedTuple):
    """An open unit: who has it, what it put, what it got.

    ahead: nobody has been shown what it got. refused: why the first deferred put was, if one was.
    """

    client: str
    puts: tuple[tuple[str, Message], ...] = ()
    gets: tuple[tuple[str, Item], ...] = ()
    ahead: bool = False
    refused: Answer = ()


class Queue:
    """What is available on one queue, and how much of it units hold."""

    __slots__ = ("depth_max", "fifo", "held", "incarnation", "items", "uncommitted")

    def __init__(self, incarnation: int, fifo: bool, depth_max: int) -> None:
        self.incarnation = incarnation
        self.fifo = fifo
        self.depth_max = depth_max
        self.items: list[Item] = []
        self.uncommitted: list[Message] = []
        self.held = 0

    def copy(self) -> Queue:
        """Return a queue that goes its own way from here."""
        queue = Queue(self.incarnation, self.fifo, self.depth_max)
        queue.items = list(self.items)
        queue.uncommitted = list(self.uncommitted)
        queue.held = self.held
        return queue

    def discard(self, body: str, now_ms: int) -> bool:
        """Discard a message whose time is over; whether it could be."""
        for at, item in enumerate(self.items):
            if item[2].body == body:
                del self.items[at]
                return item[2].is_over(now_ms)
        return False


class World:
    """One way in which everything may have gone so far."""

    def __init__(self) -> None:
        self.queues: dict[str, Queue] = {}
        self.incarnations: dict[str, int] = {}
        self.open: dict[tuple[str, str], tuple[int, int]] = {}
        """(client, queue) -> where its browse stands."""
        self.units: dict[str, Unit] = {}
        self.committed: dict[str, str] = {}
        self.perhaps: set[str] = set()
        """Units that were committed and left nothing in the ledger, before a crash: a snapshot may
        have remembered them."""
        self.done: dict[tuple[str, int], tuple[Answer, str]] = {}
        self.stored: list[tuple[LaneKey, str]] = []
        """Every persistent message that was ever committed, in that order."""
        self.ever: dict[str, int] = {}
        """Every message that was ever committed, and how often it has come back."""
        self.left: dict[tuple[str, str], int] = {}
        """When messages left queues for good, by queue and body: one that is moved leaves two."""
        self.now_ms = 0
        self.waiting: dict[str, list[Op]] = {}
        """By queue, the gets that wait, in the order of their arrival."""
        self.woken: set[str] = set()
        self.served: dict[int, Answer] = {}
        """The answers that waiting gets were given, by the get's index, until somebody takes it."""
        self.order = 0
        self.is_contradicted = False
        """Whether something was discarded that was not there, or whose time was not over."""

    def copy(self) -> World:
        """Return a world that goes its own way from here."""
        world = World()
        world.queues = {name: queue.copy() for name, queue in self.queues.items()}
        world.incarnations = dict(self.incarnations)
        world.open = dict(self.open)
        world.units = dict(self.units)
        world.committed = dict(self.committed)
        world.perhaps = set(self.perhaps)
        world.done = dict(self.done)
        world.stored = list(self.stored)
        world.ever = dict(self.ever)
        world.left = dict(self.left)
        world.waiting = {name: list(gets) for name, gets in self.waiting.items() if gets}
        world.order = self.order
        return world

    def is_like(self, other: World) -> bool:
        """Whether both will answer alike for ever, having just recovered, but for units that left
        nothing, an empty one above all: whether it counts as committed changes no message."""
        return (
            self.done == other.done
            and self.committed == other.committed
            and self.stored == other.stored
            and self.queues.keys() == other.queues.keys()
            and all(queue.items == other.queues[name].items for name, queue in self.queues.items())
        )

    def apply(self, op: Op) -> Answer | None:
        """Do an operation, or answer it from what was done under its number before.

        None: it waits; its answer will be among those that are served.
        """
        key = (op.client, op.number)
        self.now_ms = op.now_ms
        if op.number and key in self.done:
            return self.done[key][0]
        answer, left = DO[op.kind](self, op)
        if answer is WAITS:
            self._discard(op.gone, op.now_ms)
            self.waiting.setdefault(op.queue, []).append(op)
            return None
        if op.number:
            self.done[key] = answer, left
        if self.woken:
            self._serve(op)
        if op.gone:
            self._discard(op.gone, op.now_ms)
        return answer

    def _discard(self, gone: Iterable[tuple[str, str]], now_ms: int) -> None:
        for name, body in gone:
            queue = self.queues.get(name)
            if queue is None or not queue.discard(body, now_ms):
                self.is_contradicted = True
            self.left[name, body] = now_ms

    def _serve(self, by: Op) -> None:
        """Give waiting gets what there is now, in the order of their arrival."""
        for name in self.woken:
            while self._serve_one(name, by):
                pass
        self.woken.clear()

    def _serve_one(self, name: str, by: Op) -> bool:
        for op in self.waiting.get(name, ()):
            if op.index in by.full:
                continue
            if op.index in by.stuck:
                return False
            if self._try(name, op, by.now_ms):
                return True
        return False

    def _try(self, name: str, op: Op, now_ms: int) -> bool:
        taken = self._choose(self.queues[name], op, now_ms)
        if taken:
            answer, left = self._give(op, taken)
            self._end_wait(op, answer, left)
        return bool(taken)

    def _end_wait(self, op: Op, answer: Answer, left: str) -> None:
        self.waiting[op.queue].remove(op)
        self.served[op.index] = answer
        if op.number:
            self.done[op.client, op.number] = answer, left

    def _end_waits(self, ended: Callable[[Op], bool]) -> None:
        """End waits with no message."""
        for gets in self.waiting.values():
            for op in [op for op in gets if ended(op)]:
                self._end_wait(op, ("got", []), NOTHING)

    # Each returns the answer, and what is left of it.

    def define(self, op: Op) -> tuple[Answer, str]:
        if op.queue in self.queues:
            return ("refused", "QUEUE_EXISTS"), NOTHING
        incarnation = self.incarnations.get(op.queue, 0)
        self.incarnations[op.queue] = incarnation + 1
        self.queues[op.queue] = Queue(incarnation, op.flag, op.limit)
        return DONE, HARD

    def delete(self, op: Op) -> tuple[Answer, str]:
        queue = self.queues.get(op.queue)
        if queue is None:
            return ("refused", "QUEUE_NOT_FOUND"), NOTHING
        is_open = any(name == op.queue for _, name in self.open)
        if is_open or queue.held or queue.uncommitted:
            return ("refused", "QUEUE_IN_USE"), NOTHING
        if queue.items and not op.flag:
            return ("refused", "QUEUE_NOT_EMPTY"), NOTHING
        self._leave(op.queue, queue.items)
        del self.queues[op.queue]
        return DONE, HARD

    def purge(self, op: Op) -> tuple[Answer, str]:
        queue = self.queues.get(op.queue)
        if queue is None:
            return ("refused", "QUEUE_NOT_FOUND"), NOTHING
        count = len(queue.items)
        self._leave(op.queue, queue.items)
        queue.items = []
        return ("purged", count), HARD

    def opens(self, op: Op) -> tuple[Answer, str]:
        if (op.client, op.queue) in self.open:
            return ("refused", "HANDLE_IN_USE"), NOTHING
        if op.queue not in self.queues:
            return ("refused", "QUEUE_NOT_FOUND"), NOTHING
        self.open[op.client, op.queue] = START
        return DONE, NOTHING

    def closes(self, op: Op) -> tuple[Answer, str]:
        if self.open.pop((op.client, op.queue), None) is None:
            return ("refused", "HANDLE_NOT_OPEN"), NOTHING
        self._end_waits(lambda get: (get.client, get.queue) == (op.client, op.queue))
        return DONE, NOTHING

    def begin(self, op: Op) -> tuple[Answer, str]:
        self.units[op.unit] = Unit(op.client, ahead=op.flag)
        return DONE, NOTHING

    def touch(self, op: Op) -> tuple[Answer, str]:
        unit = self.units.get(op.unit)
        if unit is not None:
            self.units[op.unit] = unit._replace(ahead=False)
        return DONE, NOTHING

    def put_deferred(self, op: Op) -> tuple[Answer, str]:
        unit = self.units.get(op.unit)
        if unit is not None and not unit.refused:
            answer, _ = self.put(op)
            if answer is not PUT:
                self.units[op.unit] = unit._replace(refused=answer)
        return DONE, NOTHING

    def put(self, op: Op) -> tuple[Answer, str]:
        if (op.client, op.queue) not in self.open:
            return ("refused", "HANDLE_NOT_OPEN"), NOTHING
        queue = self.queues[op.queue]
        if len(queue.items) + len(queue.uncommitted) + len(op.messages) > queue.depth_max:
            return ("refused", "QUEUE_FULL"), NOTHING
        if not op.unit:
            for message in op.messages:
                self.store(op.queue, message)
            return PUT, HARD if op.messages[0].hard else SOFT
        unit = self.units.get(op.unit)
        if unit is None:
            return GONE, NOTHING
        puts = unit.puts + tuple((op.queue, message) for message in op.messages)
        self.units[op.unit] = unit._replace(puts=puts)
        queue.uncommitted += op.messages
        return PUT, NOTHING

    def get(self, op: Op) -> tuple[Answer, str]:
        if (op.client, op.queue) not in self.open:
            return ("refused", "HANDLE_NOT_OPEN"), NOTHING
        if op.unit and op.unit not in self.units:
            return GONE, NOTHING
        taken = self._choose(self.queues[op.queue], op, op.now_ms)
        if not taken and op.wait_ms:
            return WAITS, NOTHING
        return self._give(op, taken)

    def _give(self, op: Op, taken: list[Item]) -> tuple[Answer, str]:
        answer = ("got", [(item[2].body, item[3]) for item in taken])
        if not op.unit:
            self._leave(op.queue, taken)
            return answer, left_of(item[2] for item in taken)
        self.queues[op.queue].held += len(taken)
        unit = self.units[op.unit]
        gets = unit.gets + tuple((op.queue, item) for item in taken)
        self.units[op.unit] = unit._replace(gets=gets)
        return answer, NOTHING

    def _choose(self, queue: Queue, op: Op, now_ms: int) -> list[Item]:
        """Take what a get is given."""
        taken: list[Item] = []
        gone: set[int] = set()
        for at, item in enumerate(queue.items):
            message = item[2]
            if op.place and op.place != message.body:
                continue
            if not op.place and not op.fits(message):
                continue
            if message.is_over(now_ms) or (op.whole and not begins_whole(queue.items, message)):
                continue
            gone.add(at)
            taken.append(item)
            if len(taken) == op.limit:
                break
        if gone:
            queue.items = [item for at, item in enumerate(queue.items) if at not in gone]
        return taken

    def browse(self, op: Op) -> tuple[Answer, str]:
        cursor = self.open.get((op.client, op.queue))
        if cursor is None:
            return ("refused", "HANDLE_NOT_OPEN"), NOTHING
        cursor = START if op.flag else cursor
        shown = [
            item
            for item in self.queues[op.queue].items
            if item[:2] > cursor and not item[2].is_over(op.now_ms) and op.fits(item[2])
        ][: op.limit]
        self.open[op.client, op.queue] = shown[-1][:2] if shown else cursor
        return ("got", [(item[2].body, item[3]) for item in shown]), NOTHING

    def commit(self, op: Op) -> tuple[Answer, str]:
        unit = self.units.get(op.unit)
        if unit is None:
            return GONE, NOTHING
        if unit.refused:
            self.backout(op)
            return unit.refused, NOTHING
        del self.units[op.unit]
        self._end_waits(lambda get: get.unit == op.unit)
        self._let_go(unit)
        for name, item in unit.gets:
            self._leave(name, [item])
        for name, message in unit.puts:
            self.store(name, message)
        moved = [message for _, message in unit.puts] + [item[2] for _, item in unit.gets]
        left = left_of(moved) if moved else SOFT
        self.committed[op.unit] = left
        return DONE, left

    def backout(self, op: Op) -> tuple[Answer, str]:
        unit = self.units.pop(op.unit, None)
        if unit is not None:
            self._end_waits(lambda get: get.unit == op.unit)
            self._let_go(unit)
            for name, item in unit.gets:
                self.give_back(name, item, 0 if unit.ahead else 1)
            for name, item in () if unit.ahead else unit.gets:
                self._move(name, (*item[:3], item[3] + 1), op.now_ms)
        return GONE, NOTHING

    def _move(self, name: str, item: Item, now_ms: int) -> None:
        """Move a message on from a queue that does so, if it has come back too often."""
        target, threshold = MOVES.get(name, ("", 0))
        if 0 < threshold <= item[3] and not item[2].is_over(now_ms):
            self.queues[name].items.remove(item)
            self.left[name, item[2].body] = now_ms
            self.store(target, item[2])

    def lose(self, op: Op) -> tuple[Answer, str]:
        for name, gets in self.waiting.items():
            self.waiting[name] = [get for get in gets if get.client != op.client]
        for name, unit in list(self.units.items()):
            if unit.client == op.client:
                self.backout(Op(op.client, "backout", op.now_ms, unit=name))
        self.open = {key: at for key, at in self.open.items() if key[0] != op.client}
        return DONE, NOTHING

    def ask(self, op: Op) -> tuple[Answer, str]:
        state = "in flight" if op.unit in self.units else "backed out"
        if op.unit in self.perhaps:
            return PERHAPS, NOTHING
        return ("state", "committed" if op.unit in self.committed else state), NOTHING

    def status(self, op: Op) -> tuple[Answer, str]:
        queue = self.queues.get(op.queue)
        if queue is None:
            return ("status",), NOTHING
        counts = [0] * PRIORITIES
        for message in [item[2] for item in queue.items] + queue.uncommitted:
            counts[message.priority] += 1
        depth = len(queue.items) + len(queue.uncommitted)
        waiting = len(self.waiting.get(op.queue, ()))
        return ("status", depth, len(queue.uncommitted), queue.held, waiting, counts), NOTHING

    def tick(self, op: Op) -> tuple[Answer, str]:
        self._end_waits(lambda get: 0 < get.wait_ms <= op.now_ms - get.now_ms)
        return DONE, NOTHING

    def expire(self, _op: Op) -> tuple[Answer, str]:
        return DONE, NOTHING

    def wake(self, op: Op) -> tuple[Answer, str]:
        """Those that were stuck are looked at."""
        self.woken.add(op.queue)
        return DONE, NOTHING

    def _leave(self, name: str, items: Iterable[Item]) -> None:
        for item in items:
            self.left[name, item[2].body] = self.now_ms

    def store(self, name: str, message: Message) -> None:
        """Put a message behind all that were committed before, within its lane."""
        queue = self.queues[name]
        self.order += 1
        lane = 0 if queue.fifo else message.priority
        insort(queue.items, (-lane, self.order, message, 0))
        self.woken.add(name)
        self.ever[message.body] = 0
        if message.hard:
            self.stored.append(((name, queue.incarnation, lane), message.body))

    def give_back(self, name: str, item: Item, counted: int) -> None:
        """Return a message to its place."""
        message, count = item[2], item[3] + counted
        insort(self.queues[name].items, (item[0], item[1], message, count))
        self.woken.add(name)
        self.ever[message.body] = count

    def _let_go(self, unit: Unit) -> None:
        for name, message in unit.puts:
            self.queues[name].uncommitted.remove(message)
        for name, _ in unit.gets:
            self.queues[name].held -= 1

    def recover(self, crashed: bool, now_ms: int, gone: Iterable[tuple[str, str]] = ()) -> None:
        """End every unit; a crash also takes what is not in the ledger. Then time is looked at."""
        for unit in self.units.values():
            self._let_go(unit)
            for name, item in unit.gets:
                self.give_back(name, item, 0 if item[2].hard or unit.ahead else 1)
        self.units.clear()
        self.open.clear()
        self.waiting.clear()
        self.woken.clear()
        kept = (HARD,) if crashed else (HARD, SOFT)
        self.done = {key: done for key, done in self.done.items() if done[1] in kept}
        self.perhaps |= {unit for unit, left in self.committed.items() if left not in kept}
        self.committed = {unit: left for unit, left in self.committed.items() if left in kept}
        for queue in self.queues.values():
            if crashed:
                queue.items = [item for item in queue.items if item[2].hard]
        self._discard(gone, now_ms)

    def listing(self, now_ms: int = 0) -> Listing:
        """What a browse of each queue must show."""
        return {
            name: [(item[2].body, item[3]) for item in queue.items if not item[2].is_over(now_ms)]
            for name, queue in self.queues.items()
        }

    def over(self, now_ms: int) -> list[Message]:
        """What is available though its time is over."""
        messages = [item[2] for queue in self.queues.values() for item in queue.items]
        return [message for message in messages if message.is_over(now_ms)]

    def adopt(self, listing: Listing, now_ms: int = 0) -> bool:
        """Whether a browse after a doubt may show this, and if so believe its soft counts.

        A non-persistent message may have been handed out and returned after the last thing that the
        ledger knows: that was no dream, and its count says so.
        """
        if listing.keys() != self.queues.keys():
            return False
        for name, queue in self.queues.items():
            shown = listing[name]
            there = [at for at, item in enumerate(queue.items) if not item[2].is_over(now_ms)]
            if [queue.items[at][2].body for at in there] != [body for body, _ in shown]:
                return False
            for at, (_, count) in zip(there, shown, strict=True):
                item = queue.items[at]
                if count == item[3]:
                    continue
                if count < item[3] or item[2].hard:
                    return False
                queue.items[at] = (*item[:3], count)
                self.ever[item[2].body] = count
        return True


DO: dict[str, Callable[[World, Op], tuple[Answer, str]]] = {
    "define": World.define,
    "delete": World.delete,
    "purge": World.purge,
    "open": World.opens,
    "close": World.closes,
    "begin": World.begin,
    "begin_unheard": World.begin,
    "touch": World.touch,
    "put": World.put,
    "put_deferred": World.put_deferred,
    "get": World.get,
    "browse": World.browse,
    "commit": World.commit,
    "backout": World.backout,
    "lose": World.lose,
    "ask": World.ask,
    "status": World.status,
    "tick": World.tick,
    "expire": World.expire,
    "wake": World.wake,
}


def left_of(messages: Iterable[Message]) -> str:
    """What is left of moving these messages."""
    left = NOTHING
    for message in messages:
        if message.hard:
            return HARD
        left = SOFT
    return left
