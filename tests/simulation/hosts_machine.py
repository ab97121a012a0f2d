"""Programs on two hosts send in transactions to queues of both, whatever is killed meanwhile.

Seed 2, S2.1 to S2.11, judged by hosts_model.py.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.results import Done, Messages, Refused
from adapter.core.model.msmq_queue import lookup_id_of
from tests.simulation.computers import Computers, connected
from tests.simulation.hosts_model import HostsModel, Shown
from tests.simulation.judged_machine import JudgedMachine
from tests.support.core import Client
from tests.support.hard_state import check_snapshots
from tests.support.msmq import delivered, texts

HOSTS = ("A", "B")
QUEUES = {"A\\q": "A", "B\\q": "B", "B\\r": "B"}
"""The host of each queue."""
SLOTS = (0, 1)
"""Of each host: programs, each with one transaction at a time."""
PATHS = {queue: f"{queue[0]}\\private$\\{queue[2:]}" for queue in QUEUES}
HANDLES = {queue: number for number, queue in enumerate(QUEUES, 1)}

HOST = st.sampled_from(HOSTS)
SLOT = st.sampled_from(SLOTS)
QUEUE = st.sampled_from(tuple(QUEUES))
COUNT = st.sampled_from(range(1, 5))
Who = tuple[str, int]


class HostsMachine(JudgedMachine):
    """Two hosts, programs on both, and the model."""

    events = (
        "abort put a message ahead of others",
        "commit repeated",
        "destination crashed amid a unit",
        "group of several messages",
        "groups of two hosts in one queue",
        "lock conflict",
        "message came again",
        "replaced sender wrote on",
        "sender killed amid a unit",
        "sends of two transactions interleaved",
        "source crashed with messages on their way",
        "transaction aborted",
        "transaction lost with a crash",
        "transaction to queues of both hosts",
    )
    model: HostsModel

    def __init__(self) -> None:
        super().__init__()
        self.model = HostsModel(HOSTS, QUEUES)
        self.computers = Computers(("A", "B"), Limits(window_messages=3))
        self.programs: dict[Who, Client] = {}
        self.units: dict[Who, tuple[str, bytes]] = {}
        """Of each program: its transaction, by name and id."""
        self.last: dict[str, int] = dict.fromkeys(QUEUES, 0)
        """The lookup id up to which a queue was shown."""
        self.names = 0
        for queue, host in QUEUES.items():
            client = self.computers.cores[host].connect()
            client.do(m.MsmqCreate(PATHS[queue], {"transactional": True}))
        for host in HOSTS:
            self._start_programs(host)

    def _start_programs(self, host: str) -> None:
        for slot in SLOTS:
            self.programs[host, slot] = self._connected(host)

    def _connected(self, host: str) -> Client:
        client = connected(self.computers.cores[host])
        self._open(client, host)
        return client

    def _open(self, client: Client, host: str) -> None:
        for queue, handle in HANDLES.items():
            access = m.RECEIVE_ACCESS | m.SEND_ACCESS if QUEUES[queue] == host else m.SEND_ACCESS
            assert client.do(m.MsmqOpen(handle, PATHS[queue], access)) == Done()

    # -- transactions

    def _unit(self, who: Who) -> tuple[str, bytes]:
        if who not in self.units:
            self.names += 1
            name = f"{who[0]}{self.names}"
            self.units[who] = name, self.programs[who].begin()
            self.model.begin(name, who[0])
        return self.units[who]

    @rule(
        host=HOST,
        slot=SLOT,
        queues=st.lists(QUEUE, min_size=1, max_size=4),
        commits=st.booleans(),
    )
    def send(self, host: str, slot: int, queues: list[str], commits: bool) -> None:
        """Send a message to each of some queues in a transaction, and perhaps commit it."""
        who = host, slot
        name, ident = self._unit(who)
        for queue in queues:
            self._send(who, queue, ident, name)
        if commits:
            self.end(host, slot, commits=True)

    @rule(host=HOST, slot=SLOT, queue=QUEUE)
    def send_single(self, host: str, slot: int, queue: str) -> None:
        """Send a message as a transaction of its own."""
        self.names += 1
        name = f"{host}{self.names}"
        self.model.begin(name, host)
        self._send((host, slot), queue, b"", name)
        self.model.commit(name)

    def _send(self, who: Who, queue: str, ident: bytes, transaction: str) -> None:
        self.names += 1
        name = f"{transaction}.{self.names}"
        command = m.MsmqSend(HANDLES[queue], MessageData(body=name.encode()), ident, not ident)
        self.programs[who].do(command)
        self.model.send(transaction, queue, name)

    @precondition(lambda self: self.units)
    @rule(host=HOST, slot=SLOT, commits=st.sampled_from((True, True, False)))
    def end(self, host: str, slot: int, commits: bool) -> None:
        if (host, slot) in self.units:
            name, ident = self.units.pop((host, slot))
            client = self.programs[host, slot]
            answer = client.do(c.Commit(ident) if commits else c.Backout(ident))
            assert not isinstance(answer, Refused), answer
            (self.model.commit if commits else self.model.abort)(name)

    @precondition(lambda self: self.units)
    @rule(host=HOST, slot=SLOT, crashes=st.booleans())
    def commit_twice(self, host: str, slot: int, crashes: bool) -> None:
        """The reply to a commit is lost: the program connects again, and repeats it."""
        who = host, slot
        if who not in self.units or self.model.is_empty(self.units[who][0]):
            return
        name, ident = self.units.pop(who)
        old = self.programs[who]
        answer = old.do(c.Commit(ident))
        assert not isinstance(answer, Refused), answer
        self.model.commit(name)
        self.meet("commit repeated")
        if crashes:
            self.crash(host, with_snapshot=False)
        else:
            old.lose()
        client = self.computers.cores[host].connect()
        client.resume(old.session, [old.issued], old.issued)
        assert client.do(c.Commit(ident), number=old.issued) == answer
        self._open(client, host)
        client._units = old._units
        self.programs[who] = client

    # -- reading

    def _show(self, queue: str) -> None:
        client = self.programs[QUEUES[queue], 0]
        shown: list[Shown] = []
        while True:
            command = m.MsmqReceive(
                HANDLES[queue], peek=True, start=m.NEXT, lookup_id=self.last[queue]
            )
            found = delivered(client.do(command))
            if not found:
                break
            one = found[0]
            self.last[queue] = lookup_id_of((-one.lane, one.seq, 0))
            name = one.message.body.decode()
            shown.append(Shown(name, one.unit, one.queue_unit_index, one.queue_unit_size))
        self.model.show(queue, shown)

    @rule(queue=QUEUE, slot=SLOT, alone=st.booleans())
    def receive(self, queue: str, slot: int, alone: bool) -> None:
        self._show(queue)
        who = QUEUES[queue], slot
        name, ident = ("", b"") if alone else self._unit(who)
        answer = self.programs[who].do(m.MsmqReceive(HANDLES[queue], ident, single=alone))
        assert isinstance(answer, Messages), answer
        wanted = self.model.receive(queue, name)
        assert "".join(texts(answer)) == wanted, f"{texts(answer)}, not {wanted}"

    # -- between the hosts

    @rule(
        host=HOST,
        limit=COUNT,
        writes=st.sampled_from((0, 1, 1, 2, 2, 3, 20)),
        then=st.sampled_from(("commits", "stays", "stays", "is killed")),
        reads=st.sampled_from((0, 1, 1, 2, 20)),
    )
    def carry(self, host: str, limit: int, writes: int, then: str, reads: int) -> None:
        """Let the sender of a host write some of what waits there, and the other host read some."""
        route = self.computers.routes[host]
        route.get(limit)
        route.write(writes)
        if then == "commits":
            route.commit()
        elif then == "is killed" and route.sender is not None:
            is_amid = route.sender.written and route.sender.unwritten
            self.meet("sender killed amid a unit", when=bool(is_amid))
            route.kill_sender()
        before = route.duplicates
        route.read(reads)
        self.meet("message came again", when=route.duplicates > before)
        for queue, own in QUEUES.items():
            if own != host:
                self._show(queue)

    @precondition(lambda self: any(route.zombies for route in self.computers.routes.values()))
    @rule(host=HOST, count=COUNT, which=st.sampled_from(range(2)))
    def write_of_zombie(self, host: str, count: int, which: int) -> None:
        route = self.computers.routes[host]
        self.meet("replaced sender wrote on", when=route.write_of_zombie(count, which))

    @rule(host=HOST, with_snapshot=st.booleans())
    def crash(self, host: str, with_snapshot: bool) -> None:
        self._show_all()
        routes = self.computers.routes
        other = next(one for one in HOSTS if one != host)
        self.meet("source crashed with messages on their way", when=routes[host].waiting > 0)
        self.meet("destination crashed amid a unit", when=routes[other].is_amid_unit)
        self.computers.crash(host, with_snapshot=with_snapshot)
        for who in [one for one in self.units if one[0] == host]:
            self.model.abort(self.units.pop(who)[0], crashed=True)
        self._start_programs(host)

    # -- the end

    def _show_all(self) -> None:
        for queue in QUEUES:
            self._show(queue)

    def teardown(self) -> None:
        for host, slot in list(self.units):
            self.end(host, slot, commits=slot == 0)
        for route in self.computers.routes.values():
            route.kill_sender()
            route.pump()
        self._show_all()
        self.model.check_arrived()
        for queue, host in QUEUES.items():
            found: list[str] = []
            command = m.MsmqReceive(HANDLES[queue])
            while one := texts(self.programs[host, 1].do(command)):
                found += one
            assert found == self.model.listing(queue), f"{queue} holds {found}"
        for host, core in self.computers.cores.items():
            for slot in SLOTS:
                self.programs[host, slot].lose()
            check_snapshots(core.qm, core.replayed())
