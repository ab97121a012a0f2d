"""What a command causes fits in one entry: the longest messages, through every verb of MSMQ."""

import random

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import DEAD_LETTER, JOURNAL, MsmqHeader
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Messages, PutDone, Refused
from adapter.storage.format import entries
from tests.support.core import Client, Core
from tests.support.examples import examples
from tests.support.msmq import BOTH, PATH, client_of_msmq, drain, lookup_id, receive, send

LONGEST = 400_000
ROOM = 5_000_000
"""What a unit may put in these tests, in place of 101 MiB: twelve of the longest messages."""
MOST = ROOM + 3 * LONGEST
"""A record: a unit, and what the last receive in it has put beside: a copy, an acknowledgment."""
LOG = ".\\private$\\log"
PLAIN = ".\\private$\\plain"
HEADER = MsmqHeader(acknowledge=15, administration_queue=LOG, journal=DEAD_LETTER | JOURNAL)
BODY = bytes(LONGEST)


def client_with_room() -> Client:
    client = client_of_msmq(Core(Limits(unit_bytes=ROOM)), transactional=True, journaling=True)
    client.do(m.MsmqCreate(LOG))
    client.do(m.MsmqCreate(PLAIN))
    client.do(m.MsmqOpen(2, PLAIN, BOTH))
    client.do(m.MsmqOpen(3, ",".join([PLAIN] * 9), m.SEND_ACCESS))
    client.do(m.MsmqOpen(4, PATH + ";sub", m.RECEIVE_ACCESS | m.MOVE_ACCESS))
    client.do(m.MsmqOpen(5, PATH, m.RECEIVE_ACCESS | m.MOVE_ACCESS))
    return client


def refused_for(client: Client, command: c.Command) -> Reason | None:
    answer = client.do(command)
    return Reason(answer.reason) if isinstance(answer, Refused) else None


def longest_record(client: Client) -> int:
    """The owner writes a long step in several entries; a record is in one."""
    records = [one for entry in client.core.entries for one in entries.decode(entry)]
    return max(len(entries.encode([record])) for record in records)


def test_a_send_that_no_queue_accepts_counts_its_dead_letters_and_acknowledgments() -> None:
    client = client_with_room()
    sending = m.MsmqSend(3, MessageData(body=BODY, msmq=HEADER), single=True)
    assert client.refused(sending) is Reason.MESSAGE_TOO_LONG
    assert drain(client, LOG) == []
    short = MessageData(body=BODY[: LONGEST // 2], msmq=HEADER)
    assert isinstance(client.do(m.MsmqSend(3, short, single=True)), PutDone)
    unit = client.begin()
    assert isinstance(client.do(m.MsmqSend(3, short, unit)), PutDone)
    assert client.refused(m.MsmqSend(3, short, unit)) is Reason.UNIT_TOO_LARGE
    assert isinstance(client.do(c.Commit(unit)), Done)
    assert len(drain(client, LOG)) == 18


def test_rejects_count_what_they_put() -> None:
    client = client_with_room()
    for _ in range(9):
        send(client, "a" * LONGEST, single=True, header=HEADER)
    unit = client.begin()
    answers = [client.do(m.MsmqReceive(1, unit)) for _ in range(9)]
    got = [answer.messages[0] for answer in answers if isinstance(answer, Messages)]
    why = [refused_for(client, m.MsmqReject(1, lookup_id(one), unit)) for one in got]
    assert why[0] is None
    assert why[-1] is Reason.UNIT_TOO_LARGE
    assert isinstance(client.do(c.Commit(unit)), Done)
    assert longest_record(client) < MOST


def test_a_unit_that_a_delete_makes_too_large_is_backed_out() -> None:
    client = client_with_room()
    small, large = client.begin(), client.begin()
    send(client, "a" * LONGEST, unit=small, header=HEADER)
    for _ in range(5):
        send(client, "b" * LONGEST, unit=large, header=HEADER)
    for _ in range(6):
        send(client, "c" * LONGEST, unit=large, header=MsmqHeader())
    other = client.core.connect()
    assert isinstance(other.do(m.MsmqDelete(PATH)), Done)
    assert client.refused(c.Commit(large)) is Reason.BACKED_OUT
    assert isinstance(client.do(c.Commit(small)), Done)
    letters = drain(client, "QM1\\SYSTEM$;DEADXACT")
    assert [body[:1] for body, _ in letters] == ["a"]
    assert client.core.qm.held.total == 0
    assert longest_record(client) < MOST


class Walk:
    """Programs that do anything with the longest messages."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.client = client_with_room()
        self.other = self.client.core.connect()
        self.units: list[bytes] = []
        self.got: list[tuple[bytes, int]] = []

    def unit(self) -> bytes:
        if not self.units:
            self.units = [self.client.begin()]
        return self.units[0]

    def send(self) -> None:
        ends_ms = self.choose.choice([-1, -1, 2_000])
        message = MessageData(body=BODY, msmq=HEADER, expiry_ms=ends_ms)
        unit = self.choose.choice([b"", self.unit()])
        single = not unit and self.choose.random() < 0.8
        self.client.do(m.MsmqSend(self.choose.choice([1, 1, 2, 3]), message, unit, single))

    def receive(self) -> None:
        unit = self.choose.choice([b"", self.unit(), self.unit()])
        answer = self.client.do(m.MsmqReceive(1, unit))
        if unit and isinstance(answer, Messages):
            self.got += [(unit, lookup_id(one)) for one in answer.messages]

    def reject(self) -> None:
        for unit, place in self.got:
            self.client.do(m.MsmqReject(1, place, unit))

    def move(self) -> None:
        found = self.client.do(m.MsmqReceive(1, peek=True))
        for one in found.messages if isinstance(found, Messages) else []:
            self.client.do(m.MsmqMove(5, 4, lookup_id(one), self.unit()))

    def end(self) -> None:
        kind = self.choose.choice([c.Commit, c.Commit, c.Backout])
        for unit in self.units:
            self.client.do(kind(unit))
        self.units, self.got = [], []

    def delete(self) -> None:
        self.other.do(m.MsmqDelete(self.choose.choice([PATH, LOG, PLAIN])))
        for path, transactional in ((PATH, True), (LOG, False), (PLAIN, False)):
            self.other.do(m.MsmqCreate(path, {"transactional": transactional}))
        for handle, path in ((1, PATH), (2, PLAIN)):
            self.client.do(c.Close(handle))
            self.client.do(m.MsmqOpen(handle, path, BOTH))

    def purge(self) -> None:
        self.other.do(m.MsmqOpen(1, PATH, m.RECEIVE_ACCESS))
        self.other.do(m.MsmqPurge(1))
        self.other.do(c.Close(1))

    def wait(self) -> None:
        self.client.core.advance(5)

    def step(self) -> None:
        verbs = [self.send] * 12 + [self.receive] * 6 + [self.reject] * 2
        rare = [self.move, self.end, self.end, self.delete, self.purge, self.wait]
        self.choose.choice(verbs + rare)()


@pytest.mark.parametrize("seed", range(examples(10)))
def test_no_record_is_longer_than_a_unit_may_be(seed: int) -> None:
    walk = Walk(seed)
    for _ in range(60):
        walk.step()
    walk.end()
    assert longest_record(walk.client) < MOST
    assert walk.client.core.qm.held.total == 0
    assert receive(walk.client, peek=True) is not None
