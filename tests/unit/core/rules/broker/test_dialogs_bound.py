"""SEND is refused while as much waits for its copies as may, as puts are; all else goes on. And
no verb makes a unit larger than it may be.
"""

import random
from collections.abc import Callable
from typing import Any

import pytest

from adapter.core import inputs
from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.parked import ParkedQueue
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Messages, Refused
from adapter.core.model.broker_queue import key_of
from adapter.core.rules.broker import catalog
from tests.support.core import Client, Core
from tests.support.dialogs import ANSWERS, Afar, Dialogs, Session

LIMIT = 4000
FIRST, SECOND = b"1" * 16, b"2" * 16
BODY = bytes(900)


def client_of_services(limits: Limits) -> Client:
    """Of a queue manager with the services Near and Far on queues of these names."""
    client = Core(limits).connect()
    for name in ("Near", "Far"):
        client.do(b.BrokerCreate(kinds.QUEUE, name))
        attributes = {"queue": name, "contracts": "DEFAULT"}
        client.do(b.BrokerCreate(kinds.SERVICE, name, attributes))
    return client


def submit(client: Client, handle: bytes, to: str = "Far") -> None:
    """Begin a dialog with a message."""
    unit = client.begin()
    assert isinstance(client.do(b.BrokerBegin(unit, handle, "Near", to, group=handle)), Done)
    assert isinstance(client.do(b.BrokerSend(unit, [handle], body=BODY)), Done)
    client.do(c.Commit(unit))


def full_client(*more: str) -> Client:
    """Of a queue manager whose movers are frozen, so that it takes no more."""
    client = client_of_services(Limits(uncopied_bytes=LIMIT))
    copied(client, client.core.entry_n)
    vars(client.core)["_page"] = lambda: None  # nothing more is copied
    submit(client, FIRST)
    submit(client, SECOND, "Elsewhere")
    submit(client, b"3" * 16)
    assert client.core.qm.uncopied.is_full
    return client


def copied(client: Client, moved_n: int) -> None:
    client.core.give(inputs.Copied(moved_n))


def parked(client: Client, *queues: str) -> None:
    held = {key_of(name): ParkedQueue(0, LIMIT, "no such topic") for name in queues}
    client.core.give(inputs.MoversReported(held))


@pytest.mark.parametrize("handle", [FIRST, SECOND], ids=["service", "service_not_known"])
def test_finding_reliability_d5_a_send_is_refused_at_the_bound(handle: bytes) -> None:
    client = full_client()
    unit = client.begin()
    refused = client.do(b.BrokerSend(unit, [handle], body=BODY))
    assert isinstance(refused, Refused)
    assert Reason(refused.reason) is Reason.QUEUE_PARKED
    assert refused.name == ("Far" if handle == FIRST else "Elsewhere")
    assert f"of {LIMIT}" in refused.detail


def test_finding_reliability_d5_a_send_that_is_refused_has_done_nothing() -> None:
    """The transaction goes on: it receives, ends a dialog, sends again and is committed."""
    client = full_client()
    unit = client.begin()
    assert client.refused(b.BrokerSend(unit, [FIRST, SECOND])) is Reason.QUEUE_PARKED
    received = client.do(b.BrokerReceive(unit, "Far", 1))
    assert isinstance(received, Messages)
    assert isinstance(client.do(b.BrokerEnd(unit, SECOND)), Done)
    copied(client, client.core.entry_n)
    assert isinstance(client.do(b.BrokerSend(unit, [FIRST])), Done)
    client.do(c.Commit(unit))
    state = client.core.qm.conversations.endpoints[FIRST].state
    assert state.sent == 2, "the one that was refused has no number"


def test_finding_reliability_d5_what_was_sent_before_is_committed_at_the_bound() -> None:
    client = client_of_services(Limits(uncopied_bytes=LIMIT))
    submit(client, FIRST)
    unit = client.begin()
    client.do(b.BrokerSend(unit, [FIRST]))
    client.core.qm.uncopied.is_full = True
    client.do(c.Commit(unit))
    assert client.core.qm.queues[key_of("Far")].depth == 2


def test_finding_reliability_d5_a_send_to_a_parked_queue_is_refused() -> None:
    """On the first message of a dialog as on later ones, and in both directions."""
    client = client_of_services(Limits(parked_bytes=LIMIT))
    submit(client, FIRST)
    parked(client, "Far")
    unit = client.begin()
    assert client.refused(b.BrokerSend(unit, [FIRST])) is Reason.QUEUE_PARKED
    client.do(b.BrokerBegin(unit, SECOND, "Near", "Far", group=SECOND))
    assert client.refused(b.BrokerSend(unit, [SECOND])) is Reason.QUEUE_PARKED
    client.do(b.BrokerBegin(unit, b"3" * 16, "Near", "Elsewhere", group=SECOND))
    assert isinstance(client.do(b.BrokerSend(unit, [b"3" * 16])), Done)
    received = client.do(b.BrokerReceive(unit, "Far", 1))
    assert isinstance(received, Messages)
    header = received.messages[0].message.broker
    assert header is not None
    assert isinstance(client.do(b.BrokerSend(unit, [header.handle])), Done), "Near takes it"
    parked(client, "Near")
    assert client.refused(b.BrokerSend(unit, [header.handle])) is Reason.QUEUE_PARKED
    assert isinstance(client.do(b.BrokerSend(unit, [FIRST])), Done)


MOST = 12
"""Messages of a unit."""


@pytest.mark.parametrize("seed", range(12))
def test_no_verb_makes_a_unit_larger_than_it_may_be(seed: int) -> None:
    """Each verb is given again and again, alone and among others, until it is refused for that."""
    rng = random.Random(seed)
    at = Dialogs(unit_messages=MOST)
    session = at.session()
    handles = []
    for _ in range(3 * MOST):
        handles.append(session.dialog("x"))
        session.commit()
    handles += [at.far_of(one) for one in handles]
    verbs: list[Callable[[], Any]] = [
        lambda: b.BrokerBegin(b"", at.guid(), "asks", "answers", group=at.guid()),
        lambda: b.BrokerEnd(b"", rng.choice(handles)),
        lambda: b.BrokerEnd(b"", rng.choice(handles), 5, "broken"),
        lambda: b.BrokerEnd(b"", rng.choice(handles), cleanup=True),
        lambda: b.BrokerMove(b"", rng.choice(handles), at.guid()),
        lambda: b.BrokerTimer(b"", rng.choice(handles), 5_000),
        lambda: b.BrokerSend(b"", rng.sample(handles, rng.randint(1, 5)), body=b"y"),
    ]
    chosen = verbs if seed >= len(verbs) else [verbs[seed]]
    refusals = 0
    for _ in range(40 * MOST):
        answer = session.do(rng.choice(chosen)())
        is_full = isinstance(answer, Refused) and Reason(answer.reason) is Reason.UNIT_TOO_LARGE
        refusals += is_full
        unit = at.core.qm.connections[session.client.number].units[session.unit]
        assert unit.broker is not None
        assert len(unit) <= MOST
        assert len(unit.broker.changes) <= MOST
        assert len(unit.broker.undo) <= 2 * MOST
        assert len(unit.broker.locked) <= 5 * MOST
    assert refusals
    session.commit()
    at.check()


def test_an_error_ends_a_conversation_of_a_unit_that_is_full() -> None:
    """It comes instead of what the unit was to send, so that there is room for it."""
    at = Dialogs(unit_messages=MOST)
    session = at.session()
    handle = session.dialog("one")
    session.commit()
    session.send(handle, *["x"] * MOST)
    assert isinstance(session.do(b.BrokerEnd(b"", handle)), Refused)
    session.end(handle, 5)
    session.commit()
    assert session.receive_all("Answers") == ["Error", "one"]


MOST = 30


@pytest.mark.parametrize("seed", range(20))
def test_there_are_never_more_endpoints_than_there_may_be(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever units are open, and whatever comes from elsewhere."""
    monkeypatch.setattr(catalog, "CONVERSATIONS_MAX", MOST)
    drawn, at = random.Random(seed), Dialogs()
    at.admin.define("QMA", usage="XMITQ")
    afar, sessions = Afar(at), [at.session() for _ in range(4)]
    known = at.core.qm.conversations
    refused = 0
    for number in range(120):
        session = drawn.choice(sessions)
        doing = drawn.choice(("begin", "begin", "arrives", "commit", "rollback", "savepoint"))
        if doing == "begin":
            refused += _begin_some(at, session, drawn.randrange(1, 5))
        elif doing == "arrives":
            afar.send(f"d{number}")
        elif doing == "savepoint":
            session.save()
            refused += _begin_some(at, session, 2)
            session.return_to()
        elif session.unit:
            session.commit() if doing == "commit" else session.rollback()
        assert len(known.endpoints) + len(known.handles_begun) <= MOST
    assert refused
    at.check()


def _begin_some(at: Dialogs, session: Session, count: int) -> int:
    """Begin dialogs, each with a message; returns how many were refused."""
    refused = 0
    for _ in range(count):
        handle = at.guid()
        answer = session.do(b.BrokerBegin(b"", handle, "asks", ANSWERS, group=handle))
        if isinstance(answer, Refused):
            assert answer.reason == Reason.LIMIT_REACHED
            refused += 1
        else:
            session.send(handle, "x")
    return refused


def test_a_side_for_which_there_is_no_room_is_answered_with_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = Dialogs()
    session = at.session()
    monkeypatch.setattr(catalog, "CONVERSATIONS_MAX", 3)
    handles = [session.dialog("x") for _ in range(2)]
    session.commit()
    assert at.states()[handles[0].hex()] == "CO"
    assert at.states()[handles[1].hex()] == "ER"
    assert session.receive_all("Asks") == ["Error"]
    at.check()
