"""The quota of a computer, which all its queues share, and that of its journal."""

import pytest

from adapter.core import inputs
from adapter.core.contract import msmq as m
from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Origin
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import (
    ACKNOWLEDGE_NOT_ARRIVED,
    DEAD_LETTER,
    JOURNAL,
    MsmqHeader,
)
from adapter.core.contract.reasons import Reason
from adapter.core.contract.transmission import Transmission
from tests.support.core import Client
from tests.support.msmq import (
    BOTH,
    COMPUTER_JOURNAL,
    DEAD_LETTERS,
    KEY,
    PATH,
    client_of_msmq,
    drain,
    look,
    receive,
    send,
)

TOPIC = "mq.QM1.in.QM2"


def limited(**settings: int) -> Client:
    """A client with a queue, and a second one as handle 2, on a computer with quotas."""
    client = client_of_msmq()
    client.do(m.MsmqCreate(".\\private$\\other"))
    client.do(m.MsmqOpen(2, ".\\private$\\other", BOTH))
    client.core.configure(**settings)
    return client


def arrive(client: Client, body: str, seq: int, target: str = KEY, **header: int | bool) -> bool:
    """Let a message arrive from another computer; returns whether it was taken."""
    message = MessageData(
        body=body.encode(),
        message_id=bytes(20) + seq.to_bytes(4, "big"),
        correlation_id=bytes(24),
        priority=3,
        msmq=MsmqHeader(source="OTHER", **header),  # type: ignore[arg-type]
        transmission=Transmission(target, computer="QM1"),
    )
    unit = ArrivedUnit(TOPIC, "id", seq, Origin("theirs"), [Arrival(message, 0, seq)], "QM2")
    given = inputs.Arrived(unit)
    client.core.take(client.core.give(given))
    return TOPIC not in client.core.qm.arrivals.blocked


@pytest.mark.parametrize("single", [True, False])
def test_all_queues_of_a_computer_share_its_quota(single: bool) -> None:
    client = limited(msmq_quota_kb=1)
    send(client, "x" * 600)
    refused = m.MsmqSend(2, MessageData(body=b"y" * 600), b"", single)
    assert client.refused(refused) is Reason.LIMIT_REACHED
    send(client, "y" * 424, handle=2)
    receive(client)
    send(client, "y" * 600, handle=2)
    assert receive(client, handle=2) == ["y" * 424]


def test_a_unit_counts_before_it_is_committed() -> None:
    client = client_of_msmq(transactional=True)
    client.core.configure(msmq_quota_kb=1)
    unit = client.begin()
    send(client, "x" * 600, unit=unit)
    more = m.MsmqSend(1, MessageData(body=b"y" * 600), unit)
    assert client.refused(more) is Reason.LIMIT_REACHED


def test_dead_letters_do_not_count() -> None:
    client = limited(msmq_quota_kb=1)
    header = MsmqHeader(journal=DEAD_LETTER)
    for _ in range(3):
        send(client, "x" * 600, expiry_ms=0, header=header)
    assert len(drain(client, DEAD_LETTERS)) == 3


def test_what_arrives_waits_for_room() -> None:
    client = limited(msmq_quota_kb=1)
    send(client, "x" * 600)
    assert not arrive(client, "y" * 600, 1)
    receive(client)
    assert arrive(client, "y" * 600, 1)
    assert receive(client) == ["y" * 600]


def test_what_never_has_room_is_refused_on_arrival() -> None:
    client = limited(msmq_quota_kb=1)
    assert arrive(client, "y" * 1025, 1, journal=DEAD_LETTER, acknowledge=ACKNOWLEDGE_NOT_ARRIVED)
    assert drain(client, DEAD_LETTERS) == [("y" * 1025, 0x8003)]


def test_a_dead_letter_returns_to_a_computer_without_room() -> None:
    client = limited(msmq_quota_kb=1)
    send(client, "x" * 600)
    assert arrive(
        client, "y" * 600, 1, "system$;deadxact", message_class=0x8009, transactional=True
    )


@pytest.mark.parametrize(("quota_kb", "copies"), [(0, 0), (1, 1)])
def test_the_journal_of_a_computer_has_a_quota(quota_kb: int, copies: int) -> None:
    client = limited(msmq_journal_quota_kb=quota_kb)
    header = MsmqHeader(journal=JOURNAL)
    send(client, "x" * 600, "y" * 600, header=header)
    assert drain(client, COMPUTER_JOURNAL) == [("x" * 600, 0)] * copies


@pytest.mark.parametrize("expiry_ms", [0, 50_000, -1])
@pytest.mark.parametrize("is_taken", [True, False])
def test_copies_say_how_long_the_message_was_to_be_received(expiry_ms: int, is_taken: bool) -> None:
    """And do not expire themselves."""
    client = client_of_msmq(transactional=not is_taken, journaling=True)
    header = MsmqHeader(journal=JOURNAL | DEAD_LETTER)
    send(client, "a", expiry_ms=expiry_ms, header=header)
    receive(client)
    client.core.crash_with_snapshot()
    client = client.core.connect()
    client.core.advance(100)
    copies = [COMPUTER_JOURNAL]
    copies += [PATH + ";journal"] if is_taken and expiry_ms else [DEAD_LETTERS]
    for number, path in enumerate(copies):
        client.do(m.MsmqOpen(number + 5, path, m.RECEIVE_ACCESS))
        (found,) = look(client, handle=number + 5)
        assert (found.message.expiry_ms, found.message.expires_at_ms) == (expiry_ms, 0)
