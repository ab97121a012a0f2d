"""Snapshots: the state that comes back is the state that there was, at every end of its values."""

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.details import IN_GROUP, Details
from adapter.core.contract.message import MessageData
from adapter.core.contract.results import PutDone, UnitOutcome
from tests.support.core import Core

HIGHEST = 2**63 - 1
OWN = 1 << 63
"""In the number of a unit: it is of the command with that number, outside a unit."""


@pytest.mark.parametrize(
    "numbers",
    [
        [1],
        [HIGHEST],
        [OWN | 1],
        [OWN | HIGHEST],
        [HIGHEST - 1, HIGHEST, OWN | 2, OWN | 3, OWN | 7, OWN | HIGHEST],
    ],
    ids=repr,
)
def test_what_was_reported_as_backed_out_stays_so_behind_a_snapshot(numbers: list[int]) -> None:
    core = Core()
    gone, other = core.connect(), core.connect()
    gone.open_session(core.new_session_id())
    gone.lose()
    for number in numbers:
        answer = other.do(c.AskOutcome(gone.session + number.to_bytes(8, "big")))
        assert answer == UnitOutcome("backed out")
    assert list(core.qm.sessions[gone.session].fenced) == numbers
    core.crash_with_snapshot()
    assert list(core.qm.sessions[gone.session].fenced) == numbers


@pytest.mark.parametrize("crash", ["crash", "crash_with_snapshot"])
def test_who_asks_again_is_told_of_a_put_what_it_was_told_first(crash: str) -> None:
    core = Core()
    core.configure()
    client = core.connect()
    client.define(def_priority=7)
    client.open()
    put = c.Put(1, [MessageData(b"x", details=Details(flags=IN_GROUP))])
    told = client.do(put)
    assert isinstance(told, PutDone)
    assert (told.priority, any(told.group_id)) == (7, True)
    number = client.issued
    getattr(core, crash)()
    again = core.connect()
    again.resume(client.session, [number], number)
    again.open("Q")
    assert again.answer(again.send(put, number=number)) == told
