"""A unit that has received can answer and be committed: what it received from is not turned off."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.core.contract import broker as b
from adapter.core.contract.message import Delivered
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Refused
from tests.support.dialogs import Dialogs, Session, rows_of

ROOM = 30


def with_messages(
    count: int, *, retention: bool, size: int = 1, **limits: int
) -> tuple[Dialogs, Session]:
    """A queue with messages of one dialog, and a session."""
    at = Dialogs(**limits)
    at.alter("Answers", retention=retention)
    session = at.session()
    handle = session.dialog()
    for _ in range(count):
        session.send(handle, "x" * size)
        session.commit()
    return at, session


def receive(session: Session, top: int = -1) -> list[Delivered]:
    return rows_of(session.do(b.BrokerReceive(b"", "Answers", top)))


def far_of(row: Delivered) -> bytes:
    """Return the handle of who received it."""
    assert row.message.broker is not None
    return row.message.broker.handle


@pytest.mark.parametrize("retention", [False, True])
@given(top=st.one_of(st.just(-1), st.integers(1, 2 * ROOM)), before=st.integers(0, ROOM // 3))
def test_each_row_can_be_answered_and_the_conversation_be_ended(
    *, retention: bool, top: int, before: int
) -> None:
    at, session = with_messages(2 * ROOM, retention=retention, unit_messages=ROOM)
    session.dialog(*["own"] * before)
    rows = receive(session, top)
    most = (ROOM - before) // (5 if retention else 3)
    assert len(rows) == (most if top == -1 else min(top, most))
    far = far_of(rows[0])
    for _ in rows:
        assert isinstance(session.do(b.BrokerSend(b"", [far], body=b"answer")), Done)
    assert isinstance(session.do(b.BrokerEnd(b"", far)), Done)
    session.commit()
    at.check()


@pytest.mark.parametrize("retention", [False, True])
def test_a_unit_holds_no_more_than_it_may(*, retention: bool) -> None:
    at, session = with_messages(2 * ROOM, retention=retention, unit_messages=ROOM)
    held = 0
    while not isinstance(answer := session.do(b.BrokerReceive(b"", "Answers", -1)), Refused):
        held += len(rows_of(answer)) * (2 if retention else 1)
    assert Reason(answer.reason) is Reason.UNIT_TOO_LARGE
    assert ROOM - 1 <= held <= ROOM
    session.rollback()
    at.check()


@pytest.mark.parametrize("size", [100, 1_000, 4_000])
def test_copies_are_bounded_by_bytes_too(size: int) -> None:
    """Of the largest message that a unit can have, a receive takes one, or is refused."""
    most = 20_000
    at, session = with_messages(40, retention=True, size=size, unit_bytes=most)
    rows = receive(session)
    unit = at.core.qm.connections[session.client.number].units[session.unit]
    assert unit.weight <= most // 4 or len(rows) == 1
    answer = b.BrokerSend(b"", [far_of(rows[0])], body=b"x" * size)
    assert isinstance(session.do(answer), Done)
    while not isinstance(found := session.do(b.BrokerReceive(b"", "Answers", 1)), Refused):
        assert rows_of(found)
    assert unit.weight <= most
    session.rollback()


def test_a_send_counts_its_copy() -> None:
    at = Dialogs(unit_messages=ROOM)
    at.alter("Asks", retention=True)
    session = at.session()
    handle = session.dialog(*["x"] * (ROOM // 2))
    refused = session.do(b.BrokerSend(b"", [handle], body=b"x"))
    assert isinstance(refused, Refused)
    assert Reason(refused.reason) is Reason.UNIT_TOO_LARGE
    session.commit()
    at.check()
