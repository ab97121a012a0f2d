"""Each copy of a message has one outcome: it is received, or given up once, whatever its id is."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.msmq_header import DEAD_LETTER, MsmqHeader
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Refused
from adapter.core.model.msmq_queue import MsmqQueue
from adapter.core.rules.msmq import delivery as d
from tests.support.core import Client
from tests.support.examples import examples
from tests.support.msmq import (
    ADMINISTRATION,
    TRANSACTIONAL_DEAD_LETTERS,
    check_totals,
    client_of_msmq,
    delivered,
    drain,
    look,
    lookup_id,
    receive,
    send,
)

A, B, LETTERS, PLAIN = (f".\\private$\\{name}" for name in ("a", "b", "letters", "plain"))
SUB = A + ";s"
READERS = {1: A, 2: B, 3: LETTERS, 4: SUB}
"""What is open to receive, by handle."""
HEADER = MsmqHeader(
    acknowledge=15,
    administration_queue=ADMINISTRATION,
    journal=DEAD_LETTER,
    dead_letter_queue=LETTERS,
)
Copy = tuple[bytes, str]
"""A message's id, and where it was sent."""


def header_of(one: Delivered) -> MsmqHeader:
    assert one.message.msmq is not None
    return one.message.msmq


def copy_of(one: Delivered) -> Copy:
    return one.message.message_id, header_of(one).destination


def is_letter(one: Delivered) -> bool:
    return bool(header_of(one).message_class & d.NEGATIVE)


def take_all(client: Client, path: str) -> list[Delivered]:
    client.do(m.MsmqOpen(90, path, m.RECEIVE_ACCESS))
    found: list[Delivered] = []
    while more := delivered(client.do(m.MsmqReceive(90))):
        found += more
    client.do(c.Close(90))
    return found


class Work:
    """Random work of one program, and what came of it."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.client = client = client_of_msmq()
        for path in (A, B, LETTERS):
            client.do(m.MsmqCreate(path, {"transactional": True, "journaling": path == A}))
        for path in (PLAIN, ADMINISTRATION):
            client.do(m.MsmqCreate(path))
        for handle, path in READERS.items():
            client.do(m.MsmqOpen(10 + handle, path, m.RECEIVE_ACCESS | m.MOVE_ACCESS))
        self.unit = client.begin()
        self.number = 0
        self.sent: Counter[Copy] = Counter()
        self.letters: Counter[Copy] = Counter()
        self.sent_in_unit: Counter[Copy] = Counter()
        self.letters_in_unit: Counter[Copy] = Counter()
        self.got: list[tuple[int, Delivered]] = []

    def send(self) -> None:
        paths = self.draw.choices((A, B, LETTERS, PLAIN), (4, 4, 2, 1), k=self.draw.randint(1, 3))
        self.client.do(m.MsmqOpen(80, ",".join(paths), m.SEND_ACCESS))
        self.number += 1
        ident = self.number.to_bytes(24, "big")
        unit = self.draw.choice((self.unit, b""))
        lifetime = self.draw.choice((-1, -1, 500))
        header = structs.replace(HEADER, extension=bytes(self.draw.randint(0, 300)))
        message = MessageData(b"x", message_id=ident, expiry_ms=lifetime, msmq=header)
        answer = self.client.do(m.MsmqSend(80, message, unit, not unit))
        assert not isinstance(answer, Refused), answer
        self.client.do(c.Close(80))
        into = self.sent_in_unit if unit else self.sent
        into.update((ident, "DIRECT=OS:QM1\\" + path[2:]) for path in paths)

    def receive(self) -> None:
        handle = 10 + self.draw.choice(list(READERS))
        unit = self.draw.choice((self.unit, self.unit, b""))
        for one in delivered(self.client.do(m.MsmqReceive(handle, unit))):
            if unit:
                self.got.append((handle, one))
            if is_letter(one):
                (self.letters_in_unit if unit else self.letters)[copy_of(one)] += 1

    def reject(self) -> None:
        for handle, one in self.got:
            if self.draw.random() < 0.6:
                answer = self.client.do(m.MsmqReject(handle, lookup_id(one), self.unit))
                assert isinstance(answer, Refused) is is_letter(one), answer

    def move(self) -> None:
        one, other = self.draw.choice(((11, 14), (14, 11)))
        for found in look(self.client, handle=one):
            unit = self.draw.choice((self.unit, b""))
            self.client.do(m.MsmqMove(one, other, lookup_id(found), unit))

    def purge(self) -> None:
        handle = self.draw.choice(list(READERS))
        queue = self.client.core.qm.queues[READERS[handle][2:]]
        assert isinstance(queue, MsmqQueue)
        there = [one.message for one in queue.stored.values() if not one.locked]
        gone = [one for one in there if d.is_settled(one)]
        self.letters.update((one.message_id, d.header_of(one).destination) for one in gone)
        assert self.client.do(m.MsmqPurge(10 + handle)) == Done(len(there))
        assert handle == 3 or queue.available_count == 0

    def wait(self) -> None:
        self.client.core.advance(1)

    def end(self) -> None:
        if self.draw.random() < 0.7:
            self.client.do(c.Commit(self.unit))
            self.sent += self.sent_in_unit
            self.letters += self.letters_in_unit
        else:
            self.client.do(c.Backout(self.unit))
        self.sent_in_unit, self.letters_in_unit = Counter(), Counter()
        self.got, self.unit = [], self.client.begin()

    def delete(self) -> None:
        """Perhaps delete a queue to which the unit still sends."""
        if self.draw.random() < 0.5:
            self.client.do(m.MsmqDelete(B))

    def check(self) -> None:
        there = [B] if B[2:] in self.client.core.qm.queues else []
        for path in (A, SUB, *there, LETTERS):  # what is over there becomes a dead letter first
            self.letters.update(map(copy_of, filter(is_letter, take_all(self.client, path))))
        self.letters.update(map(copy_of, take_all(self.client, TRANSACTIONAL_DEAD_LETTERS)))
        ends: Counter[Copy] = Counter()
        failed: Counter[Copy] = Counter()
        arrivals: Counter[Copy] = Counter()
        for one in take_all(self.client, ADMINISTRATION):
            header, kind = header_of(one), header_of(one).message_class
            copy = one.message.correlation_id, header.response_queue
            if kind != d.REACHED_QUEUE:
                ends[copy] += 1
            if kind & d.NEGATIVE:
                failed[copy] += 1
            if kind in (d.REACHED_QUEUE, d.RECEIVE_TIMEOUT) or not kind & d.READ:
                arrivals[copy] += 1
        assert ends == self.sent
        assert failed == self.letters
        assert not self.sent - arrivals, "each has arrived, or has not"
        received = ends - failed
        journaled = Counter(map(copy_of, take_all(self.client, A + ";journal")))
        of_a = {copy: n for copy, n in received.items() if copy[1].endswith("\\a")}
        assert journaled == of_a


@settings(max_examples=examples(150))
@given(st.integers(0, 2**32))
def test_each_copy_has_one_outcome(seed: int) -> None:
    work = Work(seed)
    steps = (work.send, work.receive, work.reject, work.move, work.purge, work.wait, work.end)
    for step in work.draw.choices(steps, (6, 6, 3, 2, 1, 1, 1), k=work.draw.randint(10, 50)):
        step()
        check_totals(work.client.core)
    work.reject()
    work.delete()
    work.end()
    work.check()
    core = work.client.core
    check_totals(core)
    core.crash()
    check_totals(core)


@pytest.mark.parametrize("is_sent_to_it", [False, True])
def test_a_dead_letter_is_final(is_sent_to_it: bool) -> None:
    """Received from the queue that it names it is reported no more, and purged it is gone."""
    client = client_of_msmq()
    for path in (LETTERS, ADMINISTRATION):
        client.do(m.MsmqCreate(path, {"transactional": path == LETTERS}))
    client.do(m.MsmqOpen(3, LETTERS, m.RECEIVE_ACCESS | m.SEND_ACCESS))
    to = 3 if is_sent_to_it else 1
    send(client, "x", handle=to, single=True, header=HEADER)
    unit = client.begin()
    (one,) = delivered(client.do(m.MsmqReceive(3, unit)))
    if is_sent_to_it:
        client.do(m.MsmqReject(3, lookup_id(one), unit))
        client.do(c.Commit(unit))
        assert look(client, handle=3) == []
        assert drain(client, TRANSACTIONAL_DEAD_LETTERS) == [("x", d.RECEIVE_REJECTED)]
        return
    assert client.refused(m.MsmqReject(3, lookup_id(one), unit)) is Reason.OPTIONS_ERROR
    client.do(c.Backout(unit))
    assert client.do(m.MsmqPurge(3)) == Done(1)
    assert look(client, handle=3) == []
    send(client, "y", handle=to, single=True, header=HEADER)
    assert receive(client, handle=3) == ["y"]
    not_taken = d.NOT_TRANSACTIONAL_QUEUE
    assert drain(client, ADMINISTRATION) == [("x", not_taken), ("y", not_taken)]
