"""A core to try things on: everything that is decided is durable, and copied, at once.

What leaves its memory is read back from the topics that movers would have written. Commands go
through their wire form and records through their entry form, as in a queue manager. There is no
owner, no ledger and no clock: time passes when it is told to.
"""

import itertools
from typing import Any

import msgspec

from adapter.core import dispatch, inputs
from adapter.core.contract import commands as c
from adapter.core.contract.authorities import Denial
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.pages import Paged, PageNeeded
from adapter.core.contract.reasons import Reason
from adapter.core.contract.records import Record
from adapter.core.contract.results import Messages, PutDone, Refused, Result
from adapter.core.contract.traits import is_durable
from adapter.core.contract.unit_records import UnitCommitted
from adapter.core.effects import Effects
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.rules.drive.restore import whole
from adapter.storage.format import entries

START_MS = 1_700_000_000_000
IN_OUT = c.INPUT | c.OUTPUT | c.BROWSE | c.INQUIRE | c.SET | c.SET_CONTEXT
ORIGIN = {"user", "application"}
"""What is believed of a put that sets the context."""


class Core:
    """A queue manager's core, and the entries that its ledger would hold."""

    def __init__(
        self, limits: Limits | None = None, *, name: str = "QM1", **limits_by_name: int
    ) -> None:
        self._name = name
        self._limits = limits or Limits(**limits_by_name)
        self._owners = itertools.count(1)
        self._connections = itertools.count(1)
        self._sessions = itertools.count(1)
        self.entries: list[bytes] = []
        self.topics: dict[tuple[str, int, int], dict[int, Paged]] = {}
        """What movers would have copied: by queue, incarnation and lane, then by seq."""
        self.pages = 0
        self.evicted = 0
        self.to_read: dict[tuple[str, int, str], PageNeeded] = {}
        """Pages that are to be read, by queue, lane and field."""
        self.reads_pages = True
        self.now_ms = START_MS
        self.stepped_ms = 0
        """How far the time of day was set ahead, or back, so far."""
        self.entry_n = 1
        """The entry that is being collected."""
        self.answers: dict[tuple[int, int], Result] = {}
        self._terms = 0
        self.closed: dict[int, Refused] = {}
        self.denials: list[Denial] = []
        """Which authorities clients lacked."""
        self.qm = self._new()

    def _new(self) -> QueueManager:
        return QueueManager(self._name, self._new_owner(), self._limits)

    def _new_owner(self) -> bytes:
        return next(self._owners).to_bytes(4, "big") * 4

    def give(self, given: inputs.Input) -> Effects:
        """Give core an input, as of now. What it causes is not taken up: see take."""
        return dispatch.step(self.qm, self.now(), given)

    def now(self) -> inputs.Now:
        """Return when an input comes that is given now."""
        return inputs.Now(self.now_ms, self.elapsed_ms, self.entry_n)

    def connect(self) -> "Client":
        """Connect a client."""
        number = next(self._connections)
        self.give(inputs.Connected(number))
        return Client(self, number)

    def new_session_id(self) -> bytes:
        """Draw a session id."""
        return next(self._sessions).to_bytes(16, "big")

    def execute(self, request: c.Request) -> Effects:
        """Execute one request; its command may be used again."""
        copied = msgspec.msgpack.decode(
            msgspec.msgpack.encode(request.command), type=type(request.command)
        )
        again = c.Request(request.connection, request.request, request.number, copied)
        return self.take(self.give(again))

    def advance(self, seconds: float) -> Effects:
        """Let time pass, and let the core do what became due."""
        self.now_ms += round(seconds * 1000)
        return self.take(self.give(inputs.Tick()))

    def step(self, seconds: float) -> None:
        """Set the time of day ahead, or back; no time passes."""
        self.now_ms += round(seconds * 1000)
        self.stepped_ms += round(seconds * 1000)

    @property
    def elapsed_ms(self) -> int:
        """How much time has passed, from some moment on."""
        return self.now_ms - self.stepped_ms

    def next_tick_ms(self) -> int | None:
        """Say at what time of day something is due next, if nobody sets the clock."""
        due_in_ms = self.qm.due.in_ms(self.now_ms, self.elapsed_ms)
        return None if due_in_ms is None else self.now_ms + due_in_ms

    def disconnect(self, connection: int) -> Effects:
        """Let a connection end."""
        return self.take(self.give(inputs.Disconnected(connection)))

    def acknowledge(self, connection: int, seen: list[int]) -> Effects:
        """Let a client say which outcomes it has seen."""
        return self.take(self.give(inputs.OutcomesSeen(connection, seen)))

    def configure(self, **settings: Any) -> Effects:
        """Give it settings, and what every queue manager has."""
        return self.take(self.give(inputs.Configured(settings)))

    def crash(self) -> None:
        """Go on with a new core that knows what the entries say, and nothing else."""
        self.qm = self.replayed()
        self._terms += 1
        dispatch.begin_term(self.qm, self._new_owner(), self._terms)
        self.entry_n = 1
        self.give(inputs.Restarted())
        self.answers.clear()
        self.to_read.clear()

    def crash_with_snapshot(self, lagging: int = 0) -> None:
        """Crash right after a snapshot: the new core knows no message's content.

        lagging: so many of the last entries were not yet copied; their messages are in it, whole.
        """
        moved_n = self.entry_n - 1 - lagging
        left = dispatch.unmoved(self.qm, moved_n, frozenset())
        self.snapshot()
        self.entries += [entries.encode([record]) for record in whole(left)]
        for name, found in left.items():
            for one in found:
                del self.topics[name, self.queue(name).incarnation, -one.place[0]][one.place[1]]
        self.crash()

    def replayed(self) -> QueueManager:
        """Return what the entries say."""
        qm = self._new()
        for payload in self.entries:
            for record in entries.decode(payload):
                unfit = dispatch.replay(qm, record)
                assert not unfit, f"{record}: {unfit}"
        self.load_outcomes(qm)
        return qm

    def load_outcomes(self, qm: QueueManager) -> None:
        """Complete what a core that has replayed entries does not know of outcomes."""
        for (session, number), absent in list(qm.absent.items()):
            read = [
                self.topics[taken.queue, absent.incarnation, taken.lane][taken.seq]
                for taken in absent.missing()
            ]
            dispatch.load_outcome(qm, session, number, read)

    def snapshot(self) -> None:
        """Put what there is in the place of all entries before."""
        described = list(dispatch.snapshot(self.qm))
        self.entries = [entries.encode([record]) for record in described]

    def queue(self, name: str = "Q") -> LocalQueue:
        """Return a queue of the core, to look at."""
        return self.qm.queues[name]

    def take(self, effects: Effects) -> Effects:
        logged = [record for record in effects.records if record.logged]
        if logged or effects.barrier:
            self.entries.append(entries.encode(logged))
            self.entry_n += 1
            self._copy(logged)
        self.closed |= effects.closed
        self.denials += effects.denied
        for reply in effects.replies:
            key = (reply.connection, reply.request)
            assert key not in self.answers, f"request {key} was answered twice"
            self.answers[key] = reply.result
        self.to_read |= {(one.queue, one.lane, one.field): one for one in effects.pages_wanted}
        self._page()
        return effects

    def _copy(self, records: list[Record]) -> None:
        """Do what movers do."""
        for record in records:
            if isinstance(record, UnitCommitted):
                for put in record.puts:
                    queue = self.qm.queues.get(put.queue)
                    incarnation = queue.incarnation if queue else 0
                    lane = self.topics.setdefault((put.queue, incarnation, put.lane), {})
                    assert put.seq > next(reversed(lane), 0), "lanes are copied in order"
                    lane[put.seq] = Paged(
                        seq=put.seq,
                        message=msgspec.structs.replace(put.message),
                        unit=record.unit,
                        unit_index=put.index,
                        unit_size=record.size,
                        queue_unit_index=put.queue_index,
                        queue_unit_size=put.queue_size,
                    )

    def _page(self) -> None:
        """Read the pages that are wanted; then let go of what need not be in memory."""
        if not self.reads_pages:
            return
        wanted, self.to_read = list(self.to_read.values()), {}
        for needed in wanted:
            self._read_page(needed)
        self.evict()

    def read_page(self, key: tuple[str, int, str]) -> None:
        """Read one of the pages that are to be read; nothing, if its queue is gone."""
        needed = self.to_read.pop(key)
        if needed.queue in self.qm.queues:
            self._read_page(needed)

    def _read_page(self, needed: PageNeeded) -> None:
        queue = self.qm.queues[needed.queue]
        if needed.at_hand:
            self.take(self.give(inputs.PageLoaded(needed, queue.incarnation, -1, [])))
            return
        self.pages += 1
        topic = self.topics.get((needed.queue, queue.incarnation, needed.lane), {})
        if needed.seq not in topic:
            self.take(self.give(inputs.PageMissing(needed, queue.incarnation)))
            return
        through = needed.seq + (needed.count or self.qm.window[0]) - 1
        page = [topic[seq] for seq in range(needed.seq, through + 1) if seq in topic]
        copies = [
            msgspec.structs.replace(one, message=msgspec.structs.replace(one.message))
            for one in page
        ]
        self.take(self.give(inputs.PageLoaded(needed, queue.incarnation, through, copies)))

    def evict(self) -> None:
        """Let go of what need not be in memory."""
        self.evicted += self.give(inputs.Copied(self.entry_n)).paged_out


class Client:
    """One connection to a Core. Durable commands are numbered, the session is opened for them."""

    def __init__(self, core: Core, number: int) -> None:
        self.core = core
        self.number = number
        self.session = b""
        self.issued = 0
        self._requests = 0
        self._units = 0

    def send(self, command: c.Command, number: int | None = None) -> int:
        """Send a command and return its request number; number: its number in the session."""
        durable = is_durable(command)
        if not self.session and (durable or isinstance(command, c.Begin)):
            self.open_session(self.core.new_session_id())
        if number is None:
            number = self.issued + 1 if durable else 0
        self.issued = max(self.issued, number)
        self._requests += 1
        request = c.Request(self.number, self._requests, number, command)
        self.core.execute(request)
        return self._requests

    def tell(self, command: c.Command) -> Effects:
        """Send a one-way operation."""
        return self.core.execute(c.Request(self.number, 0, 0, command))

    def answer(self, request: int) -> Result | None:
        """Return the answer to a request, or None if it waits."""
        return self.core.answers.get((self.number, request))

    def do(self, command: c.Command, number: int | None = None) -> Result:
        """Send a command that is answered at once."""
        answer = self.answer(self.send(command, number))
        assert answer is not None, f"{command} waits"
        return answer

    def refused(self, command: c.Command, number: int | None = None) -> Reason:
        """Send a command that is refused; return the reason."""
        answer = self.do(command, number)
        assert isinstance(answer, Refused), answer
        assert all(32 <= ord(letter) < 127 for letter in answer.detail), answer
        return Reason(answer.reason)

    def open_session(self, session: bytes) -> None:
        """Open a session."""
        self.session = session
        self.do(c.SessionOpen(session))

    def resume(self, session: bytes, unanswered: list[int], issued: int) -> Result:
        """Attach to a session that another connection has opened."""
        self.session, self.issued = session, issued
        return self.do(c.SessionResume(session, unanswered, issued))

    def seen(self, *numbers: int) -> None:
        """Say which outcomes have arrived."""
        self.core.acknowledge(self.number, list(numbers))

    def lose(self) -> None:
        """Lose the connection."""
        self.core.disconnect(self.number)

    # The verbs, on handle 1 and queue Q unless told otherwise.

    def define(self, name: str = "Q", **attributes: Any) -> Result:
        """Define a queue."""
        return self.do(c.DefineQueue(name, attributes))

    def open(self, name: str = "Q", modes: int = IN_OUT, handle: int = 1) -> Result:
        """Open a queue."""
        return self.do(c.Open(handle, name, modes))

    def begin(self, *, ahead: bool = False) -> bytes:
        """Begin a unit."""
        unit = self.new_unit()
        self.do(c.Begin(unit, ahead))
        return unit

    def new_unit(self) -> bytes:
        """Draw the id of a unit that has not begun; the session is open."""
        self._units += 1
        if not self.session:
            self.open_session(self.core.new_session_id())
        return self.session + self._units.to_bytes(8, "big")

    def begin_held(self) -> bytes:
        """Begin a unit whose answer may come later; the session is open."""
        self._units += 1
        unit = self.session + self._units.to_bytes(8, "big")
        self.send(c.Begin(unit))
        return unit

    def put(self, *bodies: str, unit: bytes = b"", handle: int = 1, **fields: Any) -> list[bytes]:
        """Put messages and return their ids."""
        messages = [MessageData(body=body.encode(), **fields) for body in bodies]
        options = c.SET_CONTEXT if ORIGIN & fields.keys() else 0
        answer = self.do(c.Put(handle, messages, unit, options))
        assert isinstance(answer, PutDone), answer
        return answer.message_ids

    def take(self, unit: bytes = b"", handle: int = 1, **options: Any) -> list[Delivered]:
        """Get messages."""
        answer = self.do(c.Get(handle, unit, **options))
        assert isinstance(answer, Messages), answer
        return answer.messages

    def get(self, unit: bytes = b"", handle: int = 1, **options: Any) -> list[str]:
        """Get messages and return their bodies."""
        return [each.message.body.decode() for each in self.take(unit, handle, **options)]

    def browse(self, handle: int = 1, **options: Any) -> list[str]:
        """Browse and return the bodies."""
        answer = self.do(c.Browse(handle, **options))
        assert isinstance(answer, Messages), answer
        return [each.message.body.decode() for each in answer.messages]


def client_on(*names: str, limits: Limits | None = None, **attributes: Any) -> Client:
    """Return a client of a new core with these queues, each open under handle 1, 2, ..."""
    client = Core(limits).connect()
    for handle, name in enumerate(names or ("Q",), 1):
        client.define(name, **attributes)
        client.open(name, handle=handle)
    return client
