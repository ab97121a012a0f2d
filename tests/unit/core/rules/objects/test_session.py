"""Sessions: a numbered command is executed once, and answered as often as it is asked."""

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.parties import Principal, Proof
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import (
    Done,
    Messages,
    PutDone,
    Refused,
    Resumed,
    UnitOutcome,
)
from adapter.core.model.session import WINDOW
from adapter.core.rules.objects.session import NUMBER_MAX
from adapter.storage.format import entries
from tests.support.authorities import become
from tests.support.core import Client, Core, client_on


def put(body: bytes = b"a") -> c.Put:
    return c.Put(1, [MessageData(body=body)])


def again(lost: Client, *unanswered: int) -> Client:
    """Come back on a new connection."""
    client = lost.core.connect()
    answer = client.resume(lost.session, list(unanswered), lost.issued)
    assert isinstance(answer, Resumed)
    client.open()
    return client


def test_a_command_that_comes_again_is_answered_and_not_executed() -> None:
    client = client_on()
    first = client.do(put(), number=2)
    assert client.do(put(), number=2) == first
    assert client.core.queue().depth == 1


def test_an_outcome_survives_a_crash() -> None:
    client = client_on()
    first = client.do(put(), number=2)
    client.core.crash()
    back = again(client, 2)
    assert back.do(put(), number=2) == first
    assert back.core.queue().depth == 1


def test_a_get_that_comes_again_gets_the_same_message() -> None:
    client = client_on()
    client.put("a")
    client.put("b")
    first = client.do(c.Get(1), number=4)
    assert isinstance(first, Messages)
    assert first.messages[0].message.body == b"a"
    client.core.crash()
    back = again(client, 4)
    assert back.do(c.Get(1), number=4) == first
    assert back.get() == ["b"]


def test_a_refusal_that_comes_again_is_answered_the_same() -> None:
    client = client_on("A")
    refused = client.do(c.DeleteQueue("NONE"), number=2)
    client.define("NONE")
    assert client.do(c.DeleteQueue("NONE"), number=2) == refused


def test_a_command_that_never_arrived_is_executed_once() -> None:
    client = client_on()
    client.issued = 3  # 2 and 3 were given out and lost on their way
    client.lose()
    back = again(client, 2, 3)
    assert isinstance(back.do(put(), number=2), PutDone)
    assert isinstance(back.do(put(), number=3), PutDone)
    assert isinstance(back.do(put(), number=2), PutDone)
    assert back.core.queue().depth == 2


def test_a_wait_that_was_lost_is_taken_up_again() -> None:
    client = client_on()
    waiting = client.send(c.Get(1, wait_ms=-1))
    client.lose()
    assert client.answer(waiting) is None
    back = again(client, 2)
    assert back.answer(back.send(c.Get(1, wait_ms=-1), number=2)) is None
    other = back.core.connect()
    other.open()
    other.put("a")
    assert back.core.queue().depth == 0


@pytest.mark.parametrize("number", [1, 3, 4, -1, 2**63, 2**64 - 1])
def test_only_the_next_number_is_accepted(number: int) -> None:
    client = client_on()
    client.do(put(), number=2)
    client.seen(1)
    if number == 3:
        assert isinstance(client.do(put(), number), PutDone)
    else:
        assert client.refused(put(), number) is Reason.OUT_OF_ORDER


def test_a_seen_outcome_is_forgotten_and_its_command_refused() -> None:
    client = client_on()
    client.do(put(), number=2)
    client.seen(2)
    assert client.refused(put(), number=2) is Reason.OUT_OF_ORDER


def test_a_durable_command_needs_a_number_and_no_other_has_one() -> None:
    client = client_on()
    assert client.refused(put(), number=0) is Reason.OUT_OF_ORDER
    assert client.refused(c.Inquire("*"), number=2) is Reason.OUT_OF_ORDER
    assert isinstance(client.do(put(), number=2), PutDone)


def test_a_numbered_command_needs_a_session() -> None:
    core = Core()
    client = core.connect()
    client.session = b"not opened"
    assert client.refused(c.DefineQueue("Q")) is Reason.OUT_OF_ORDER


def test_opening_again_is_harmless() -> None:
    client = client_on()
    client.do(put(), number=2)
    assert client.do(c.SessionOpen(client.session)) == Done()
    assert client.core.qm.sessions[client.session].issued == 2


def test_a_session_that_is_not_known_cannot_be_resumed() -> None:
    """The answer waits for an entry made now: a deposed owner cannot give it."""
    client = client_on()
    back = client.core.connect()
    before = len(client.core.entries)
    refused = back.do(c.SessionResume(b"?" * 16, [], 0))
    assert isinstance(refused, Refused)
    assert refused.reason == Reason.OUTCOME_UNKNOWN
    assert len(client.core.entries) == before + 1


def of(core: Core, name: str, proof: Proof = Proof.PASSWORD) -> Client:
    """Connect a client of a user."""
    client = core.connect()
    become(client, Principal(name, proof))
    return client


@pytest.mark.parametrize("snapshot", [False, True])
def test_the_session_of_another_user_is_refused(snapshot: bool) -> None:
    core = Core()
    mine = of(core, "ann")
    mine.define("Q")
    if snapshot:
        core.crash_with_snapshot()
    else:
        core.crash()
    session = mine.session
    for name, proof in (("eve", Proof.PASSWORD), ("", Proof.NONE), ("eve", Proof.OPERATOR)):
        other = of(core, name, proof)
        for command in (c.SessionResume(session, [], 1), c.SessionOpen(session)):
            assert other.refused(command) is Reason.AUTHORITY_MISSING
    assert not core.qm.attached, "and nothing of it was touched"
    assert [one.command for one in core.denials] == ["SessionResume", "SessionOpen"] * 3
    assert isinstance(of(core, "ann", Proof.CERTIFICATE).resume(session, [], 1), Resumed)


def test_what_became_of_units_of_another_user_is_not_said_and_not_fenced() -> None:
    core = Core()
    mine = of(core, "ann")
    mine.define("Q")
    unit = mine.session + (9).to_bytes(8, "big")
    mine.lose()
    assert of(core, "eve").refused(c.AskOutcome(unit)) is Reason.AUTHORITY_MISSING
    assert not core.qm.sessions[mine.session].fenced
    for name, proof in (("ann", Proof.PASSWORD), ("root", Proof.OPERATOR)):
        assert of(core, name, proof).do(c.AskOutcome(unit)) == UnitOutcome("backed out")


def test_a_session_without_a_user_is_of_who_resumes_it_first() -> None:
    client = client_on()
    client.lose()
    assert isinstance(of(client.core, "ann").resume(client.session, [], client.issued), Resumed)
    client.core.crash()
    other = of(client.core, "eve")
    resume = c.SessionResume(client.session, [], client.issued)
    assert other.refused(resume) is Reason.AUTHORITY_MISSING


@pytest.mark.parametrize(
    ("unanswered", "issued", "reason"),
    [
        ([0], 5, Reason.OUT_OF_ORDER),
        ([-1], 5, Reason.OUT_OF_ORDER),
        ([6], 5, Reason.OUT_OF_ORDER),
        ([], NUMBER_MAX + 1, Reason.OUT_OF_ORDER),
        ([], -1, Reason.OUT_OF_ORDER),
        (list(range(1, WINDOW + 2)), WINDOW + 1, Reason.LIMIT_REACHED),
    ],
)
def test_a_resumption_with_numbers_that_cannot_be(
    unanswered: list[int], issued: int, reason: Reason
) -> None:
    client = client_on()
    client.lose()
    back = client.core.connect()
    assert back.refused(c.SessionResume(client.session, unanswered, issued)) is reason
    assert client.session not in back.core.qm.attached


def test_a_resumed_session_ends_the_connection_it_was_on() -> None:
    client = client_on()
    client.put("a")
    unit = client.begin()
    assert client.get(unit) == ["a"]
    back = client.core.connect()
    assert isinstance(back.resume(client.session, [], 2), Resumed)
    assert list(back.core.closed) == [client.number]
    assert client.number not in client.core.qm.connections
    back.open()
    assert back.refused(c.Commit(unit)) is Reason.BACKED_OUT
    (message,) = back.take()
    assert message.backout_count == 1


def test_what_a_resumption_does_not_ask_for_was_seen() -> None:
    client = client_on()
    client.do(put(), number=2)
    client.do(put(), number=3)
    again(client, 3)
    assert list(client.core.qm.sessions[client.session].outcomes) == [3]


def test_a_connection_has_one_session() -> None:
    client = client_on()
    assert client.refused(c.SessionOpen(b"other" + bytes(11))) is Reason.OUT_OF_ORDER
    other = client_on().session
    assert other == client.session, "both are the first session of their core"
    lost = client.core.connect()
    lost.open_session(client.core.new_session_id())
    assert client.refused(c.SessionResume(lost.session, [], 0)) is Reason.OUT_OF_ORDER


def test_a_session_id_has_16_bytes() -> None:
    client = Core().connect()
    assert client.refused(c.SessionOpen(b"short")) is Reason.IDENTIFIER_ERROR


def test_no_more_outcomes_are_kept_than_the_window_has() -> None:
    client = client_on()
    for _ in range(WINDOW - 1):
        client.do(c.Get(1))
    assert client.refused(put(), number=WINDOW + 1) is Reason.LIMIT_REACHED
    client.seen(1)
    assert isinstance(client.do(put(), number=WINDOW + 1), PutDone)


def test_a_client_that_polls_an_empty_queue_costs_nothing() -> None:
    client = client_on()
    for _ in range(WINDOW + 100):
        client.do(c.Get(1))
        client.seen(client.issued)
    session = client.core.qm.sessions[client.session]
    assert session.outcomes.keys() | set(session.seen) | session.written <= {1}


def test_outcomes_seen_are_dropped_from_the_ledger_too() -> None:
    """Also when the next command left no trace in the ledger, as with non-persistent messages."""
    client = client_on()
    client.put("persistent")
    client.seen(1, 2)
    client.put("soft", persistence=0)
    client.put("persistent")
    session = client.core.replayed().sessions[client.session]
    assert list(session.outcomes) == [4]


def test_the_longest_detached_session_makes_room_for_a_new_one() -> None:
    core = Core(sessions=2)
    first, second = core.connect(), core.connect()
    first.define("A")
    second.define("B")
    core.now_ms += 1
    second.lose()
    core.now_ms += 1
    first.lose()
    third = core.connect()
    third.define("C")
    assert set(core.qm.sessions) == {first.session, third.session}
    assert core.connect().refused(c.SessionResume(second.session, [], 1)) is Reason.OUTCOME_UNKNOWN


def test_sessions_in_use_are_not_forgotten() -> None:
    core = Core(sessions=1)
    core.connect().define("A")
    other = core.connect()
    assert other.refused(c.SessionOpen(core.new_session_id())) is Reason.LIMIT_REACHED


def test_a_session_left_for_too_long_expires() -> None:
    core = Core(session_expiry_ms=1000)
    away, here = core.connect(), core.connect()
    away.define("A")
    here.define("B")
    away.lose()
    core.advance(999.0)
    assert set(core.qm.sessions) == {here.session}
    assert set(core.replayed().sessions) == {here.session}
    assert core.connect().refused(c.SessionResume(away.session, [], 1)) is Reason.OUTCOME_UNKNOWN


def test_a_restart_gives_sessions_their_time_again() -> None:
    core = Core(session_expiry_ms=1000)
    client = core.connect()
    client.define("Q")
    core.now_ms += 5000
    core.crash()
    core.advance(0.999)
    assert set(core.qm.sessions) == {client.session}


def test_every_entry_can_be_read_again() -> None:
    """Numbers at their bounds must not write what replay cannot read."""
    client = client_on()
    client.lose()
    client.issued = NUMBER_MAX
    back = again(client, NUMBER_MAX)
    assert isinstance(back.do(put(), number=NUMBER_MAX), PutDone)
    assert [entries.decode(payload) for payload in back.core.entries][-1]
    assert back.core.replayed().sessions[back.session].issued == NUMBER_MAX
    assert back.refused(put(), number=NUMBER_MAX + 1) is Reason.OUT_OF_ORDER


def full(*bodies: str) -> Client:
    """A client of which nothing more is kept when it has got one message."""
    client = client_on(limits=Limits(kept_bytes=100))
    for body in bodies:
        client.put(body)
    assert client.get() == [bodies[0]]
    return client


def got(client: Client, request: int) -> list[str]:
    answer = client.answer(request)
    assert isinstance(answer, Messages), answer
    return [one.message.body.decode() for one in answer.messages]


def test_a_get_waits_for_room_until_what_was_got_is_seen() -> None:
    client = full("a", "b", "c")
    asked, later = client.send(c.Get(1)), client.send(c.Get(1))
    closed = client.send(c.Close(1))
    assert [client.answer(one) for one in (asked, later, closed)] == [None] * 3
    assert client.core.queue().depth == 2
    client.seen(client.issued - 2)
    assert (got(client, asked), client.answer(later)) == (["b"], None)
    client.seen(client.issued - 1)
    assert (got(client, later), client.answer(closed)) == (["c"], Done())
    session = client.core.qm.sessions[client.session]
    assert (list(session.outcomes)[-1], session.running) == (client.issued, set())


def test_what_is_not_kept_does_not_wait_for_room() -> None:
    client = full("a", "b")
    client.send(c.Get(1))
    unit = client.begin()
    assert client.get(unit) == ["b"]
    client.do(c.Backout(unit))
    client.put("c")
    assert client.browse() == ["b"]
    other = client.core.connect()
    other.open()
    assert other.get() == ["b"], "and others are not held up"


def test_a_waiting_get_without_room_lets_others_go_before() -> None:
    client = client_on(limits=Limits(kept_bytes=100))
    first, second = (client.send(c.Get(1, wait_ms=-1)) for _ in range(2))
    other = client.core.connect()
    other.open()
    client.put("a")
    assert (got(client, first), client.answer(second)) == (["a"], None)
    client.put("b")
    assert client.answer(second) is None
    last = other.send(c.Get(1, wait_ms=-1))
    assert got(other, last) == ["b"]
    client.put("c")
    client.seen(*client.core.qm.sessions[client.session].outcomes)
    assert got(client, second) == ["c"]


def test_a_get_that_waited_for_room_is_done_once_on_another_connection() -> None:
    client = full("a", "b")
    asked = client.issued + 1
    client.send(c.Get(1))
    client.lose()
    back = again(client, asked - 1, asked)
    assert back.core.qm.sessions[back.session].kept_bytes > 100
    assert got(back, back.send(c.Get(1), number=asked - 1)) == ["a"]
    waits = back.send(c.Get(1), number=asked)
    assert back.answer(waits) is None
    back.seen(asked - 1)
    assert got(back, waits) == ["b"]
    assert back.core.queue().depth == 0


def test_what_is_kept_is_known_after_a_restart() -> None:
    client = full("a", "b")
    before = client.core.qm.sessions[client.session].kept_bytes
    for crash in (client.core.crash, client.core.crash_with_snapshot):
        crash()
        assert client.core.qm.sessions[client.session].kept_bytes == before > 0
