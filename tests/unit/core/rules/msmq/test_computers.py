"""Computers without a queue manager: the queue manager that their programs use has their queues."""

import msgspec
import pytest

from adapter.core import dispatch, inputs
from adapter.core.contract import msmq as m
from adapter.core.contract.commands import Close, Commit
from adapter.core.contract.computers import KnownComputer
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import DEAD_LETTER, JOURNAL, MsmqHeader
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import ComputerFound, Descriptions, Done
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.msmq import queues
from tests.support.core import Client, Core
from tests.support.msmq import (
    COMPUTER_JOURNAL,
    DEAD_LETTERS,
    TRANSACTIONAL_DEAD_LETTERS,
    check_totals,
    client_of_msmq,
    drain,
    send,
)

NOT_TRANSACTIONAL_QUEUE = 0x8009
REACH_QUEUE_TIMEOUT = 0x8002
RECEIVE_TIMEOUT = 0xC002


def program_on(client: Client, computer: str = "X", path: str = "QM1\\private$\\orders") -> Client:
    """Open a queue for sending, as handle 2, as a program on another computer."""
    client.do(m.MsmqOpen(2, path, m.SEND_ACCESS, computer=computer))
    return client


def drained(client: Client, path: str, computer: str) -> list[tuple[str, int]]:
    """Receive all messages of a queue, as a program on another computer."""
    client.do(m.MsmqOpen(91, path, m.RECEIVE_ACCESS, computer=computer))
    return drain(client, path.replace(".\\", f"{computer}\\"))


def know(client: Client, **computers: str) -> None:
    """Let the queue manager know computers, and the queue managers that have their queues."""
    known = {name.casefold(): KnownComputer(one, "host:1") for name, one in computers.items()}
    found = inputs.QueueManagersKnown(frozenset(computers.values()), known)
    client.core.give(found)


def test_a_computer_without_a_queue_manager_has_its_dead_letters_here() -> None:
    client = program_on(client_of_msmq())
    send(client, "a", single=True, handle=2)
    assert drained(client, ".\\SYSTEM$;DEADXACT", "X") == [("a", NOT_TRANSACTIONAL_QUEUE)]
    assert drain(client, TRANSACTIONAL_DEAD_LETTERS) == []
    assert "outgoing$;x" not in client.core.qm.queues


def test_its_dead_letters_are_there_after_a_restart_too() -> None:
    client = program_on(client_of_msmq(transactional=True))
    send(client, "a", single=True, handle=2, expiry_ms=10)
    client.core.crash()
    client = client.core.connect()
    client.core.advance(1)
    assert drained(client, ".\\SYSTEM$;DEADXACT", "X") == [("a", RECEIVE_TIMEOUT)]


def test_what_does_not_reach_another_computer_is_a_dead_letter_of_its_sender() -> None:
    client = program_on(client_of_msmq(), path="FAR\\private$\\q")
    header = MsmqHeader(journal=DEAD_LETTER, reach_ms=10)
    send(client, "a", handle=2, header=header)
    client.core.advance(1)
    assert drained(client, ".\\SYSTEM$;DEADLETTER", "X") == [("a", REACH_QUEUE_TIMEOUT)]
    assert drain(client, DEAD_LETTERS) == []


def test_its_journal_is_here() -> None:
    client = program_on(client_of_msmq())
    send(client, "a", handle=2, header=MsmqHeader(journal=JOURNAL))
    assert drained(client, ".\\SYSTEM$;JOURNAL", "X") == [("a", 0)]
    assert drain(client, COMPUTER_JOURNAL) == []


def test_a_computer_with_a_queue_manager_gets_its_dead_letters_there() -> None:
    client = program_on(client_of_msmq())
    know(client, X="QMX")
    send(client, "a", single=True, handle=2)
    (stored,) = client.core.qm.queues["outgoing$;x"].in_order()
    assert stored.message.transmission is not None
    assert stored.message.transmission.queue == "system$;deadxact"
    open_own = m.MsmqOpen(3, ".\\SYSTEM$;DEADXACT", m.RECEIVE_ACCESS, computer="X")
    assert client.refused(open_own) is Reason.COMPUTER_NOT_REACHABLE


def test_only_its_own_programs_have_its_queues_made() -> None:
    client = client_of_msmq()
    foreign = m.MsmqOpen(3, "X\\SYSTEM$;DEADXACT", m.RECEIVE_ACCESS)
    assert client.refused(foreign) is Reason.COMPUTER_NOT_REACHABLE
    client.do(m.MsmqOpen(3, ".\\SYSTEM$;DEADXACT", m.RECEIVE_ACCESS, computer="X"))
    client.do(m.MsmqOpen(4, "X\\SYSTEM$;DEADXACT", m.RECEIVE_ACCESS))
    found = client.do(m.MsmqInquire("x\\system$;deadxact"))
    assert isinstance(found, Descriptions)
    assert [one.attributes["path_name"] for one in found.queues] == ["x\\system$;deadxact"]
    own = client.do(m.MsmqInquire("QM1\\system$;deadxact"))
    assert isinstance(own, Descriptions)
    assert [one.attributes["path_name"] for one in own.queues] == ["QM1\\system$;deadxact"]
    queue = m.MsmqCreate(".\\private$\\mine", computer="X")
    assert client.refused(queue) is Reason.COMPUTER_NOT_REACHABLE


def test_where_computers_are() -> None:
    client = client_of_msmq()
    know(client, X="QMX")
    assert client.do(m.MsmqLocate()) == ComputerFound("QM1", "QM1", "", 3)
    assert client.do(m.MsmqLocate("qm1")) == ComputerFound("qm1", "QM1", "", 3)
    assert client.do(m.MsmqLocate("x")) == ComputerFound("x", "QMX", "host:1", 3)
    assert client.do(m.MsmqLocate("y")) == ComputerFound("y", "QM1", "", 3, ["QM1", "X"])


def test_finding_msmq_d10_five_computers_are_named_at_most() -> None:
    client = client_of_msmq()
    know(client, **dict.fromkeys("abcde", "QMX"))
    found = client.do(m.MsmqLocate("y"))
    assert isinstance(found, ComputerFound)
    assert found.others == ["A", "B", "C", "D", "E", "1 more"]


@pytest.mark.parametrize("computer", ["a\\b", "a;b", "x" * 125, "ü" * 40, "a\nb", "\u0390" * 15])
def test_names_that_no_computer_has(computer: str) -> None:
    client = client_of_msmq()
    opening = m.MsmqOpen(2, "QM1\\private$\\orders", m.SEND_ACCESS, computer=computer)
    assert client.refused(opening) is Reason.ILLEGAL_QUEUE_PATH


def test_no_more_queues_are_made_than_there_may_be() -> None:
    client = program_on(client_of_msmq(), path="FAR\\private$\\q")
    qm = client.core.qm
    qm.limits = msgspec.structs.replace(qm.limits, queues=len(qm.queues))
    message = m.MsmqSend(2, MessageData(body=b"a"), b"", True)
    assert client.refused(message) is Reason.LIMIT_REACHED
    know(client, X="QMX")
    client.do(m.MsmqOpen(4, "QM1\\private$\\orders", m.SEND_ACCESS, computer="X"))
    send(client, "b", single=True, handle=4)
    assert drain(client, TRANSACTIONAL_DEAD_LETTERS) == [("b", NOT_TRANSACTIONAL_QUEUE)]


def dependents(client: Client) -> list[str]:
    return sorted(name for name in client.core.qm.queues if "\\system$" in name)


@pytest.mark.parametrize("journal", [0, JOURNAL])
def test_names_that_clients_give_themselves_make_a_bounded_number_of_queues(journal: int) -> None:
    client = client_of_msmq(Core(queues=40))
    for number in range(30):
        program_on(client, f"X{number}")
        send(client, f"{number}", single=True, handle=2, header=MsmqHeader(journal=journal))
        client.do(Close(2))
        check_totals(client.core)
    assert len(dependents(client)) == 40 // queues.DEPENDENT_SHARE
    assert client.do(m.MsmqCreate(".\\private$\\more")) == Done()
    opening = m.MsmqOpen(3, ".\\SYSTEM$;DEADXACT", m.RECEIVE_ACCESS, computer="X29")
    assert client.refused(opening) is Reason.LIMIT_REACHED
    kept = {name for name in dependents(client) if name.endswith("deadxact")}
    found = [drain(client, name.replace("x", "X", 1))[0] for name in sorted(kept)]
    rest = drain(client, TRANSACTIONAL_DEAD_LETTERS)
    assert rest[-1] == ("29", NOT_TRANSACTIONAL_QUEUE)
    assert len(found) + len(rest) == 30
    for name in dependents(client):
        assert isinstance(client.do(m.MsmqDelete(name.replace("x", "X", 1))), Done)
    assert dependents(client) == []
    client.core.crash()
    check_totals(client.core)
    client = program_on(client.core.connect(), "X29")
    send(client, "a", single=True, handle=2)
    assert drained(client, ".\\SYSTEM$;DEADXACT", "X29") == [("a", NOT_TRANSACTIONAL_QUEUE)]


def test_dead_letters_of_a_transaction_outlive_the_deletion_of_their_queue() -> None:
    client = program_on(client_of_msmq())
    unit = client.begin()
    send(client, "a", unit=unit, handle=2)
    assert client.do(m.MsmqDelete("X\\SYSTEM$;DEADXACT")) == Done()
    client.do(Commit(unit))
    client.core.crash()
    found = drain(client.core.connect(), TRANSACTIONAL_DEAD_LETTERS)
    assert found == [("a", NOT_TRANSACTIONAL_QUEUE)]


def test_its_own_system_queues_stay() -> None:
    client = client_of_msmq()
    assert client.refused(m.MsmqDelete(TRANSACTIONAL_DEAD_LETTERS)) is Reason.ACCESS_DENIED
    assert client.refused(m.MsmqDelete("X\\SYSTEM$;DEADXACT")) is Reason.COMPUTER_NOT_REACHABLE


SPELLINGS = ("stra\u00dfe", "STRASSE", "Stra\u00dfe", "strasse")


@pytest.mark.parametrize("sender", SPELLINGS)
@pytest.mark.parametrize("reader", SPELLINGS)
def test_a_computer_is_one_in_all_its_spellings(sender: str, reader: str) -> None:
    client = program_on(client_of_msmq(), sender)
    send(client, "a", single=True, handle=2)
    client.core.crash()
    client = client.core.connect()
    assert drained(client, ".\\SYSTEM$;DEADXACT", reader) == [("a", NOT_TRANSACTIONAL_QUEUE)]
    assert len(dependents(client)) == 1


@pytest.mark.parametrize("far", SPELLINGS)
def test_an_outgoing_queue_is_one_in_all_spellings_of_its_computer(far: str) -> None:
    client = client_of_msmq()
    for number, name in enumerate((SPELLINGS[0], far)):
        client.do(m.MsmqOpen(10 + number, f"{name}\\private$\\q", m.SEND_ACCESS))
        send(client, "a", handle=10 + number)
    assert [name for name in client.core.qm.queues if "outgoing" in name] == ["outgoing$;strasse"]


def test_a_queue_that_an_earlier_release_has_named_is_found() -> None:
    """It had no other name for it than the program's, in small letters."""
    client = client_of_msmq()
    plan = Plan(client.core.qm, client.core.now_ms)
    queues.ensure(plan, "stra\u00dfe\\system$;deadxact", transactional=True)
    for record in plan.record():
        dispatch.replay(client.core.qm, record)
    program_on(client, SPELLINGS[0])
    send(client, "a", single=True, handle=2)
    assert drained(client, ".\\SYSTEM$;DEADXACT", "STRA\u00dfE") == [("a", NOT_TRANSACTIONAL_QUEUE)]
    assert len(dependents(client)) == 1
