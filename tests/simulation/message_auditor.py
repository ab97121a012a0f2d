"""An independent auditor of groups, segments, cursors, reports and dynamic queues.

It imports nothing of the product and knows the manual's rules by itself. It is told each operation
in order, says what must be answered and which waiting gets must be served by it, and knows what a
browse of each queue must show. All is durable at once here.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable

from tests.simulation.letters import NOWHERE, At, Handle, Letter, Queue, Unit, Wants, after
from tests.simulation.work_auditor import Answer, WorkAuditor, refused

Shown = tuple[str, int, str, int, str, int, bool]
"""Name, offset, body, how often it came back, group, number, whether the last of it."""
DONE: Answer = ("done", "")
LOCK = "lock"
DEAD = "D"
STEP = 16
ARRIVAL, DELIVERY, EXPIRY = ("a", 259), ("d", 260), ("e", 258)
NO_QUEUE, NOT_PERSISTENT = 2085, 2048


def shown(letter: Letter, lifts: int | None = None) -> Shown:
    """Return what is shown of a message."""
    count = letter.lifts if lifts is None else lifts
    rest = letter.group, letter.number, letter.last
    return letter.name, letter.offset, letter.body, count, *rest


class MessageAuditor(WorkAuditor):
    """Expects answers. Raises AssertionError if there are others."""

    def __init__(self) -> None:
        super().__init__()
        self.queues: dict[str, Queue] = {}
        self.handles: dict[tuple[str, int], Handle] = {}
        self.units: dict[str, Unit] = {}
        self.waiting: list[Wants] = []
        """In the order of their arrival."""
        self.served: dict[str, Answer] = {}
        """By name, what those were answered that waited."""
        self._order = 0
        self._groups = 0

    # -- what is asked

    def listing(self) -> dict[str, list[tuple[str, int, int]]]:
        """Say what a browse of each queue must show: names, offsets, how often they came back."""
        return {
            name: [(one.name, one.offset, one.lifts) for one in queue.free if not self._over(one)]
            for name, queue in self.queues.items()
        }

    def defined(self, queue: Queue) -> None:
        self.queues[queue.name] = queue

    def open(self, client: str, handle: int, name: str, colour: str = "") -> Answer:
        queue = self.queues.get(name)
        if queue is None:
            return refused("QUEUE_NOT_FOUND")
        self.handles[client, handle] = Handle(client, queue, colour)
        return DONE

    def make(self, client: str, handle: int, name: str, kind: str) -> Answer:
        """MQOPEN of a model: a queue is made."""
        if name in self.queues:
            return refused("OBJECT_EXISTS")
        self.met[f"queue made {kind}"] += 1
        self.queues[name] = queue = Queue(name, kind)
        self.handles[client, handle] = Handle(client, queue, makes=True)
        return DONE

    def close(self, client: str, number: int, delete: str = "") -> Answer:
        """MQCLOSE. delete: "", DELETE or PURGE of a permanent dynamic queue."""
        handle = self.handles.get((client, number))
        if handle is None:
            return refused("HANDLE_NOT_OPEN")
        queue = handle.queue
        if delete and queue.kind == "PERMDYN":
            problem = self._delete_problem(queue, handle, purge=delete == "PURGE")
            if problem:
                return refused(problem)
        self._end_waits(lambda one: (one.client, one.handle) == (client, number), ("got", [], ""))
        del self.handles[client, number]
        self._close(handle)
        if delete and queue.kind == "PERMDYN":
            self._vanish(queue, "queue deleted at its close")
        put, get = handle.at["put"], handle.at["get"]
        left = (put.left if put else "") or (get.left if get else "")
        self._serve()
        return "done", left

    def delete(self, name: str, *, purge: bool) -> Answer:
        """DELETE QLOCAL."""
        queue = self.queues.get(name)
        if queue is None:
            return refused("QUEUE_NOT_FOUND")
        problem = self._delete_problem(queue, None, purge=purge)
        if problem:
            return refused(problem)
        self._vanish(queue, "queue deleted by name")
        return DONE

    def _delete_problem(self, queue: Queue, by: Handle | None, *, purge: bool) -> str:
        others = any(one.queue is queue and one is not by for one in self.handles.values())
        put = any(of is queue for unit in self.units.values() for of, _ in unit.puts)
        if others or put or any(one.held for one in queue.items):
            return "QUEUE_IN_USE"
        return "QUEUE_NOT_EMPTY" if queue.items and not purge else ""

    def begun(self, client: str, unit: str) -> None:
        self.units[unit] = Unit(client)

    def put(self, client: str, number: int, letter: Letter, unit: str, *, logical: bool) -> Answer:
        handle = self.handles.get((client, number))
        if handle is None:
            return refused("HANDLE_NOT_OPEN")
        queue, at = handle.queue, handle.at["put"]
        if queue.is_gone:
            return refused("QUEUE_DELETED")
        if letter.hard and queue.kind == "TEMPDYN":
            return refused("PERSISTENT_NOT_ALLOWED")
        problem = self._numbered(letter, at, bool(unit)) if logical else ""
        if problem:
            self.met[f"put {problem}"] += 1
            return refused(problem)
        warning = at.left if at and not logical else ""
        if letter.group or at or logical:
            self._moves(handle, "put", after(letter, in_unit=bool(unit), logical=logical), unit)
        if (letter.segment or letter.grouped) and not letter.group:
            letter.group = self._new_group()
        parts = self._cut(queue, letter)
        reports = self._reports(letter, ARRIVAL)
        self._do_puts([(queue, part) for part in parts] + reports, unit)
        self._serve()
        return "put", warning, parts[0].group, letter.number

    def _numbered(self, letter: Letter, at: At | None, in_unit: bool) -> str:
        """Number what is put in logical order; or say why it is refused."""
        if at is None:
            letter.group = self._new_group() if letter.grouped or letter.segment else ""
            letter.number, letter.offset = 1, 0
            return ""
        if at.in_message and (not letter.segment or letter.grouped != at.in_group):
            return "INCOMPLETE_MESSAGE"
        if at.in_group and not letter.grouped:
            return "INCOMPLETE_GROUP"
        if letter.hard != at.hard:
            return "INCONSISTENT_PERSISTENCE"
        if in_unit != at.in_unit:
            return "INCONSISTENT_UNIT"
        letter.group, letter.number = at.group, at.number
        letter.offset = at.offset if letter.segment else 0
        return ""

    def _new_group(self) -> str:
        self._groups += 1
        return f"g{self._groups}"

    def _cut(self, queue: Queue, letter: Letter) -> list[Letter]:
        if len(letter.body) <= queue.longest:
            return [letter]
        self.met["message cut"] += 1
        letter.group = letter.group or self._new_group()
        size = queue.longest - queue.longest % STEP
        return [letter.part(start, size) for start in range(0, len(letter.body), size)]

    def get(self, wants: Wants) -> Answer | None:
        """MQGET, or a browse. None: it waits."""
        handle = self.handles.get((wants.client, wants.handle))
        if handle is None:
            return refused("HANDLE_NOT_OPEN")
        if handle.queue.is_gone:
            return refused("QUEUE_DELETED")
        at = handle.at["get"]
        if not wants.browses and wants.logical and at and at.in_unit != bool(wants.unit):
            return refused("INCONSISTENT_UNIT")
        if wants.under and self._under(handle) is None:
            return refused("NO_MESSAGE_UNDER_CURSOR")
        answer = self._look(handle, wants)
        if answer is None and wants.name:
            self.waiting.append(wants)
            return None
        self._serve()
        return answer or ("got", [], "")

    def unlock(self, client: str, number: int) -> Answer:
        handle = self.handles[client, number]
        if handle.queue.is_gone:
            return refused("QUEUE_DELETED")
        if handle.locked is None:
            return refused("NO_MESSAGE_LOCKED")
        self._unlock(handle)
        self._serve()
        return "got", [], ""

    def committed(self, unit: str) -> None:
        ended = self._end_unit(unit)
        for queue, letter in ended.gets:
            queue.items.remove(letter)
        for queue, letter in ended.puts:
            self._store(queue, letter)
        self._serve()

    def backed_out(self, unit: str) -> None:
        self._back_out(unit)
        self._serve()

    def lost(self, client: str) -> None:
        """A connection is gone: nobody waits, its units are backed out, its handles closed."""
        self.waiting = [one for one in self.waiting if one.client != client]
        for name in [name for name, unit in self.units.items() if unit.client == client]:
            self._back_out(name)
        for key in [key for key in self.handles if key[0] == client]:
            self._close(self.handles.pop(key))
        self._serve()

    def passes(self, now_ms: int) -> None:
        """Time passes: what nobody holds and whose time is over goes."""
        self.now_ms = now_ms
        over = [
            (one.expires_ms, queue.name, one.place, one)
            for queue in self.queues.values()
            for one in queue.free
            if self._over(one)
        ]
        for _, name, _, letter in sorted(over, key=lambda one: one[:3]):
            self._expire(self.queues[name], letter)
        self._serve()

    def crashed(self, *, keeps_soft: bool) -> None:
        """The queue manager went, and is there again. keeps_soft: its process lived on."""
        self.units = {}
        self.handles = {}
        self.waiting = []
        for queue in list(self.queues.values()):
            if queue.kind == "TEMPDYN":
                self._vanish(queue, "temporary queue gone with a restart")
                continue
            queue.items = [one for one in queue.items if one.hard or keeps_soft]
            for one in queue.items:
                one.lifts += bool(one.held) and one.held != LOCK and not one.hard
                one.held = ""

    # -- what follows

    def _over(self, letter: Letter) -> bool:
        return letter.is_over(self.now_ms)

    def _moves(self, handle: Handle, verb: str, at: At | None, unit: str) -> None:
        if unit and at != handle.at[verb]:
            self.units[unit].before.setdefault((handle, verb), handle.at[verb])
        handle.at[verb] = at

    def _do_puts(self, puts: list[tuple[Queue, Letter]], unit: str) -> None:
        if unit:
            self.units[unit].puts += puts
            return
        for queue, letter in puts:
            self._store(queue, letter)

    def _store(self, queue: Queue, letter: Letter) -> None:
        self._order += 1
        letter.order = self._order
        insort(queue.items, letter, key=lambda one: one.place)

    def _look(self, handle: Handle, wants: Wants) -> Answer | None:
        return self._browse(handle, wants) if wants.browses else self._take(handle, wants)

    def _take(self, handle: Handle, wants: Wants) -> Answer | None:
        found = self._first(handle, wants)
        if found is None:
            return None
        queue, unit, at = handle.queue, wants.unit, handle.at["get"]
        parts = queue.segments(found) if wants.complete else [found]
        if found is handle.locked:
            self._unlock(handle)
            self.met["got under the cursor"] += 1
        for one in parts:
            one.held = unit or LOCK
        told = self._shown(parts)
        if unit:
            self.units[unit].gets += [(queue, one) for one in parts]
        else:
            queue.items = [one for one in queue.items if one not in parts]
        whole = _joined(parts)
        self._do_puts(self._reports(whole, DELIVERY), unit)
        warning = ""
        if at or whole.group:
            warning = at.left if at and not wants.logical else ""
            there = after(whole, in_unit=bool(unit), logical=wants.logical)
            self._moves(handle, "get", there, unit)
        self._count(wants, parts)
        return "got", [told], warning

    def _count(self, wants: Wants, parts: list[Letter]) -> None:
        self.met["message reassembled"] += len(parts) > 1
        first = parts[0]
        if first.grouped and wants.logical:
            self.met["whole group got in order"] += wants.whole and first.last
            self.met["group got in units"] += bool(wants.unit) and first.last

    def _first(self, handle: Handle, wants: Wants) -> Letter | None:
        """Return what a get is given; what it meets whose time is over is discarded."""
        if wants.under:
            return self._under(handle)
        for letter in self._candidates(handle, wants, handle.at["get"]):
            if not self._over(letter):
                return letter
            self._expire(handle.queue, letter)
        return None

    def _under(self, handle: Handle) -> Letter | None:
        for one in handle.queue.items:
            if one.place == handle.cursor and (not one.held or one is handle.locked):
                return None if self._over(one) else one
        return None

    def _candidates(self, handle: Handle, wants: Wants, at: At | None) -> list[Letter]:
        """Return what fits, in the order of delivery."""
        queue = handle.queue
        if wants.logical and at is not None:
            found = [
                one
                for one in queue.free
                if (one.group, one.number, one.offset) == (at.group, at.number, at.offset)
            ]
        else:
            found = [one for one in queue.free if self._begins(handle, wants, one)]
            if wants.whole:
                found = [one for one in found if queue.has_group(one)]
        if wants.complete or wants.segments:
            found = [one for one in found if one.offset or queue.has_all(one)]
        if wants.complete:
            found = [one for one in found if queue.is_shown_whole(one)]
        return found

    def _begins(self, handle: Handle, wants: Wants, one: Letter) -> bool:
        """Whether a message may be given to whom is in no group, if groups are asked for."""
        if handle.colour and handle.colour != one.colour:
            return False
        if wants.group and wants.group != one.group:
            return False
        if (wants.logical or wants.whole) and (one.number != 1 or one.offset):
            return False
        return not ((wants.complete or wants.segments) and one.offset)

    def _browse(self, handle: Handle, wants: Wants) -> Answer | None:
        locked, handle.locked = handle.locked, None
        if locked is not None:
            locked.held = ""
        at = handle.at["browse"] if wants.logical and not wants.restart else None
        behind = NOWHERE if wants.restart else handle.head if wants.logical else handle.cursor
        if wants.under:
            found = [one for one in handle.queue.free if one.place == handle.cursor]
        else:
            found = [
                one
                for one in self._candidates(handle, wants, at)
                if (at or one.place > behind) and not self._over(one)
            ]
        if not found:
            if locked is not None:
                locked.held, handle.locked = LOCK, locked
            if wants.restart:
                handle.cursor = handle.head = NOWHERE
                handle.at["browse"] = None
            return None
        parts = handle.queue.segments(found[0]) if wants.complete else found[:1]
        told = self._shown(parts)
        whole = _joined(parts)
        if not wants.under:
            handle.cursor = found[0].place
            handle.head = handle.head if at else handle.cursor
        if handle.at["browse"] or whole.group:
            handle.at["browse"] = after(whole, in_unit=False, logical=wants.logical)
        if wants.lock:
            found[0].held, handle.locked = LOCK, found[0]
            self.met["browse locks"] += 1
        self.met["group browsed in order"] += bool(at) and whole.last
        return "got", [told], ""

    def _shown(self, parts: list[Letter]) -> Shown:
        return shown(_joined(parts), max(one.lifts for one in parts))

    def _unlock(self, handle: Handle) -> None:
        if handle.locked is not None:
            handle.locked.held, handle.locked = "", None

    def _close(self, handle: Handle) -> None:
        """Close a handle; a temporary queue goes with the one that made it."""
        self._unlock(handle)
        if handle.makes and handle.queue.kind == "TEMPDYN" and not handle.queue.is_gone:
            self._vanish(handle.queue, "temporary queue gone with its maker")

    def _vanish(self, queue: Queue, why: str) -> None:
        """A dynamic queue goes with all that is on it, whoever else uses it."""
        self.met[why] += 1
        self.met["queue gone while open"] += any(
            one.queue is queue for one in self.handles.values()
        )
        del self.queues[queue.name]
        queue.is_gone = True
        queue.items = []
        for unit in self.units.values():
            unit.puts = [one for one in unit.puts if one[0] is not queue]
            unit.gets = [one for one in unit.gets if one[0] is not queue]
        keys = [key for key, one in self.handles.items() if one.queue is queue]
        self._end_waits(lambda one: (one.client, one.handle) in keys, refused("QUEUE_DELETED"))

    def _end_unit(self, name: str) -> Unit:
        self._end_waits(lambda one: one.unit == name, ("got", [], ""))
        return self.units.pop(name)

    def _back_out(self, name: str) -> None:
        unit = self._end_unit(name)
        for (handle, verb), at in unit.before.items():
            handle.at[verb] = at
        self.met["handle taken back"] += bool(unit.before)
        for _, letter in unit.gets:
            letter.held = ""
            letter.lifts += 1

    def _end_waits(self, ends: Callable[[Wants], bool], answer: Answer) -> None:
        for one in [one for one in self.waiting if ends(one)]:
            self.waiting.remove(one)
            self.served[one.name] = answer

    def _serve(self) -> None:
        """Give those who wait what there is, in the order of their arrival."""
        while any(self._serve_one(one) for one in self.waiting):
            pass

    def _serve_one(self, wants: Wants) -> bool:
        answer = self._look(self.handles[wants.client, wants.handle], wants)
        if answer is None:
            return False
        self.met["waiting browse served" if wants.browses else "waiting get served"] += 1
        self.waiting.remove(wants)
        self.served[wants.name] = answer
        return True

    # -- reports

    def _expire(self, queue: Queue, letter: Letter) -> None:
        queue.items.remove(letter)
        self._do_puts(self._reports(letter, EXPIRY), "")

    def _reports(self, letter: Letter, kind: tuple[str, int]) -> list[tuple[Queue, Letter]]:
        """Make the report of a kind if it is asked for, with the queue that takes it."""
        return self._report(letter, kind[1]) if kind[0] in letter.report else []

    def _report(self, letter: Letter, feedback: int) -> list[tuple[Queue, Letter]]:
        name = f"{feedback} {letter.name}"
        queue, reason = self.queues.get(letter.reply_to), NO_QUEUE
        self.met[f"report {feedback}"] += 1
        if queue is not None and queue.kind == "TEMPDYN" and letter.hard:
            queue, reason = None, NOT_PERSISTENT
        if queue is None and letter.discards:
            self.met["report lost"] += 1
            return []
        if queue is None:
            self.met["report is a dead letter"] += 1
            name = f"{reason} {name}"
            queue = self.queues[DEAD]
        self.met["report to a dynamic queue"] += bool(queue.kind)
        return [(queue, Letter(name, priority=letter.priority, hard=letter.hard))]


def _joined(parts: list[Letter]) -> Letter:
    """Return the message that segments are; one by itself is as it is."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    return Letter(
        first.name,
        body="".join(one.body for one in parts),
        hard=first.hard,
        group=first.group if first.grouped else "",
        number=first.number,
        grouped=first.grouped,
        last=first.last,
        report=first.report,
        priority=first.priority,
        reply_to=first.reply_to,
        discards=first.discards,
    )
