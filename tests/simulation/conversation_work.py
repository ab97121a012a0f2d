"""Sessions of Service Broker, drawn at random, beside administrators, clocks and crashes.

Their auditor judges what is received. Again and again the queue manager is looked at: no verb waits
that would be answered if it came now, every count is that of what is counted, and from the ledger
comes the same queue manager.
"""

from __future__ import annotations

import copy
import random
from collections import Counter
from typing import Any

from adapter.core import inputs
from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.reasons import Reason
from adapter.core.contract.records import ConversationSet
from adapter.core.contract.results import Descriptions, Done, Messages, Refused, Result
from adapter.core.contract.weights import weight
from adapter.core.model.broker_queue import PREFIX
from adapter.core.model.manager import QueueManager
from adapter.core.rules.broker import verbs
from tests.simulation.conversation_auditor import (
    END,
    ERROR,
    TIMER,
    USUAL,
    ConversationAuditor,
)
from tests.support.core import Client, Core
from tests.support.dialogs import groups_of
from tests.support.hard_state import check_snapshots

QUEUES = ("Q0", "Q1", "Q2")
SERVICES = {"s0": "Q0", "s1": "Q1", "s2": "Q2"}
LATER = "later"
"""A service that is made at some time."""
FAR = "far"
"""A service at another queue manager, once there is a route to it."""
FAR_MANAGER = "QM2"
PROGRAMS = ("ada", "bob", "eve")
GROUPS = [bytes([number]) * 16 for number in range(1, 4)]
KINDS = {b.END_DIALOG: END, b.ERROR: ERROR, b.DIALOG_TIMER: TIMER, b.DEFAULT: USUAL}
NO_UNIT = {Reason.BACKED_OUT, Reason.DEADLOCK_VICTIM}
"""What says that the transaction is over."""
WAITS_EVERY, REPLAY_EVERY, LOOK_EVERY = 5, 6, 9
"""Operations between two looks: a verb that is not woken mostly goes on waiting for long."""
LISTS = (b.ENDPOINTS, b.GROUPS, b.TRANSMISSION, *kinds.TYPES)


class ConversationWork:
    """One run; a seed says everything that happens."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.core = Core(window_messages=self.rng.choice((2, 3, 1_000)))
        self.core.configure()
        self.auditor = ConversationAuditor()
        self.admin = self.core.connect()
        self.people: dict[str, Client] = {}
        self.units: dict[str, bytes] = {}
        self.waits: dict[str, tuple[int, Any]] = {}
        """Of who waits: the request, and the verb."""
        self.count = 0
        self.looks_now = False
        self.targets: dict[bytes, bytes] = {}
        """The endpoint of each conversation's target: there is never another one."""
        for queue in QUEUES:
            self.admin.do(b.BrokerCreate(kinds.QUEUE, queue))
        for service, queue in SERVICES.items():
            self._create_service(service, queue)
        self._connect()
        self.programs = {
            self.begin: 14,
            self.send: 24,
            self.receive: 24,
            self.get_group: 2,
            self.move: 7,
            self.end: 4,
            self.set_timer: 5,
            self.save: 5,
            self.return_to: 5,
            self.commit: 30,
            self.roll_back: 6,
            self.fail_behind_a_savepoint: 3,
            self.end_all: 0.5,
            self.move_beside_waits: 3,
            self.ring_while_off: 1,
        }
        self.others = {
            self.tick: 12,
            self.turn: 10,
            self.repair: 6,
            self.lose: 2,
            self.crash: 2,
            self.drop_service: 0.5,
            self.make_services: 1,
            self.move_service: 1,
            self.retire: 2,
            self.drop_beside_a_wait: 1.5,
            self.deploy_again: 2,
            self.change_route: 3,
            self.retain: 2,
        }

    @property
    def met(self) -> Counter[str]:
        """What has been met, and how often."""
        return +self.auditor.met

    def run(self, operations: int) -> None:
        """Work, and look at everything at the end."""
        for number in range(operations):
            if self.rng.random() < 0.75:
                who = self.rng.choice(PROGRAMS)
                verb = self.rng.choices([*self.programs], [*self.programs.values()])[0]
                if who not in self.waits:
                    verb(who)
                elif self.rng.random() < 0.3:
                    self.roll_back(who)
            else:
                self.rng.choices([*self.others], [*self.others.values()])[0]()
            self._hear()
            self._check_counts()
            if number % WAITS_EVERY == 0 or self.looks_now:
                self.looks_now = False
                self._check_waits()
            if number % REPLAY_EVERY == 0:
                self._check_replay()
            if number % LOOK_EVERY == 0:
                self._check_lists()
        self._come_to_rest()

    # -- what programs do

    def _unit(self, who: str) -> bytes:
        if who not in self.units:
            self.units[who] = self.people[who].begin()
        return self.units[who]

    def _do(self, who: str, command: Any, lock_ms: int | None = None) -> None:
        """Give a verb; it may wait, and its answer is heard then."""
        command.unit = self._unit(who)
        if hasattr(command, "lock_ms"):
            drawn = self.rng.choice((0, 0, -1, -1, 3_000))
            command.lock_ms = drawn if lock_ms is None else lock_ms
        self.auditor.note(who, command)
        self.waits[who] = self.people[who].send(command), command
        self._hear()

    def _hear(self) -> None:
        """Take the answers that have come."""
        for who, (request, command) in list(self.waits.items()):
            answer = self.people[who].answer(request)
            if answer is not None:
                del self.waits[who]
                self._answered(who, command, answer)
            else:
                self.auditor.met["wait"] += 1

    def _answered(self, who: str, command: Any, answer: Result) -> None:
        self.auditor.note(who, "is answered", type(command).__name__, answer)
        if isinstance(answer, Refused):
            self.auditor.met[Reason(answer.reason).name] += 1
            if answer.reason in NO_UNIT and self.units.pop(who, None) is not None:
                self.auditor.backed_out(who)
        elif isinstance(command, b.BrokerSend):
            for handle in command.handles:
                self.auditor.send(who, self._side(handle, who), (command.body or b"").decode())
        elif isinstance(command, b.BrokerEnd):
            side = self._side(command.handle, who)
            self.auditor.end(who, side, with_error=command.error is not None or command.cleanup)
        elif isinstance(command, b.BrokerTimer):
            self.auditor.talk(who).timers.append(self._side(command.handle, who))
        elif isinstance(command, b.BrokerBegin) and command.lifetime_ms:
            self.auditor.talk(who).loose.append(command.handle.hex())
        elif isinstance(command, b.BrokerReceive):
            assert isinstance(answer, Messages)
            for one in answer.messages:
                header = one.message.broker
                assert header is not None
                side = header.conversation.hex() + ("t" if header.from_initiator else "i")
                kind = KINDS[header.message_type]
                body = one.message.body.decode(errors="replace")
                self.auditor.receive(who, side, kind, body)

    def _side(self, handle: bytes, who: str) -> str:
        state = self._state(handle, who)
        return state.conversation.hex() + ("i" if state.is_initiator else "t")

    def _state(self, handle: bytes, who: str) -> ConversationSet:
        endpoint = self.core.qm.conversations.endpoints.get(handle)
        if endpoint is not None:
            return endpoint.state
        return next(one for one in self._begun(who) if one.handle == handle)

    def _begun(self, who: str) -> list[ConversationSet]:
        connection = self.core.qm.connections[self.people[who].number]
        work = [unit.broker for unit in connection.units.values() if unit.broker is not None]
        return [state for one in work for state in one.list_begun()]

    def _handle(self, who: str) -> bytes:
        """Draw a handle of those that there are; mostly one of the last."""
        known = [*self.core.qm.conversations.endpoints, *(one.handle for one in self._begun(who))]
        return self.rng.choice(known[-6:]) if known else bytes(16)

    def begin(self, who: str, to: str = "") -> None:
        """Begin a dialog, mostly with a message."""
        self.count += 1
        handle = self.count.to_bytes(16, "big")
        group = self.rng.choice((handle, handle, *GROUPS))
        to = to or self.rng.choice((*SERVICES, *SERVICES, LATER, FAR))
        life_ms = self.rng.choice((0,) * 9 + (4_000,))
        own = self.rng.choice([*SERVICES])
        command = b.BrokerBegin(b"", handle, own, to, lifetime_ms=life_ms, group=group)
        self._do(who, command)
        if who not in self.waits and self.rng.random() < 0.9:
            self._send(who, handle)

    def send(self, who: str) -> None:
        self._send(who, self._handle(who))

    def _send(self, who: str, handle: bytes) -> None:
        self.count += 1
        self._do(who, b.BrokerSend(b"", [handle], body=f"m{self.count}".encode()))

    def receive(self, who: str) -> None:
        by = self.rng.choice(("", "", "", "handle", "group"))
        handle = self._handle(who) if by == "handle" else b""
        state = self.core.qm.conversations.endpoints.get(handle)
        queue = self.rng.choice(QUEUES)
        if state is not None and self.rng.random() < 0.9:
            queue = state.state.queue.removeprefix(PREFIX)
        top = self.rng.choice((-1, -1, 1, 2))
        group = self.rng.choice(GROUPS) if by == "group" else b""
        wait_ms = self.rng.choice((0, 0, 0, -1, 3_000))
        self._do(who, b.BrokerReceive(b"", queue, top, handle, group, wait_ms))

    def get_group(self, who: str) -> None:
        self._do(who, b.BrokerGetGroup(b"", self.rng.choice(QUEUES)))

    def move(self, who: str) -> None:
        self._do(who, b.BrokerMove(b"", self._handle(who), self.rng.choice(GROUPS)))

    def end(self, who: str) -> None:
        how = self.rng.choice(("plainly", "plainly", "error", "error", "cleanup"))
        error = 9 if how == "error" else None
        self._do(who, b.BrokerEnd(b"", self._handle(who), error, cleanup=how == "cleanup"))

    def end_all(self, who: str) -> None:
        """End what is on a queue, or was begun from there, and commit."""
        self._end_all(who, self.rng.choice(QUEUES))

    def _end_all(self, who: str, queue: str) -> None:
        key = PREFIX + queue.lower()
        for handle, one in list(self.core.qm.conversations.endpoints.items()):
            if one.state.queue == key and who not in self.waits:
                self._do(who, b.BrokerEnd(b"", handle))
        self.commit(who)

    def move_beside_waits(self, who: str) -> None:
        """Move a conversation to another group, while others wait for both groups; and commit."""
        handle, beside = self._handle(who), self._handle(who)
        group = self._state(beside, who).group if any(beside) else b""
        self._send(who, handle)
        if who in self.waits or not group:
            return
        self._do(who, b.BrokerMove(b"", handle, group))
        free = [one for one in PROGRAMS if one != who and one not in self.waits]
        for one, wanted in zip(free, (beside, handle), strict=False):
            self.count += 1
            self._do(one, b.BrokerSend(b"", [wanted], body=f"m{self.count}".encode()), -1)
        self.auditor.met["move beside two waits"] += all(one in self.waits for one in free[:2])
        self.commit(who)
        self.looks_now = True

    def ring_while_off(self, who: str) -> None:
        """Let a timer ring while its queue is OFF, and end both sides."""
        endpoints = self.core.qm.conversations.endpoints
        targets = [one.state for one in endpoints.values() if not one.state.is_initiator]
        if not targets:
            return
        state = self.rng.choice(targets)
        self._do(who, b.BrokerTimer(b"", state.handle, 1_000))
        self.commit(who)
        self._alter(state.queue.removeprefix(PREFIX), status=False)
        self.core.advance(2)
        for side in (True, False):
            endpoint = self.core.qm.conversations.at(state.conversation, side)
            if endpoint is not None and who not in self.waits:
                self._do(who, b.BrokerEnd(b"", endpoint.state.handle, cleanup=True))
        self.commit(who)

    def set_timer(self, who: str) -> None:
        seconds = self.rng.choice((1, 2, 5))
        self._do(who, b.BrokerTimer(b"", self._handle(who), 1_000 * seconds))

    def save(self, who: str) -> None:
        name = self.rng.choice("ab")
        answer = self.people[who].do(b.BrokerSave(self._unit(who), name))
        assert isinstance(answer, Done), answer
        self.auditor.note(who, "saves", name)
        self.auditor.save(who, name)

    def return_to(self, who: str) -> None:
        name = self.rng.choice("ab")
        answer = self.people[who].do(b.BrokerRollbackTo(self._unit(who), name))
        known = name in self.auditor.saved.get(who, {})
        assert isinstance(answer, Done) == known, f"{who} returns to {name}: {answer}"
        self.auditor.note(who, "returns to", name, answer)
        if known:
            self.auditor.return_to(who, name)

    def fail_behind_a_savepoint(self, who: str) -> None:
        """Send, end with an error behind a savepoint, and take that back."""
        handle = self._handle(who)
        self._send(who, handle)
        if who not in self.waits and who in self.units:
            self.save(who)
            self._do(who, b.BrokerEnd(b"", handle, 9))
            if who not in self.waits and who in self.units:
                self.return_to(who)

    def commit(self, who: str) -> None:
        self._end_unit(who, commits=True)

    def roll_back(self, who: str) -> None:
        self._end_unit(who, commits=False)

    def _end_unit(self, who: str, *, commits: bool) -> None:
        self._hear()  # what others have done may have answered a verb that waited
        unit = self.units.get(who)
        if unit is None:
            return
        answer = self.people[who].do(c.Commit(unit) if commits else c.Backout(unit))
        self.auditor.note(who, "commits" if commits else "rolls back", answer)
        self.waits.pop(who, None)
        if isinstance(answer, Refused):  # an answer cannot leave
            answer = self.people[who].do(c.Backout(unit))
            commits = False
        del self.units[who]
        (self.auditor.committed if commits else self.auditor.backed_out)(who)

    # -- what others do

    def tick(self) -> None:
        self.core.advance(self.rng.choice((0, 1, 2, 5)))
        self.auditor.note("it is", self.core.now_ms)

    def turn(self) -> None:
        self._alter(self.rng.choice(QUEUES), status=self.rng.random() < 0.6)

    def repair(self) -> None:
        """Create what there is not, and turn all ON."""
        self.make_services()
        for queue in QUEUES:
            self._alter(queue, status=True)

    def retain(self) -> None:
        self._alter(self.rng.choice(QUEUES), retention=self.rng.random() < 0.5)

    def _alter(self, queue: str, **attributes: Any) -> None:
        answer = self.admin.do(b.BrokerAlter(kinds.QUEUE, queue, attributes))
        self.auditor.note(queue, attributes, answer)

    def lose(self) -> None:
        """Lose a connection."""
        who = self.rng.choice(PROGRAMS)
        self.people[who].lose()
        self.auditor.note(who, "is lost")
        self.units.pop(who, None)
        self.waits.pop(who, None)
        self.auditor.backed_out(who)
        self._connect(who)

    def crash(self) -> None:
        self.auditor.note("crash")
        (self.core.crash if self.rng.random() < 0.5 else self.core.crash_with_snapshot)()
        self.auditor.crashed()
        self.units.clear()
        self.waits.clear()
        self.core.advance(0)
        self.admin = self.core.connect()
        self._connect()
        self.change_route()

    def _connect(self, *names: str) -> None:
        for name in names or PROGRAMS:
            self.people[name] = client = self.core.connect()
            client.open_session(self.core.new_session_id())

    def _create_service(self, service: str, queue: str) -> None:
        attributes = {"queue": queue, "contracts": b.DEFAULT}
        answer = self.admin.do(b.BrokerCreate(kinds.SERVICE, service, attributes))
        self.auditor.note("create", service, queue, answer)

    def _drop(self, kind: str, name: str) -> bool:
        states = [one.state for one in self.core.qm.conversations.endpoints.values()]
        is_used = any(one.queue == PREFIX + name.lower() for one in states)
        answer = self.admin.do(b.BrokerDrop(kind, name))
        if is_used:
            assert isinstance(answer, Refused), f"{name} was dropped under conversations"
        self.auditor.note("drop", kind, name, answer)
        if kind == kinds.SERVICE and isinstance(answer, Done):
            lost = {one.conversation.hex() for one in states if one.service == name}
            self.auditor.dropped(lost)
        self.auditor.met[f"{kind} dropped"] += isinstance(answer, Done)
        return isinstance(answer, Done)

    def drop_service(self) -> None:
        self._drop(kinds.SERVICE, self.rng.choice((*SERVICES, LATER)))

    def drop_beside_a_wait(self) -> None:
        """Drop the service of a conversation whose messages a program waits for."""
        free = [who for who in PROGRAMS if who not in self.waits and who not in self.units]
        endpoints = [*self.core.qm.conversations.endpoints.values()]
        if free and endpoints:
            state = self.rng.choice(endpoints).state
            queue = state.queue.removeprefix(PREFIX)
            wanted = b.BrokerReceive(b"", queue, -1, state.handle, wait_ms=-1)
            self._do(free[0], wanted)
            is_waiting = free[0] in self.waits
            self.looks_now = self._drop(kinds.SERVICE, state.service) and is_waiting
            self.auditor.met["service dropped beside a wait"] += self.looks_now

    def make_services(self) -> None:
        """Create what there is not."""
        for queue in QUEUES:
            self.admin.do(b.BrokerCreate(kinds.QUEUE, queue))
        for service in (*SERVICES, *self.rng.choice(((), (LATER,)))):
            self._create_service(service, self.rng.choice(QUEUES))

    def move_service(self, service: str = "") -> None:
        """Let a service, or this one, have another queue."""
        service, queue = service or self.rng.choice((*SERVICES, LATER)), self.rng.choice(QUEUES)
        answer = self.admin.do(b.BrokerAlter(kinds.SERVICE, service, {"queue": queue}))
        self.auditor.note("alter", service, queue, answer)

    def retire(self) -> None:
        """Let all services of a queue have another one, and drop it; perhaps its conversations have
        ended, and nobody could be told.
        """
        queue = self.rng.choice(QUEUES)
        if self.rng.random() < 0.6:
            for who in PROGRAMS:
                self._end_unit(who, commits=True)
            for one in QUEUES:
                self._alter(one, status=False)
            self._end_all("ada", queue)
        for service in sorted(self.core.qm.references.find((kinds.QUEUE, PREFIX + queue.lower()))):
            other = self.rng.choice([one for one in QUEUES if one != queue])
            self.admin.do(b.BrokerAlter(kinds.SERVICE, service, {"queue": other}))
        count = self.core.qm.conversations.of_queue[PREFIX + queue.lower()]
        self.auditor.met["queue to be dropped under conversations"] += count > 0
        self._drop(kinds.QUEUE, queue)
        if self.rng.random() < 0.7:
            self.repair()

    def deploy_again(self) -> None:
        """Turn a queue OFF, and have a message wait there; then let its service have another queue,
        or drop both and create them.
        """
        service, queue = self.rng.choice([*SERVICES.items()])
        self._alter(queue, status=False)
        free = [who for who in PROGRAMS if who not in self.waits and who not in self.units]
        if free:
            self.begin(free[0], service)
            self.commit(free[0])
        if self.rng.random() < 0.5:
            self.move_service(service)
        elif self.rng.random() < 0.5 and self._drop(kinds.SERVICE, service):
            self._drop(kinds.QUEUE, queue)
            self.make_services()
        if free and self.auditor.sent:
            self._send(free[0], bytes.fromhex([*self.auditor.sent][-1][:-1]))

    def change_route(self) -> None:
        """Let another queue manager be known or not, and create or drop the route to it."""
        known = frozenset({FAR_MANAGER} if self.rng.random() < 0.7 else ())
        self.core.take(self.core.give(inputs.QueueManagersKnown(known, {})))
        if self.rng.random() < 0.7:
            attributes = {"service": FAR, "address": FAR_MANAGER}
            self.admin.do(b.BrokerCreate(kinds.ROUTE, "r", attributes))
        else:
            self.admin.do(b.BrokerDrop(kinds.ROUTE, "r"))
        self.auditor.note("known", known, "routes", self.core.qm.references.first(("route", FAR)))

    # -- looking

    def _check_waits(self) -> None:
        """No verb waits that would be answered if it came now."""
        if self.waits:
            qm = copy.deepcopy(self.core.qm)
            for who, (request, command) in self.waits.items():
                waiter = qm.connections[self.people[who].number].waiters.get(request)
                if waiter is None:
                    continue  # it waits for a page
                try:
                    found = verbs.serve(qm, waiter)
                except PageNeeded:
                    continue
                assert found is None, f"{who} waits with {command}, and could have {found}"

    def _check_counts(self) -> None:
        qm = self.core.qm
        states = [one.state for one in qm.conversations.endpoints.values()]
        assert qm.conversations.of_service == Counter(one.service for one in states)
        assert qm.conversations.of_contract == Counter(one.contract for one in states)
        assert qm.conversations.of_queue == Counter(one.queue for one in states)
        for state in states:
            if not state.is_initiator:
                known = self.targets.setdefault(state.conversation, state.handle)
                assert known == state.handle, f"{state.conversation.hex()} has another target"
        begun = [one for who in PROGRAMS for one in self._begun(who)]
        named = [("service", one.service) for one in begun]
        named += [("contract", one.contract) for one in begun]
        assert qm.conversations.begun == Counter(named)
        for queue in qm.queues.values():
            assert queue.available_count == sum(len(lane) for lane in queue.lanes), queue.name
            locked = sum(stored.locked for stored in queue.stored.values())
            assert queue.locked_count == locked, queue.name
            assert queue.available_count == sum(queue.available_by_priority), queue.name
        self._check_units(qm)

    def _check_units(self, qm: QueueManager) -> None:
        total = 0
        for connection in qm.connections.values():
            for unit in connection.units.values():
                sends = [] if unit.broker is None else list(unit.broker.sends)
                put = [*(message for _, message in unit.puts), *sends]
                held = sum(len(one.body) for one in put)
                held += sum(stored.length for _, stored in unit.gets)
                assert unit.weight == sum(map(weight, put)), "what a unit weighs"
                assert unit.held_bytes == held, "what a unit holds"
                total += held
        assert qm.held.total == total

    def _check_replay(self) -> None:
        """The ledger says the same, of groups too, while no unit works with them."""
        again = self.core.replayed()
        check_snapshots(self.core.qm, again)
        if not self.units:
            assert groups_of(again) == groups_of(self.core.qm)

    def _check_lists(self) -> None:
        for kind in LISTS:
            answer = self.admin.do(b.BrokerInquire(kind))
            assert isinstance(answer, Descriptions), f"{kind}: {answer}"
        for queue in QUEUES:
            self.admin.do(b.BrokerBrowse(queue))

    # -- the end

    def _come_to_rest(self) -> None:
        """Have everything delivered that can be, and receive all."""
        for who in PROGRAMS:
            self._end_unit(who, commits=self.rng.random() < 0.5)
        self.core.take(self.core.give(inputs.QueueManagersKnown(frozenset({FAR_MANAGER}), {})))
        for queue in QUEUES:
            self.admin.do(b.BrokerCreate(kinds.QUEUE, queue))
            self._alter(queue, status=True)
        for service in (*SERVICES, LATER):
            self._create_service(service, "Q0")
        route = {"service": FAR, "address": FAR_MANAGER}
        self.admin.do(b.BrokerCreate(kinds.ROUTE, "r", route))
        self.core.advance(1)
        self.core.advance(1)
        for queue in QUEUES:
            while self._receive_all(queue):
                pass
        self.auditor.check_all(self._leaving())
        self._check_counts()
        for client in self.people.values():
            client.lose()
        self._check_replay()

    def _receive_all(self, queue: str) -> int:
        command = b.BrokerReceive(b"", queue)
        self._do("ada", command)
        assert "ada" not in self.waits
        count = len(self.auditor.talk("ada").gets)
        self.commit("ada")
        return count

    def _leaving(self) -> dict[str, list[str]]:
        """What is on its way to another queue manager, by side."""
        found: dict[str, list[str]] = {}
        lanes = self.core.topics.items()
        for (name, _, _), topic in sorted(lanes) if FAR_MANAGER in self.core.qm.queues else ():
            for paged in topic.values() if name == FAR_MANAGER else ():
                header = paged.message.broker
                if header is not None and header.message_type == b.DEFAULT:
                    side = header.conversation.hex() + "i"
                    found.setdefault(side, []).append(paged.message.body.decode())
        return found
