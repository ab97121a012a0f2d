"""What a client has asked and not been told, and what to do about it when the connection is lost.

Pure bookkeeping: no socket, no thread, no clock of its own. The connection calls it under its lock,
but for answered(), which only the thread that reads calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from contextlib import suppress

from adapter.connection.channel import requests as rq
from adapter.connection.channel.checking import check_commands
from adapter.connection.channel.numbering import UNANSWERED_MAX, SessionNumbers
from adapter.connection.channel.requests import Handle, Operations, Pending, StartOver, UnitOnWire
from adapter.connection.channel.unit_again import begin_again, is_of, on_wire
from adapter.connection.wire.frames import AskServer
from adapter.core.contract import commands as c
from adapter.core.contract.results import Done, Refused
from adapter.core.contract.traits import Direction, trait_of
from adapter.errors import (
    BackedOut,
    ConnectionBroken,
    ConnectionClosed,
    Error,
    InDoubt,
    LimitReached,
)
from adapter.errors.refusals import refusal


class RequestBatch:
    """Requests that have their numbers and wait to be encoded.

    last, number: the request number and the session number given out last. one_way: those of the
    unit that get no answer, each behind which request number. asked: how many others are of it.
    """

    __slots__ = ("asked", "last", "number", "one_way", "opening", "operations", "requests", "unit")

    def __init__(
        self,
        requests: list[Pending],
        operations: Operations,
        last: int,
        number: int,
        opening: Pending | None,
    ) -> None:
        self.requests = requests
        self.operations = operations
        self.last = last
        self.number = number
        self.opening = opening
        self.asked = 0
        self.unit: UnitOnWire | None = None
        self.one_way: list[tuple[int, Pending]] = []


class UnansweredRequests:
    """What one connection has asked, and has open: requests, handles, units and the session."""

    def __init__(self) -> None:
        self.session = SessionNumbers()
        self.opening: Pending | None = None
        """The SessionOpen of the session, once it has been submitted."""
        self.epoch = 0
        """Counts lost TCP connections: what is gone with one remembers which it was."""
        self.pending: dict[int, Pending] = {}
        self.handles: dict[int, Handle] = {}
        self.units: dict[bytes, UnitOnWire] = {}
        self.let_go: deque[Handle | UnitOnWire | int] = deque()
        """Handles and units that programs have let go of; any thread may append, at any time. A
        number is that of a handle which is to be closed before it is opened again: see keep()."""
        self.requests = 0
        self.is_let_go = False
        """The queue manager has said goodbye, and has done nothing that it did not answer."""
        self._handle_numbers = 0
        self._reopened: list[Handle] = []
        """What was asked to be opened again on the link that is being made."""
        self._given_up = 0
        """How many numbers had been given up when the session was last resumed."""

    @property
    def session_problem(self) -> Refused | None:
        """Why the session could not be opened, if it was refused."""
        opening = self.opening
        answer = opening.answer if opening is not None else None
        return answer if isinstance(answer, Refused) else None

    def enlist(self, *, ahead: bool = False) -> UnitOnWire:
        """Draw a unit id; the unit is begun, ahead or not, with its first verb."""
        return UnitOnWire(self.session.new_unit_id(), self.session, ahead)

    def new_handle(self, queue: str, modes: int) -> Handle:
        """Draw a handle number."""
        self._handle_numbers += 1
        return Handle(self._handle_numbers, queue, modes)

    def keep(self, handle: Handle, *, is_linked: bool) -> None:
        """Have a handle opened again on each TCP connection from now on; its opening comes next.

        If it was let go of before that is over: what closed it then would close what is opened now.
        is_linked: it may be open on this connection, and is closed first.
        """
        self.handles[handle.number] = handle
        with suppress(ValueError, IndexError):  # nearly always: then it was not let go of
            self.let_go.remove(handle)
            if is_linked:
                self.let_go.appendleft(handle.number)

    def closes(self) -> list[Pending]:
        """Return the requests that close handles and back units out which programs let go of."""
        requests: list[Pending] = []
        room = UNANSWERED_MAX - self.session.unanswered_count
        while self.let_go and len(requests) < room:
            gone = self.let_go.popleft()
            if isinstance(gone, UnitOnWire):
                if self.holds(gone):
                    self.units.pop(gone.ident, None)
                    requests.append(Pending(c.Backout(gone.ident)))
            elif isinstance(gone, int):
                requests.append(Pending(c.Close(gone), rq.FORGOTTEN))
            elif self.handles.pop(gone.number, None) is not None:
                requests.append(Pending(c.Close(gone.number), rq.FORGOTTEN, handle=gone))
        return requests

    def holds(self, unit: UnitOnWire) -> bool:
        """Whether a unit has begun on the TCP connection in use, which may have been lost."""
        return unit.epoch == self.epoch and unit.session is self.session

    def prepare(
        self, requests: list[Pending], unit: UnitOnWire | None, *, one_way: bool = False
    ) -> RequestBatch:
        """Number requests, with what must go before them. Nothing is kept until register().

        one_way: requests without an answer can be sent now. Raises BackedOut if the unit is gone,
        or if they can be neither sent nor kept; LimitReached if too much is unanswered;
        InvalidType, InvalidValue if the queue manager could not read one.
        """
        check_commands(requests)
        if unit is not None and (unit.epoch != self.epoch or unit.is_broken):
            if unit.epoch >= 0 or unit.session is not self.session or unit.is_broken:
                raise _lost_unit(unit)
            begin = c.Begin(unit.ident, unit.ahead)
            requests = [Pending(begin, rq.FORGOTTEN, one_way=one_way, begins=unit), *requests]
        opening = None
        if self.opening is None or type(self.opening.answer) is Refused:
            opening = self._opening(requests)
            if opening is not None:
                requests = [opening, *requests]
        at, number, asked = self.requests, self.session.issued, 0
        operations: Operations = []
        unanswered: list[tuple[int, Pending]] = []
        for request in requests:
            if request.one_way:
                if not one_way and (unit is None or not unit.may_keep(requests)):
                    raise _lost_unit(unit or request.begins)
                if unit is not None and is_of(request, unit):
                    unanswered.append((at, request))
                operations.append((0, 0, request.command))
                continue
            at += 1
            request.request = at
            if request.durable:
                number += 1
                request.number = number
            if unit is not None and is_of(request, unit):
                asked += 1
            operations.append((at, request.number, request.command))
        issued = self.session.issued
        if number > issued and number - issued + self.session.unanswered_count > UNANSWERED_MAX:
            raise LimitReached(
                f"{UNANSWERED_MAX} commands are unanswered on this connection: "
                "use several connections"
            )
        batch = RequestBatch(requests, operations, at, number, opening)
        batch.unit, batch.one_way, batch.asked = unit, unanswered, asked
        return batch

    def register(self, batch: RequestBatch, sent: bool) -> None:
        """Keep a batch until it is answered. sent: it goes out now."""
        if batch.opening is not None:
            self.opening = batch.opening  # first: what is numbered in it is resumed with it
        self.session.issued = batch.number
        self.requests = batch.last
        for request in batch.requests:
            request.sent = sent
            if not request.one_way:
                self.pending[request.request] = request
            unit = request.begins
            if type(request.command) is c.Commit:
                request.ends = batch.unit
            if unit is not None:
                unit.epoch, unit.beginning = self.epoch, request
                self.units[unit.ident] = unit
                request.begins = None  # the unit knows its beginning: else they keep each other
        if batch.unit is not None:
            batch.unit.asked += batch.asked
            for behind, request in batch.one_way:
                request.handle = self.handles.get(_handle_of(request))
                batch.unit.keep(behind, request)

    def _opening(self, requests: list[Pending]) -> Pending | None:
        """Return what opens a session: the first one, or another if its opening was refused."""
        if self.opening is not None:
            if self.session.unanswered_count:
                return None
            self._start_session()  # the old one was refused; maybe there is room now
        if any(r.durable or type(r.command) is c.Begin for r in requests):
            return Pending(self.session.open_command())
        return None

    def answered(self, request: Pending, answer: rq.RequestResult) -> None:
        """A request has its answer, unless another thread has just settled it.

        It has it first: a signal handler may raise between any two of these steps, and what has
        neither an answer nor a place among the pending ones would be waited for without end.
        """
        if request.answer is None:
            request.answer = answer
        if self.pending.pop(request.request, None) is None:
            return
        if request.number:
            self.session.saw(request.number)
        if request.wake is not None:
            request.wake.put(None)

    def abandon(self, requests: Iterable[Pending]) -> None:
        """The thread or task that waited for these does not any more."""
        for request in requests:
            self._settle(request, "the call that waited for it was interrupted", ConnectionBroken)

    def is_unanswered(self, request: Pending) -> bool:
        """Whether a request was submitted and has no answer."""
        return self.pending.get(request.request) is request

    def number(self, requests: list[Pending]) -> list[Pending]:
        """Give request numbers, and nothing else."""
        for request in requests:
            self.requests += 1
            request.request = self.requests
        return requests

    def _settle(self, request: Pending, why: str, error: type[ConnectionBroken]) -> None:
        if self.pending.get(request.request) is not request:
            return  # the thread that reads has just brought the answer
        request.settle(_without_answer(request, why, error, self.session))
        if self.pending.pop(request.request, None) is not None and request.number:
            self.session.give_up(request.number, was_sent=request.sent)

    def _start_session(self) -> None:
        self.session, self.opening = SessionNumbers(), None


class Outstanding(UnansweredRequests):
    """The same, and what becomes of it when the TCP connection is lost, and on the next one."""

    def lost(self, why: str) -> None:
        """Settle what went with the TCP connection; the rest is sent again on the next."""
        self.epoch += 1
        units = on_wire(self.units, self.pending)
        opened = [handle.number for handle in self.handles.values() if handle.is_open]
        again = begin_again(units, self.pending, self.number, opened, is_let_go=self.is_let_go)
        self.units = {ident: unit for ident, unit in again.items() if ident in self.units}
        self.is_let_go = False
        for unit in again.values():
            unit.epoch = self.epoch
        for unit in units.values():
            if unit.ident not in again:
                unit.one_way = []
                if unit.beginning is not None:  # it must not begin without what it asked
                    self.pending.pop(unit.beginning.request, None)
        for request in list(self.pending.values()):
            if getattr(request.command, "unit", None) in again:
                continue
            if request.when_lost != rq.AGAIN and request.sent:
                request.settle(_loss_of(request, why))
                self.pending.pop(request.request, None)

    def farewell(self) -> list[Pending]:
        """Return the requests that end what is open: units first, then handles (S4.46)."""
        requests = [Pending(c.Backout(ident)) for ident in self.units]
        return requests + [Pending(c.Close(number)) for number in self.handles]

    def leave(self, abrupt: bool) -> None:
        """The program closes the connection: no thread waits any more for what is not durable.

        What is durable is still waited for, unless abrupt, so that its outcome gets known.
        """
        for request in list(self.pending.values()):
            if abrupt or not request.number or request.not_now is not None:
                self._settle(request, "it was closed meanwhile", ConnectionClosed)

    def give_up(self, why: str, error: type[ConnectionBroken] = ConnectionBroken) -> None:
        """There is no connection to be had: say of each request what is known of it."""
        self.units.clear()
        for request in list(self.pending.values()):
            self._settle(request, why, error)

    def session_lost(self, why: str) -> None:
        """The queue manager does not know the session any more: start another."""
        for request in list(self.pending.values()):
            if request.when_lost == rq.WITH_UNIT:
                request.settle(_loss_of(request, why))
                self.pending.pop(request.request, None)
            elif request.number:
                self._settle(request, why, ConnectionBroken)
        self._start_session()

    # -- what goes out on the next one

    def resumption(self) -> list[Pending]:
        """Return the requests that attach a new TCP connection to the session, if there is one."""
        for request in list(self.pending.values()):
            if request.answer is not None:  # a signal handler has raised between two steps
                self.pending.pop(request.request, None)
        opening = self.opening
        if opening is None:
            return []
        numbers = sorted(r.number for r in self.pending.values() if r.number)
        self.session.recount(len(numbers))
        self._given_up = self.session.given_up
        requests = [Pending(self.session.resume_command(numbers))]
        if not isinstance(opening.answer, Done):
            self.pending.pop(opening.request, None)
            requests.insert(0, Pending(self.session.open_command()))
        return self.number(requests)

    def resumed(self, requests: list[Pending]) -> None:
        """The resumption was granted."""
        opening = self.opening
        if len(requests) > 1 and opening is not None:
            opening.answer = requests[0].answer

    @property
    def must_resume_again(self) -> bool:
        """Whether a number was given up since the session was resumed: it does not come any more,
        and the queue manager would wait for it."""
        return self.opening is not None and self.session.given_up != self._given_up

    def reopening(self) -> list[Pending]:
        """Return the opens of every handle that was open, or that unanswered requests need."""
        self._drop_handles()
        wanted = {h.number: h for h in self.handles.values() if h.is_open}
        opening, closing = set(), set()
        for request in self.pending.values():
            if request.handle is not None:
                wanted.setdefault(request.handle.number, request.handle)
            if request.opens:
                opening.add(request.command.handle)
            elif isinstance(request.command, c.Close):
                closing.add(request.command.handle)
        for unit in on_wire(self.units, self.pending).values():
            for _, one in unit.one_way:
                if one.handle is not None:
                    wanted.setdefault(one.handle.number, one.handle)
        for number, handle in wanted.items():
            if number not in self.handles and number not in closing:
                self._close_afterwards(handle)
        requests = [
            rq.open_request(handle)
            for number, handle in sorted(wanted.items())
            if number not in opening and not handle.opened_with
        ]
        self._reopened = [handle for number, handle in wanted.items() if number in self.handles]
        return self.number(requests)

    def close_left(self) -> None:
        """Have handles closed that a program has closed while they were opened again."""
        for handle in self._reopened:
            if handle.number not in self.handles:
                self._close_afterwards(handle)
        self._reopened = []

    def _drop_handles(self) -> None:
        """Forget the handles that programs have let go of: they went with the connection."""
        for _ in range(len(self.let_go)):
            gone = self.let_go[0]
            if isinstance(gone, UnitOnWire):
                self.let_go.append(gone)  # its begin may be sent again, and its backout behind that
            elif not isinstance(gone, int):
                self.handles.pop(gone.number, None)
            self.let_go.popleft()  # last: see answered()

    def _close_afterwards(self, handle: Handle) -> None:
        """Close a handle behind the request that needs it: its own close was answered before."""
        (request,) = self.number([Pending(c.Close(handle.number), rq.FORGOTTEN, handle=handle)])
        self.pending[request.request] = request


def _handle_of(request: Pending) -> int:
    number: int = getattr(request.command, "handle", 0)
    return number


def _lost_unit(unit: UnitOnWire | None) -> BackedOut:
    ident = "" if unit is None else unit.ident.hex()
    return BackedOut(
        f"unit {ident} was backed out when the connection was lost: do its work again in a new "
        "unit",
        ident,
    )


def _loss_of(request: Pending, why: str) -> Error | StartOver:
    if request.when_lost == rq.WITH_UNIT:
        return BackedOut(
            f"the unit was backed out when the connection was lost ({why}): "
            "do its work again in a new unit"
        )
    return StartOver()


def _in_doubt(unit_id: bytes, what: str, name: str = "") -> InDoubt:
    return InDoubt(
        f"it is not known {what}: ask outcome(unit_id) on a new connection, "
        f"unit id {unit_id.hex()}",
        name,
        unit_id,
    )


def _without_answer(
    request: Pending, why: str, error: type[ConnectionBroken], session: SessionNumbers
) -> rq.RequestResult:
    """Say what is known of a request whose answer is not to be had."""
    command = request.command
    refused = None if request.unsure else request.not_now
    if refused is not None and error is not ConnectionClosed:
        return refusal(refused.reason, refused.name, refused.detail)
    if isinstance(command, c.Backout):
        return error(
            f"the connection is broken ({why}), and the unit was backed out with it: connect "
            "again, and do its work in a new unit",
            command.unit.hex(),
        )
    trait = trait_of(command)
    if trait.is_question or isinstance(command, AskServer):
        return error(f"the connection is broken ({why}): check the queue manager, and ask again")
    sent = request.sent and refused is None
    if sent and isinstance(command, c.Commit):
        return _in_doubt(command.unit, f"whether the unit was committed ({why})")
    if sent and request.number and trait.moves is not Direction.NOWHERE:
        verb = "the message was put" if trait.moves is Direction.PUT else "a message was got"
        name = request.handle.queue if request.handle else ""
        ident = session.own_unit_id(request.number)
        return _in_doubt(ident, f"whether {verb} ({why})", name)
    if sent:
        return error(
            f"the connection is broken ({why}), and it is not known whether this was done: "
            "connect again and inquire"
        )
    return error(
        f"the connection is broken ({why}); nothing was done: check the queue manager, and "
        "try again"
    )
