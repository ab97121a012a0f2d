"""GET CONVERSATION GROUP names the group of the message that RECEIVE returns next."""

from random import Random

import pytest

from adapter.core.contract import broker as b
from adapter.core.contract.results import Descriptions
from tests.support.dialogs import Dialogs, Session, rows_of


def group_of_next(session: Session) -> str:
    """Return what GET CONVERSATION GROUP says; empty: nothing."""
    answer = session.do(b.BrokerGetGroup(b"", "Answers"))
    found = answer.queues if isinstance(answer, Descriptions) else []
    return found[0].name if found else ""


def group_received(session: Session) -> str:
    """Receive a message; returns its group."""
    rows = rows_of(session.do(b.BrokerReceive(b"", "Answers", top=1)))
    header = rows[0].message.broker if rows else None
    return header.group.hex() if header is not None else ""


@pytest.mark.parametrize("seed", range(20))
def test_both_choose_the_same_group(seed: int) -> None:
    random, at = Random(seed), Dialogs()
    sends, sessions = at.session(), [at.session() for _ in range(2)]
    handles: list[bytes] = []
    met = set()
    for _ in range(40):
        session = random.choice(sessions)
        doing = random.choice(("begin", "send", "receive", "receive", "receive", "commit"))
        if doing == "begin" or not handles:
            handles.append(sends.dialog("x"))
            sends.commit()
        elif doing == "send":
            sends.send(random.choice(handles), "x")
            sends.commit()
        elif doing == "receive":
            is_own = bool(session.unit)
            named = group_of_next(session)
            assert named == group_received(session)
            met.add((is_own, bool(named)))
        elif session.unit:
            session.commit()
    assert (True, True) in met
    at.check()
