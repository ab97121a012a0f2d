"""A queue manager with the services of Service Broker's documentation: expense reports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID
from xml.etree import ElementTree

import adapter.testing
from adapter.connection.channel.requests import Pending
from adapter.core.contract import commands
from adapter.core.contract.broker import SCHEMA_PREFIX
from adapter.core.contract.results import Statuses
from adapter.core.model.broker_queue import PREFIX
from adapter.servicebroker import DEFAULT, ERROR, Row, ServiceBroker, Transaction
from tests.support.backlog import until

EXPENSES = "ExpenseQueue"
"""The queue of the service that processes expense reports."""
FORMS = "FormQueue"
"""The queue of the service that submits them."""
NOTES = "NoteQueue"
APPROVAL = "//expenses/Approval"
SUBMISSION = "//expenses/Submission"
ROLLBACKS_MAX = 5


class BrokerSite:
    """Two services, and sessions: program processes ExpenseQueue, form submits, admin looks."""

    def __init__(self, manager: adapter.testing.TestQueueManager) -> None:
        self.manager = manager
        self.program = manager.connect_servicebroker()
        self.form = manager.connect_servicebroker()
        self.admin = manager.connect_servicebroker()
        self.create(APPROVAL, EXPENSES)
        self.create(SUBMISSION, FORMS)

    def close(self) -> None:
        for session in (self.program, self.form, self.admin):
            session.close()

    def restart(self, *, crash: bool = False) -> None:
        """Stop, or let die, and start again; the sessions know that."""
        if crash:
            self.manager.crash()
            self.manager.start()
        else:
            self.manager.restart()
        for session in (self.program, self.form, self.admin):
            session.queue(FORMS)

    def create(self, service: str, queue: str, **options: Any) -> None:
        """Create a service and its queue."""
        self.admin.create_queue(queue, **options)
        self.admin.create_service(service, queue, contracts=[DEFAULT])

    def submit(self, *bodies: str | bytes | None, to: str = APPROVAL, **options: Any) -> UUID:
        """Begin a dialog and send messages on it, in one transaction; returns form's handle."""
        with self.form.transaction() as t:
            handle = t.begin_dialog(SUBMISSION, to)
            for body in bodies:
                t.send(handle, body=body, **options)
        return handle

    def submitted(self, *bodies: str | bytes | None, **options: Any) -> UUID:
        """As submit(); returns the handle of the side that processes the messages."""
        return self.far_of(self.submit(*bodies, **options))

    def far_of(self, handle: UUID) -> UUID:
        """Return the handle of the other side of a conversation."""
        endpoints = self.admin.conversation_endpoints()
        (own,) = (one for one in endpoints if one.conversation_handle == handle)
        (far,) = (
            one
            for one in endpoints
            if one.conversation_id == own.conversation_id and one is not own
        )
        return far.conversation_handle

    def fail(self, *queues: str, times: int = 1) -> list[Row]:
        """Receive a message from each queue and roll back, so often; returns what came last."""
        rows: list[Row] = []
        for _ in range(times):
            with rolled_back(self.program) as t:
                rows = [row for queue in queues for row in t.receive(queue, top=1)]
                assert len(rows) == len(queues), rows
        return rows

    def process(self, queue: str = EXPENSES) -> list[Row]:
        """Receive a message and commit."""
        with self.program.transaction() as t:
            return t.receive(queue, top=1)

    def is_on(self, queue: str = EXPENSES) -> bool:
        return self.admin.queue(queue).status

    def count(self, queue: str = EXPENSES) -> int:
        """Return how many transactions in a row have received from a queue and rolled back."""
        return self.admin.queue(queue).rollback_count

    def texts(self, queue: str = EXPENSES) -> list[str]:
        """Return the bodies on a queue, in its order, without receiving them."""
        return [row.text for row in self.admin.browse(queue)]

    def notify(self, **options: Any) -> None:
        """Have a message put to NoteQueue whenever a queue is disabled."""
        self.admin.create_queue(NOTES)
        self.admin.create_event_notification("Disabled", NOTES, **options)

    def disabled(self) -> list[str]:
        """Return the queues that messages on NoteQueue name."""
        events = [ElementTree.fromstring(text) for text in self.texts(NOTES)]
        assert all(one.findtext("EventType") == "BROKER_QUEUE_DISABLED" for one in events)
        return [one.findtext("ObjectName") or "" for one in events]

    def await_waits(self, queue: str, count: int = 1) -> None:
        """Wait until so many receives wait for messages of a queue."""
        until(lambda: self._waits(queue) == count)

    def _waits(self, queue: str) -> int:
        request = Pending(commands.AskStatus(PREFIX + queue.lower()))
        self.admin.channel.ask([request])
        (found,) = self.admin.channel.result(request, Statuses).queues
        return found.waiting_gets


@contextmanager
def rolled_back(session: ServiceBroker) -> Iterator[Transaction]:
    """Run a transaction that is rolled back in the end."""
    transaction = session.transaction()
    try:
        yield transaction
    finally:
        transaction.rollback()


def error_of(row: Row) -> tuple[int, str]:
    """Return code and description of an Error message."""
    assert (row.message_type_name, row.validation) == (ERROR, "X")
    error = ElementTree.fromstring(row.text)
    names = {"sb": SCHEMA_PREFIX + "Error"}
    code = error.findtext("sb:Code", namespaces=names)
    return int(code or 0), error.findtext("sb:Description", namespaces=names) or ""


@contextmanager
def broker_site(**settings: Any) -> Iterator[BrokerSite]:
    """Run a queue manager in memory, with the services."""
    with adapter.testing.queue_manager("SPEC", **settings) as manager:
        site = BrokerSite(manager)
        try:
            yield site
        finally:
            site.close()
