"""Quotas count whatever a sender sends, and cost the same whatever the number of queues is."""

from collections.abc import Iterator
from typing import Any

import pytest

from adapter.core.contract import msmq as m
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import DEAD_LETTER, JOURNAL, MsmqHeader
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, PutDone
from adapter.core.model.queue import LocalQueue
from tests.support.core import Core
from tests.support.msmq import (
    BOTH,
    COMPUTER_JOURNAL,
    DEAD_LETTERS,
    PATH,
    check_totals,
    client_of_msmq,
    drain,
    receive,
    send,
)

KB = 1024
SENT = [(600, 0), (0, 600), (300, 300)]
"""Bytes of body and extension."""


@pytest.mark.parametrize(("body", "extension"), SENT)
def test_quotas_count_bodies_and_extensions(body: int, extension: int) -> None:
    client = client_of_msmq(quota_kb=1, journaling=True, journal_quota_kb=1)
    header = MsmqHeader(extension=bytes(extension), journal=DEAD_LETTER | JOURNAL)
    client.core.configure(msmq_journal_quota_kb=1)
    text = "x" * body
    send(client, text, text, header=header)
    assert drain(client, DEAD_LETTERS) == [(text, 0x8003)]
    assert receive(client) == [text]
    send(client, text, header=header)
    assert receive(client) == [text]
    assert drain(client, PATH + ";journal") == [(text, 0)]
    assert drain(client, COMPUTER_JOURNAL) == [(text, 0)]


@pytest.mark.parametrize(("body", "extension"), SENT)
def test_the_quota_of_a_computer_counts_them_too(body: int, extension: int) -> None:
    client = client_of_msmq(transactional=True)
    client.core.configure(msmq_quota_kb=1)
    header = MsmqHeader(extension=bytes(extension))
    unit = client.begin()
    message = MessageData(bytes(body), msmq=header)
    assert isinstance(client.do(m.MsmqSend(1, message, unit)), PutDone)
    assert client.refused(m.MsmqSend(1, message, unit)) is Reason.LIMIT_REACHED
    too_long = MessageData(bytes(body), msmq=MsmqHeader(extension=bytes(4 * KB * KB + 1)))
    assert client.refused(m.MsmqSend(1, too_long, unit)) is Reason.MESSAGE_TOO_LONG


class NotWalked(dict[str, LocalQueue]):
    """Queues of which each is looked up, and not all."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("all queues were walked over")

    def keys(self) -> Any:
        raise AssertionError("all queues were walked over")

    items = values = keys


def test_a_send_looks_at_its_queues_alone() -> None:
    client = client_of_msmq(Core())
    core = client.core
    core.configure(msmq_quota_kb=1)
    names = [f".\\private$\\q{number}" for number in range(8)]
    for name in names:
        assert client.do(m.MsmqCreate(name, {"quota_kb": 1})) == Done()
    client.do(m.MsmqOpen(2, ",".join(names), m.SEND_ACCESS))
    client.do(m.MsmqOpen(3, names[0], BOTH))
    before, core.reads_pages = core.qm.queues, False
    core.qm.queues = NotWalked(before)
    send(client, "x" * 100, handle=2)
    refused = m.MsmqSend(2, MessageData(bytes(100)))
    assert client.refused(refused) is Reason.LIMIT_REACHED
    assert receive(client, handle=3) == ["x" * 100]
    core.qm.queues = before
    check_totals(core)
