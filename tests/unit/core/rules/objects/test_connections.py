"""Who is connected, which units are stuck, and ending a connection."""

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.parties import Party, Principal
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Connections, Done, Messages
from tests.support.core import START_MS, Client, client_on


def listed(client: Client, units: bool = False) -> Connections:
    answer = client.do(c.AskConnections(units))
    assert isinstance(answer, Connections)
    return answer


def ended(client: Client, number: int) -> int:
    answer = client.do(c.EndConnection(number))
    assert isinstance(answer, Done), answer
    return answer.count


def operator_of(client: Client) -> Client:
    return client.core.connect()


def test_a_connection_says_who_it_is_and_what_it_holds() -> None:
    client = client_on()
    party = Party("billing", Principal("ann"), "h:1", START_MS)
    client.core.give(inputs.Introduced(client.number, party))
    client.put("a")
    unit = client.begin()
    client.get(unit)
    client.put("b", "c", unit=unit)
    client.send(c.Get(1, wait_ms=-1))
    client.core.advance(2.5)
    first, second = listed(operator_of(client)).connections
    assert (first.number, first.application, first.user) == (client.number, "billing", "ann")
    assert (first.address, first.since_ms, first.session) == ("h:1", START_MS, client.session)
    assert (first.handles, first.waiting_gets, first.units, first.messages) == (1, 1, 1, 3)
    assert first.oldest_unit_age_s == 2.5
    assert (second.handles, second.units, second.oldest_unit_age_s) == (0, 0, 0.0)
    assert (first.asks, second.asks) == (False, True)


def test_what_is_open_is_shown_if_asked_for() -> None:
    client = client_on()
    operator = operator_of(client)
    client.do(c.Open(7, "Q", c.OUTPUT | c.SET))
    client.send(c.Get(1, wait_ms=-1))
    answer = operator.do(c.AskConnections(handles=True))
    assert isinstance(answer, Connections)
    first, second = answer.handles
    assert (first.connection, first.handle, first.queue, first.waiting_gets) == (
        client.number, 1, "Q", 1
    )  # fmt: skip
    assert (second.handle, second.modes, second.waiting_gets) == (7, c.OUTPUT | c.SET, 0)
    assert not answer.handles_left_out
    assert not listed(operator).handles


def test_no_more_than_so_many_handles_are_shown() -> None:
    client = client_on(limits=Limits(handles_shown=2))
    for number in (7, 8, 9):
        client.do(c.Open(number, "Q", c.OUTPUT))
    answer = client.do(c.AskConnections(handles=True))
    assert isinstance(answer, Connections)
    assert [one.handle for one in answer.handles] == [1, 7]
    assert answer.handles_left_out == 2


def test_introducing_one_that_has_gone_is_no_matter() -> None:
    client = client_on()
    client.lose()
    client.core.give(inputs.Introduced(client.number, Party("late")))


def test_units_are_shown_the_oldest_first_if_asked_for() -> None:
    client = client_on()
    young = client.core.connect()
    old = client.begin()
    client.core.advance(10)
    new = young.begin()
    client.core.advance(1)
    client.put("a", unit=old)
    found = listed(client, units=True)
    assert [(u.unit, u.connection, u.age_s, u.puts, u.gets) for u in found.units] == [
        (old, client.number, 11.0, 1, 0),
        (new, young.number, 1.0, 0, 0),
    ]
    assert (found.units[1].since_ms, found.units_left_out) == (START_MS + 10_000, 0)
    assert listed(client).units == []


def test_only_the_oldest_units_are_shown() -> None:
    client = client_on(limits=Limits(units_shown=2))
    units = [client.begin() for _ in range(5)]
    found = listed(client, units=True)
    assert [each.unit for each in found.units] == units[:2]
    assert found.units_left_out == 3


def test_listing_waits_for_nothing_to_become_durable() -> None:
    """An operator looks just when the ledger does not answer."""
    client = client_on()
    executed = client.core.execute(c.Request(client.number, 99, 0, c.AskConnections()))
    (reply,) = executed.replies
    assert reply.after == -1


def test_ending_is_what_losing_is() -> None:
    """Units are backed out and counted, handles closed, and what waited is served."""
    client = client_on()
    client.put("a")
    unit = client.begin()
    client.get(unit)
    client.put("never", unit=unit)
    other = operator_of(client)
    other.open()
    other.open_session(other.core.new_session_id())
    waits = other.send(c.Get(1, wait_ms=-1))
    executed = client.core.execute(c.Request(other.number, 99, 0, c.EndConnection(client.number)))
    assert client.number not in client.core.qm.connections
    assert client.core.queue().opens.input == 1
    answer = other.answer(waits)
    assert isinstance(answer, Messages)
    (got,) = answer.messages
    assert (got.message.body, got.backout_count) == (b"a", 1)
    told = executed.closed[client.number]
    assert (told.reason, told.name) == (Reason.CONNECTION_ENDED, str(client.number))
    assert client.core.answers[other.number, 99] == Done(1)


def test_the_answer_waits_until_the_backouts_are_durable() -> None:
    client = client_on()
    client.put("a")
    client.get(client.begin())
    other = operator_of(client)
    entry_n = client.core.entry_n
    executed = client.core.execute(c.Request(other.number, 99, 0, c.EndConnection(client.number)))
    assert [reply.after for reply in executed.replies if reply.request == 99] == [entry_n]


def test_its_session_may_be_resumed() -> None:
    client = client_on()
    unit = client.begin()
    other = operator_of(client)
    assert ended(other, client.number) == 1
    back = client.core.connect()
    back.resume(client.session, [], client.issued)
    assert back.refused(c.Commit(unit)) is Reason.BACKED_OUT


def test_what_cannot_be_ended() -> None:
    client = client_on()
    assert client.refused(c.EndConnection(client.number)) is Reason.OPTIONS_ERROR
    assert client.refused(c.EndConnection(77)) is Reason.CONNECTION_NOT_FOUND
    other = operator_of(client)
    assert ended(other, client.number) == 0
    assert other.refused(c.EndConnection(client.number)) is Reason.CONNECTION_NOT_FOUND
