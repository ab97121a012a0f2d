"""Every refusal has a smallest request that meets it, and one beside it that is not refused.

What transcripts show is not shown here again: these are the rules that no ordinary program meets.
`make mutants` switches each rule off and looks whether a test turns red.
"""

from collections.abc import Callable

import pytest

from adapter.core import inputs
from adapter.core.attributes.queue import MESSAGE_LENGTH_MAX
from adapter.core.contract import commands as c
from adapter.core.contract.details import OFFSET_MAX, SEGMENT, SEGMENTATION_ALLOWED, Details
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import (
    Connections,
    Done,
    Messages,
    PutDone,
    Refused,
    UnitOutcome,
)
from adapter.core.model.session import WINDOW
from adapter.core.rules.primitives.matching import SELECTIONS_MAX
from adapter.runtime.owner.loop import ENTRY_BYTES
from adapter.storage.format import entries
from tests.support.by_hand import ByHand
from tests.support.core import Client, Core, client_on

SESSION = b"s" * 16


def request(client: Client, command: c.Command, *, number: int = 0, number_of: int = 900) -> object:
    """Ask without the session that a Client opens by itself; the answer."""
    client.core.execute(c.Request(client.number, number_of, number, command))
    return client.answer(number_of)


def reason_of(answer: object) -> Reason:
    assert isinstance(answer, Refused), answer
    return Reason(answer.reason)


def put_of(**fields: object) -> c.Put:
    message = MessageData(body=b"a", **fields)  # type: ignore[arg-type]
    return c.Put(1, [message], b"", c.SET_CONTEXT)


def put_with(**fields: object) -> c.Put:
    return put_of(details=Details(**fields))  # type: ignore[arg-type]


def subscribe_of(**fields: object) -> c.Subscribe:
    given = {"name": "S", "options": c.CREATE | c.MANAGED, **fields}
    return c.Subscribe(5, "a", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("refused", "taken", "reason"),
    [
        (c.Put(1, []), put_of(), Reason.OPTIONS_ERROR),
        (put_of(persistence=2), put_of(persistence=1), Reason.PERSISTENCE_ERROR),
        (put_of(correlation_id=b"x"), put_of(correlation_id=b"x" * 24), Reason.IDENTIFIER_ERROR),
        (put_of(group_seq=0), put_of(group_seq=1), Reason.GROUP_NUMBER_ERROR),
        (put_of(message_type=3), put_of(message_type=65_536), Reason.MESSAGE_TYPE_ERROR),
        (put_of(format="123456789"), put_of(format="12345678"), Reason.OPTIONS_ERROR),
        (put_of(report=2**31), put_of(report=-(2**31)), Reason.OPTIONS_ERROR),
        (
            put_of(properties={f"p{n}": 1 for n in range(257)}),
            put_of(properties={f"p{n}": 1 for n in range(256)}),
            Reason.PROPERTY_ERROR,
        ),
        (put_of(properties={"": 1}), put_of(properties={"a": 1}), Reason.PROPERTY_ERROR),
        (put_of(properties={"a": [1]}), put_of(properties={"a": b"1"}), Reason.PROPERTY_ERROR),
        (
            put_of(properties={"a": 2**63}),
            put_of(properties={"a": -(2**63)}),
            Reason.PROPERTY_ERROR,
        ),
        (put_with(flags=32), put_with(flags=SEGMENTATION_ALLOWED), Reason.MESSAGE_FLAGS_ERROR),
        (
            put_with(accounting_token=b"x"),
            put_with(accounting_token=b"x" * 32),
            Reason.IDENTIFIER_ERROR,
        ),
        (
            put_with(identity_data="x" * 33),
            put_with(identity_data="x" * 32),
            Reason.OPTIONS_ERROR,
        ),
        (put_with(origin_data="12345"), put_with(origin_data="1234"), Reason.OPTIONS_ERROR),
        (put_with(appl_type=2**31), put_with(appl_type=-(2**31)), Reason.OPTIONS_ERROR),
        (put_with(original_length=-2), put_with(original_length=-1), Reason.OPTIONS_ERROR),
        (put_with(offset=OFFSET_MAX + 1), put_with(offset=OFFSET_MAX), Reason.OFFSET_ERROR),
        (c.Get(1, wait_ms=-2), c.Get(1, wait_ms=0), Reason.WAIT_INTERVAL_ERROR),
        (c.Browse(1, wait_ms=-2), c.Browse(1, wait_ms=0), Reason.WAIT_INTERVAL_ERROR),
        (c.Get(1, options=c.LOCK), c.Browse(1, options=c.LOCK), Reason.OPTIONS_ERROR),
        (c.Get(1, message_id=b"x"), c.Get(1, message_id=b"x" * 24), Reason.IDENTIFIER_ERROR),
        (c.Browse(1, group_id=b"x"), c.Browse(1, group_id=b"x" * 24), Reason.IDENTIFIER_ERROR),
        (c.Browse(1, limit=0), c.Browse(1, limit=10_000), Reason.OPTIONS_ERROR),
        (c.Open(1, "Q", c.BROWSE), c.Open(2, "Q", c.BROWSE), Reason.HANDLE_IN_USE),
        (c.Open(0, "Q", c.BROWSE), c.Open(3, "Q", c.BROWSE), Reason.HANDLE_IN_USE),
        (
            c.Open(4, "Q", c.BROWSE, selection=f"a = '{'x' * 10_235}'"),
            c.Open(4, "Q", c.BROWSE, selection=f"a = '{'x' * 10_234}'"),
            Reason.SELECTION_TOO_LONG,
        ),
        (c.OpenTopic(4, "a" * 10_241), c.OpenTopic(4, "a" * 10_240), Reason.TOPIC_STRING_ERROR),
        (c.OpenTopic(4, "a\0"), c.OpenTopic(4, "a "), Reason.TOPIC_STRING_ERROR),
        (c.OpenTopic(4, "/" * 256), c.OpenTopic(4, "/" * 255), Reason.TOPIC_STRING_ERROR),
        (subscribe_of(options=c.MANAGED), subscribe_of(), Reason.OPTIONS_ERROR),
        (subscribe_of(options=c.CREATE | 256), subscribe_of(), Reason.OPTIONS_ERROR),
        (
            subscribe_of(user_data="x" * 10_241),
            subscribe_of(user_data="x" * 10_240),
            Reason.OPTIONS_ERROR,
        ),
        (
            subscribe_of(correlation_id=b"x"),
            subscribe_of(correlation_id=b"x" * 24),
            Reason.IDENTIFIER_ERROR,
        ),
        (c.Inquire("?" * 97), c.Inquire("?" * 96), Reason.NAME_ERROR),
        (c.AskOutcome(b"x"), c.AskOutcome(b"x" * 24), Reason.IDENTIFIER_ERROR),
    ],
)
def test_a_request_that_says_what_cannot_be(
    refused: c.Command, taken: c.Command, reason: Reason
) -> None:
    client = client_on()
    assert client.refused(refused) is reason
    assert not isinstance(client.do(taken), Refused)


def test_a_message_is_not_cut_where_no_segment_may_begin() -> None:
    client = client_on(max_message_length=32)
    for offset, reason in ((OFFSET_MAX - 63, Reason.OFFSET_ERROR), (OFFSET_MAX - 64, None)):
        details = Details(flags=SEGMENT | SEGMENTATION_ALLOWED, offset=offset)
        answer = client.do(c.Put(1, [MessageData(body=bytes(64), details=details)]))
        assert isinstance(answer, Refused) == (reason is not None)
        assert reason is None or reason_of(answer) is reason


def test_a_publication_is_not_cut() -> None:
    """A queue's message that is longer than any may be cut into segments; a topic has no length."""
    client = client_on()
    client.do(c.OpenTopic(2, "a"))
    for size, is_refused in ((MESSAGE_LENGTH_MAX + 1, True), (MESSAGE_LENGTH_MAX, False)):
        message = MessageData(body=bytes(size), details=Details(flags=SEGMENTATION_ALLOWED))
        answer = client.do(c.Put(2, [message]))
        assert isinstance(answer, Refused) == is_refused
        assert not is_refused or reason_of(answer) is Reason.MESSAGE_TOO_LONG


def test_how_many_messages_a_put_or_get_has() -> None:
    client = client_on()
    unit = client.begin()
    assert client.refused(c.Put(1, [], unit)) is Reason.OPTIONS_ERROR
    assert client.refused(c.Get(1, unit, limit=0)) is Reason.OPTIONS_ERROR
    assert client.refused(c.Get(1, unit, limit=10_001)) is Reason.OPTIONS_ERROR
    assert client.get(unit, limit=10_000) == []


def test_an_inhibited_queue_is_not_browsed() -> None:
    client = client_on(inhibit_get=True)
    assert client.refused(c.Browse(1)) is Reason.GET_INHIBITED


@pytest.mark.parametrize(
    ("limits", "one_more"),
    [
        (Limits(waiters_per_queue=2), lambda _client: c.Get(1, wait_ms=-1)),
        (Limits(waiters_per_connection=2), lambda _client: c.Get(1, wait_ms=-1)),
        (Limits(handles_per_connection=1), lambda _client: c.Open(2, "Q", c.BROWSE)),
        (Limits(queues=1), lambda _client: c.DefineQueue("R")),
    ],
)
def test_bounds(limits: Limits, one_more: Callable[[Client], c.Command]) -> None:
    client = client_on(limits=limits)
    for _ in range(2):
        client.send(c.Get(1, wait_ms=-1))
    assert client.refused(one_more(client)) is Reason.LIMIT_REACHED


def test_how_many_different_selections_the_handles_of_a_queue_have() -> None:
    client = client_on()
    for n in range(SELECTIONS_MAX):
        client.do(c.Open(2 + n, "Q", c.BROWSE, selection=f"a = {n}"))
    one_more = c.Open(100, "Q", c.BROWSE, selection="b = 1")
    assert client.refused(one_more) is Reason.LIMIT_REACHED
    assert client.do(c.Open(101, "Q", c.BROWSE, selection="a = 1")) == Done()
    client.do(c.Close(2))
    assert client.do(one_more) == Done()


def test_two_waiting_gets_do_not_have_one_request_number() -> None:
    client = client_on()
    unit = client.begin()
    for number_of in (900, 901):
        assert request(client, c.Get(1, unit, wait_ms=-1), number_of=number_of) is None
    assert reason_of(request(client, c.Get(1, unit, wait_ms=-1))) is Reason.OUT_OF_ORDER


# -- sessions


def test_a_session_is_opened_first_and_once() -> None:
    client = client_on()
    other = client.core.connect()
    assert reason_of(request(other, c.Begin(bytes(24)))) is Reason.OUT_OF_ORDER
    assert other.refused(c.SessionOpen(b"short")) is Reason.IDENTIFIER_ERROR
    other.open_session(SESSION)
    assert other.do(c.SessionOpen(SESSION)) == Done()
    assert other.refused(c.SessionOpen(b"t" * 16)) is Reason.OUT_OF_ORDER


def test_sessions_that_are_in_use_are_not_forgotten_for_another() -> None:
    client = client_on(limits=Limits(sessions=1))
    other = client.core.connect()
    assert other.refused(c.SessionOpen(SESSION)) is Reason.LIMIT_REACHED
    client.lose()
    assert other.do(c.SessionOpen(SESSION)) == Done()


@pytest.mark.parametrize(
    ("unanswered", "issued", "reason"),
    [
        ([0], 5, Reason.OUT_OF_ORDER),
        ([6], 5, Reason.OUT_OF_ORDER),
        ([], -1, Reason.OUT_OF_ORDER),
        ([], 2**63, Reason.OUT_OF_ORDER),
        (list(range(1, WINDOW + 2)), WINDOW + 1, Reason.LIMIT_REACHED),
    ],
)
def test_numbers_that_a_resumption_cannot_name(
    unanswered: list[int], issued: int, reason: Reason
) -> None:
    client = client_on()
    client.lose()
    back = client.core.connect()
    command = c.SessionResume(client.session, unanswered, issued)
    assert back.refused(command) is reason


def test_outcomes_that_are_not_seen_are_bounded() -> None:
    client = client_on()
    while client.issued < WINDOW:
        assert client.get() == []
    assert client.refused(c.Get(1)) is Reason.LIMIT_REACHED
    client.seen(1)
    client.issued -= 1  # what was refused has not used its number
    assert client.get() == []


def test_the_outcome_of_a_definition_can_be_asked_again() -> None:
    client = client_on()
    client.core.crash()
    back = client.core.connect()
    back.resume(client.session, [1], client.issued)
    assert back.do(c.DefineQueue("Q"), 1) == Done()


# -- units


def test_what_a_unit_may_be_called() -> None:
    client = client_on()
    unit = client.begin()
    assert client.refused(c.Begin(unit)) is Reason.IDENTIFIER_ERROR
    assert client.refused(c.Begin(bytes(24))) is Reason.IDENTIFIER_ERROR
    assert client.refused(c.Begin(client.session + b"\xff" * 8)) is Reason.IDENTIFIER_ERROR
    client.do(c.Commit(unit))
    assert client.refused(c.Begin(unit)) is Reason.IDENTIFIER_ERROR


@pytest.mark.parametrize("crashed", [False, True])
def test_a_unit_that_was_said_to_be_backed_out_never_begins(crashed: bool) -> None:
    client = client_on()
    client.lose()
    asked = client.session + (7).to_bytes(8, "big")
    assert client.core.connect().do(c.AskOutcome(asked)) == UnitOutcome("backed out")
    if crashed:
        client.core.crash()
    back = client.core.connect()
    back.resume(client.session, [], client.issued)
    assert back.refused(c.Begin(asked)) is Reason.BACKED_OUT
    assert back.do(c.Begin(client.session + (8).to_bytes(8, "big"))) == Done()


def test_a_message_waits_for_the_entry_that_it_came_to_stand_in() -> None:
    """A put that does not fit beside another goes into the next entry, and so does its promise."""
    small, large = ENTRY_BYTES - 1400, entries.ENTRY_BYTES_MAX - 1024
    assert small + large + 2 * 1024 > entries.ENTRY_BYTES_MAX
    owner = ByHand()
    client = owner.connect()
    client.define(max_message_length=large)
    client.open()
    unit = client.begin()
    owner.held = True
    sent = [client.send(c.Put(1, [MessageData(body=bytes(size))])) for size in (small, large)]
    got = [client.send(c.Get(1, unit)) for _ in sent]
    owner.log.arm("lost before durable", at=2)
    owner.turn()
    owner.ledger.pump()
    assert owner.doubts
    assert isinstance(client.answer(sent[0]), PutDone)
    assert isinstance(client.answer(got[0]), Messages)
    assert client.answer(sent[1]) is None
    assert client.answer(got[1]) is None


# -- objects and operators


def test_a_full_queue_is_reported_once() -> None:
    client = client_on(max_depth=0)
    for _ in range(2):
        assert client.refused(put_of()) is Reason.QUEUE_FULL
    events = [name for payload in client.core.entries for name, _ in entries.raw_records(payload)]
    assert events.count("mqk.EventRaised") == 1


def test_a_connection_is_ended_by_another_one() -> None:
    core = Core()
    operator, program = core.connect(), core.connect()
    known = operator.do(c.AskConnections())
    assert isinstance(known, Connections)
    assert len(known.connections) == 2
    own, other = operator.number, program.number
    assert operator.refused(c.EndConnection(own)) is Reason.OPTIONS_ERROR
    assert operator.refused(c.EndConnection(99)) is Reason.CONNECTION_NOT_FOUND
    assert operator.do(c.EndConnection(other)) == Done()
    assert other not in core.qm.connections
    assert operator.refused(c.EndConnection(other)) is Reason.CONNECTION_NOT_FOUND


def test_a_queue_manager_that_quiesces_takes_no_new_work() -> None:
    client = client_on()
    unit = client.begin()
    client.core.give(inputs.Quiesced())
    assert client.refused(c.Put(1, [MessageData(body=b"a")])) is Reason.QUEUE_MANAGER_QUIESCING
    client.put("b", unit=unit)
    assert client.refused(c.Get(1, unit, wait_ms=-1)) is Reason.QUEUE_MANAGER_QUIESCING
    assert client.do(c.Commit(unit)) == Done(1)
