"""Each durable verb once: its reply is lost, the owner dies, and the client asks the standby.

What the client hears then is what the ledger says, and the ledger says that it happened once. A
durable verb without a row fails the test.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from msgspec import Struct

import adapter
from adapter.connection.channel.requests import Pending
from adapter.core.contract import authorities as a
from adapter.core.contract import authority_commands as ac
from adapter.core.contract import broker as b
from adapter.core.contract import channel_rules
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.message import MessageData
from adapter.core.contract.results import Messages, Refused
from adapter.core.contract.traits import TRAITS, Durable
from adapter.runtime.owner.replay import Replay
from adapter.storage.ledger.memory import MemoryLedgerReader
from tests.support.asking import Asking
from tests.support.memory_pair import MemoryPair, SwallowedReply, memory_pair
from tests.support.msmq import lookup_id

WAIT_S = 30.0
RECONNECT_S = 30.0
HANDLE, OTHER = 900, 901
"""Handles that the SDK knows nothing of."""
MAIL, RETRY = ".\\private$\\mail", ".\\private$\\mail;retry"

Act = Callable[[], object]


class Row(Struct, frozen=True):
    """before: what is done first. command: the durable one, or what lets the SDK send it."""

    command: c.Command | Callable[[adapter.Connection], Act]
    before: tuple[c.Command, ...] = ()


def put() -> c.Put:
    return c.Put(HANDLE, [MessageData(body=b"a", persistence=1)])


def send() -> m.MsmqSend:
    return m.MsmqSend(HANDLE, MessageData(body=b"a", persistence=1))


def put_by_sdk(qm: adapter.Connection) -> Act:
    queue = qm.queue("Q", open_for="output")
    return lambda: queue.put(b"a")


def get_by_sdk(qm: adapter.Connection) -> Act:
    qm.put("Q", b"a")
    qm.put("Q", b"b")
    queue = qm.queue("Q", open_for="input")
    return lambda: queue.get(timeout=WAIT_S)


def commit(qm: adapter.Connection) -> Act:
    unit = qm.unit()
    unit.__enter__()
    qm.put("Q", b"a")
    return unit.commit


def back_out(qm: adapter.Connection) -> Act:
    """Back out a get, which raises a count."""
    qm.put("Q", b"a")
    unit = qm.unit()
    unit.__enter__()
    assert qm.queue("Q").get() is not None
    return unit.backout


def request_retained(qm: adapter.Connection) -> Act:
    qm.publish("tree/a", b"a", retain=True)
    subscription = qm.subscribe("tree/#")
    return subscription.request_retained


def move(qm: adapter.Connection) -> Act:
    """Move the message that a peek shows."""
    found = ask(qm, m.MsmqReceive(HANDLE, peek=True))
    assert isinstance(found, Messages)
    moved = lookup_id(found.messages[0])
    return lambda: ask(qm, m.MsmqMove(HANDLE, OTHER, moved))


OPENED = c.Open(HANDLE, "Q", c.INPUT | c.OUTPUT | c.SET)
MAILBOX = (
    m.MsmqCreate(MAIL),
    m.MsmqOpen(HANDLE, MAIL, m.RECEIVE_ACCESS | m.SEND_ACCESS),
    m.MsmqOpen(OTHER, RETRY, m.RECEIVE_ACCESS | m.MOVE_ACCESS),
)
PROCESS = c.DefineObject("process", "WORK", {"appl_id": "run"})
ASKED = b.BrokerCreate("queue", "ASKED")
PERMITTED = ac.PermissionChange("ann", add=a.GET)
GRANTED = ac.SetAuthority("X", "queue", ["ann"], [], a.GET)

ROWS: dict[type, Row] = {
    c.Put: Row(put_by_sdk),
    c.Get: Row(get_by_sdk),
    c.Commit: Row(commit),
    c.Backout: Row(back_out),
    c.DefineQueue: Row(c.DefineQueue("NEW")),
    c.AlterQueue: Row(c.AlterQueue("Q", {"max_depth": 7})),
    c.DeleteQueue: Row(c.DeleteQueue("Q")),
    c.PurgeQueue: Row(c.PurgeQueue("Q"), (OPENED, put(), c.Close(HANDLE))),
    c.SetAttributes: Row(c.SetAttributes(HANDLE, {"inhibit_get": True}), (OPENED,)),
    c.DefineObject: Row(PROCESS),
    c.AlterObject: Row(c.AlterObject("process", "WORK", {"appl_id": "go"}), (PROCESS,)),
    c.DeleteObject: Row(c.DeleteObject("process", "WORK"), (PROCESS,)),
    c.SubscriptionRequest: Row(request_retained),
    c.ClearRetained: Row(c.ClearRetained("tree/a")),
    c.DeleteConsumer: Row(
        c.DeleteConsumer("Q", "R"), (c.OpenConsumer(HANDLE, "Q", "R", 1000), c.Close(HANDLE))
    ),
    c.SeekFeed: Row(
        c.SeekFeed("SHOP", "EARLIEST"),
        (c.DefineObject("feed", "SHOP", {"topic": "shop", "queue": "Q"}),),
    ),
    ac.SetAuthority: Row(GRANTED),
    ac.DeleteAuthority: Row(ac.DeleteAuthority("X", "queue", ["ann"]), (GRANTED,)),
    ac.RefreshSecurity: Row(ac.RefreshSecurity()),
    channel_rules.SetChannelRule: Row(
        channel_rules.SetChannelRule("C", "BLOCKUSER", users=["eve"])
    ),
    m.MsmqSend: Row(send(), MAILBOX),
    m.MsmqReceive: Row(m.MsmqReceive(HANDLE), (*MAILBOX, send())),
    m.MsmqMove: Row(move, (*MAILBOX, send())),
    m.MsmqCreate: Row(m.MsmqCreate(MAIL)),
    m.MsmqAlter: Row(m.MsmqAlter(MAIL, {"label": "new"}), (m.MsmqCreate(MAIL),)),
    m.MsmqDelete: Row(m.MsmqDelete(MAIL), (m.MsmqCreate(MAIL),)),
    m.MsmqPurge: Row(m.MsmqPurge(HANDLE), MAILBOX),
    m.MsmqPermit: Row(m.MsmqPermit(MAIL, reset=True), (m.MsmqCreate(MAIL),)),
    b.BrokerCreate: Row(ASKED),
    b.BrokerAlter: Row(b.BrokerAlter("queue", "ASKED", {"status": False}), (ASKED,)),
    b.BrokerDrop: Row(b.BrokerDrop("queue", "ASKED"), (ASKED,)),
    b.BrokerPermit: Row(b.BrokerPermit("queue", "ASKED", [PERMITTED]), (ASKED,)),
}
DURABLE = [kind for kind, trait in TRAITS.items() if trait.durable is not Durable.NEVER]


def ask(qm: adapter.Connection, command: c.Command) -> object:
    """Have the SDK send a command, and once more if its answer is lost."""
    request = Pending(command)
    qm._channel.ask([request])
    return request.answer


def test_every_durable_verb_has_a_row() -> None:
    assert set(ROWS) == set(DURABLE)


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.__name__)
def test_an_answer_that_is_lost_with_the_owner_is_the_ledgers(kind: type) -> None:
    row, tap = ROWS[kind], SwallowedReply()
    with (
        memory_pair(tap) as pair,
        adapter.connect(pair.addresses, reconnect_timeout_s=RECONNECT_S) as qm,
    ):
        qm.define_queue("Q")
        for command in row.before:
            assert not isinstance(ask(qm, command), Refused), command
        durable = row.command
        act = durable(qm) if callable(durable) else partial(ask, qm, durable)
        tap.kind = kind
        asking = Asking(act)
        asking.start()
        assert tap.swallowed.wait(WAIT_S), "the owner did not answer"
        assert not isinstance(tap.answer, Refused), tap.answer
        pair.fail_over()
        answer = asking.answer()
        assert kept_in(pair, qm, tap.number) == tap.answer
        assert len(pair.outcomes(tap.number)) == 1
        if not callable(durable):
            assert answer == tap.answer


def kept_in(pair: MemoryPair, qm: adapter.Connection, number: int) -> Any:
    """What the ledger says of a durable command, as a restart would read it."""
    replay = Replay("QM1", None, None)
    for entry in MemoryLedgerReader(pair.log).read(0.0):
        replay.apply(entry)
    (session,) = replay.qm.sessions.values()
    return session.outcomes[number]
