"""What transactional queues of two hosts must hold (seed 2), by lists of what was committed.

A transaction sends to queues here and there. Of each queue the model knows, by the host that sent,
the groups that were committed, in the order of their commits; and the line of messages in it, as
far as it was shown. What is new in a queue must be the next groups of the hosts, each whole and in
the order of its sends. Groups of two hosts may lie between each other, whole or not.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass
class Sent:
    """A message: its place in the part of its transaction that is for one queue."""

    name: str
    transaction: str
    index: int
    size: int = 0
    holder: str = ""
    """The transaction that has received it."""


@dataclass
class Line:
    """A queue. coming: by host, what was committed and has not been shown in it."""

    host: str
    coming: dict[str, list[Sent]]
    known: list[Sent] = field(default_factory=list)


@dataclass
class Transaction:
    """What it has sent, by queue, and what it has received."""

    host: str
    sends: dict[str, list[Sent]] = field(default_factory=dict)
    receives: list[tuple[str, Sent]] = field(default_factory=list)


@dataclass
class Shown:
    """A message as it lies in a queue. transaction: its id there."""

    name: str
    transaction: bytes
    index: int
    size: int


class HostsModel:
    """Hosts, their queues, and what programs have done."""

    def __init__(self, hosts: tuple[str, ...], queues: dict[str, str]) -> None:
        """queues: the host of each queue."""
        self.met: Counter[str] = Counter()
        self.lines = {
            queue: Line(host, {each: [] for each in hosts}) for queue, host in queues.items()
        }
        self.open: dict[str, Transaction] = {}
        self.sender: dict[str, str] = {}
        """The host that each transaction was of."""
        self.ids: dict[str, bytes] = {}
        self.consumed: list[str] = []
        self.sent: list[str] = []

    # -- transactions

    def begin(self, transaction: str, host: str) -> None:
        self.open[transaction] = Transaction(host)
        self.sender[transaction] = host

    def send(self, transaction: str, queue: str, name: str) -> None:
        part = self.open[transaction].sends.setdefault(queue, [])
        part.append(Sent(name, transaction, len(part)))
        others = [one for other, one in self.open.items() if other != transaction]
        self.met["sends of two transactions interleaved"] += any(
            one.sends.get(queue) for one in others
        )

    def is_empty(self, transaction: str) -> bool:
        return not self.open[transaction].sends and not self.open[transaction].receives

    def commit(self, transaction: str) -> None:
        ended = self.open.pop(transaction)
        places = {self.lines[queue].host == ended.host for queue in ended.sends}
        self.met["transaction to queues of both hosts"] += len(places) == 2
        for queue, part in ended.sends.items():
            for sent in part:
                sent.size = len(part)
            self.lines[queue].coming[ended.host] += part
            self.sent += [sent.name for sent in part]
        for queue, sent in ended.receives:
            self.lines[queue].known.remove(sent)
            self.consumed.append(sent.name)

    def abort(self, transaction: str, *, crashed: bool = False) -> None:
        ended = self.open.pop(transaction)
        self.met["transaction lost with a crash" if crashed else "transaction aborted"] += 1
        for queue, sent in ended.receives:
            sent.holder = ""
            known = self.lines[queue].known
            self.met["abort put a message ahead of others"] += sent is not known[-1]

    # -- queues

    def show(self, queue: str, shown: list[Shown]) -> None:
        """What lies behind all that was known in a queue."""
        line = self.lines[queue]
        for one in shown:
            assert one.name in self.sent, f"{queue} has {one.name}, which was not committed"
            assert one.name not in self._all_shown(), f"{queue} has {one.name} twice"
            nexts = {host: coming[0] for host, coming in line.coming.items() if coming}
            host = next((host for host, each in nexts.items() if each.name == one.name), "")
            wanted = [each.name for each in nexts.values()]
            assert host, f"{queue} has {one.name}, and {wanted} are the next"
            sent = line.coming[host].pop(0)
            self._check(one, sent)
            line.known.append(sent)
        self._check_whole(queue)
        if shown:
            self._note_interleaving(line)

    def _all_shown(self) -> list[str]:
        known = [sent.name for line in self.lines.values() for sent in line.known]
        return known + self.consumed

    def _check(self, shown: Shown, sent: Sent) -> None:
        assert (shown.index, shown.size) == (sent.index, sent.size), f"{shown}, not {sent}"
        known = self.ids.setdefault(sent.transaction, shown.transaction)
        assert known == shown.transaction, f"{shown}: its transaction had another id before"
        assert len(set(self.ids.values())) == len(self.ids), f"{shown} has the id of another one"

    def _check_whole(self, queue: str) -> None:
        """Nothing of a group is there while its rest is not."""
        for host, coming in self.lines[queue].coming.items():
            assert not coming or not coming[0].index, f"{queue} has half of a group of {host}"
        for sent in self.lines[queue].coming[self.lines[queue].host]:
            raise AssertionError(f"{queue} lacks {sent.name}, committed on its own host")

    def _note_interleaving(self, line: Line) -> None:
        hosts = [self.sender[sent.transaction] for sent in line.known]
        changes = sum(one != other for one, other in pairwise(hosts))
        self.met["groups of two hosts in one queue"] += changes > 1
        self.met["group of several messages"] += any(sent.index for sent in line.known)

    def receive(self, queue: str, transaction: str) -> str:
        """The next message that no transaction has received, or ""; "" for a transaction: alone."""
        line = self.lines[queue]
        free = next((sent for sent in line.known if not sent.holder), None)
        self.met["lock conflict"] += bool(line.known) and free is not line.known[0]
        if free is None:
            return ""
        if transaction:
            free.holder = transaction
            self.open[transaction].receives.append((queue, free))
        else:
            line.known.remove(free)
            self.consumed.append(free.name)
        return free.name

    def listing(self, queue: str) -> list[str]:
        """What must be in a queue, once all has arrived."""
        return [sent.name for sent in self.lines[queue].known if not sent.holder]

    def check_arrived(self) -> None:
        """Nothing is on its way: every message is in exactly one place."""
        for queue, line in self.lines.items():
            for coming in line.coming.values():
                assert not coming, f"{queue} lacks {[sent.name for sent in coming]}"
        assert Counter(self._all_shown()) == Counter(self.sent)
