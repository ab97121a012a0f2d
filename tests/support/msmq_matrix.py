"""What may be done where: every kind of queue, place, operation and transaction, at every level.

The outcomes are MSMQ's (reference: MS-MQRR, MS-MQDMPR; "Sending and Retrieving Messages within a
Transaction"). A test tries each; docs/from-msmq.md shows them.
"""

import itertools
from collections.abc import Iterator

from msgspec import Struct

from adapter.msmq import (
    AcknowledgeTypes,
    Acknowledgment,
    Message,
    MessageQueue,
    MessageQueueErrorCode,
    MessageQueueException,
    MessageQueueTransaction,
    MessageQueueTransactionType,
)
from tests.support.msmq_site import MsmqSite, path, send, send_together

KINDS = ("transactional", "nontransactional")
PLACES = ("local", "remote")
OPERATIONS = ("send", "receive", "peek")
TRANSACTIONS = ("in a transaction", "single", "none")
LEVELS = (2, 3, 4)
DONE = "done"
USAGE = "TRANSACTION_USAGE"
NOT_TRANSACTIONAL_QUEUE = "success; NOT_TRANSACTIONAL_QUEUE"
NOT_TRANSACTIONAL_MESSAGE = "success; NOT_TRANSACTIONAL_MESSAGE"


class Case(Struct, frozen=True):
    """One cell of the table."""

    kind: str
    place: str
    operation: str
    transaction: str
    level: int

    def __str__(self) -> str:
        return f"{self.operation}, {self.kind}, {self.place}, {self.transaction}, {self.level}"


def cases() -> Iterator[Case]:
    """Return every cell."""
    for one in itertools.product(KINDS, PLACES, OPERATIONS, TRANSACTIONS, LEVELS):
        yield Case(*one)


def expected(case: Case) -> str:
    """Say what happens: three rules, one for each operation."""
    in_transaction = case.transaction != "none"
    transactional = case.kind == "transactional"
    if case.operation == "send":
        if in_transaction == transactional:
            return DONE
        if case.level == 2:
            return USAGE
        return NOT_TRANSACTIONAL_QUEUE if in_transaction else NOT_TRANSACTIONAL_MESSAGE
    if case.operation == "peek":
        return USAGE if in_transaction else DONE
    if not in_transaction:
        return DONE
    if not transactional:
        return USAGE
    return DONE if case.place == "local" or case.level == 4 else USAGE


def found(site: MsmqSite, case: Case, name: str) -> str:
    """Try a case on a new queue of this name, and say what has happened."""
    queue = site.create(name, transactional=case.kind == "transactional")
    site.create(f"{name}-admin")
    host = site.home if case.place == "local" else site.away
    opened = host.open(path(name))
    if case.operation != "send":
        if case.kind == "transactional":
            send_together(site.home, queue, "there")
        else:
            send(queue, "there")
    before = queue.count()
    transaction: MessageQueueTransaction | MessageQueueTransactionType
    try:
        if case.transaction == "in a transaction":
            with MessageQueueTransaction(host) as transaction:
                _operate(case, opened, transaction, name)
        elif case.transaction == "single":
            _operate(case, opened, MessageQueueTransactionType.SINGLE, name)
        else:
            _operate(case, opened, MessageQueueTransactionType.NONE, name)
    except MessageQueueException as error:
        assert queue.count() == before, "a refused operation leaves the queue as it was"
        return MessageQueueErrorCode(error.message_queue_error_code).name
    return _outcome(site, case, queue, before, name)


def _operate(
    case: Case,
    queue: MessageQueue,
    transaction: MessageQueueTransaction | MessageQueueTransactionType,
    name: str,
) -> None:
    if case.operation == "send":
        message = Message(
            "body",
            administration_queue=path(f"{name}-admin"),
            acknowledge_type=AcknowledgeTypes.FULL_REACH_QUEUE,
        )
        queue.send(message, transaction=transaction)
    elif case.operation == "receive":
        queue.receive(0, transaction=transaction)
    else:
        first = queue.peek(0)
        queue.peek_by_lookup_id(first.lookup_id, transaction=transaction)


def _outcome(site: MsmqSite, case: Case, queue: MessageQueue, before: int, name: str) -> str:
    if case.operation != "send":
        assert queue.count() == before - (case.operation == "receive")
        return DONE
    with site.open_home(f"{name}-admin") as administration:
        (acknowledgment,) = [one.acknowledgment for one in administration]
    delivered = queue.count() - before
    if acknowledgment is Acknowledgment.REACH_QUEUE:
        assert delivered == 1
        return DONE
    assert delivered == 0
    return f"success; {acknowledgment.name}"
