"""A queue manager with queues of MSMQ, and trigger services that run for the time of a block."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import adapter.testing
from adapter.connection.channel.requests import Pending
from adapter.core.contract import commands
from adapter.core.contract.results import Connections
from adapter.msmq import Host, Message, MessageQueue, MessageQueueTransaction, QueueAccessMode
from adapter.msmq.triggers import Call, MessageProperty, Rule, Trigger, TriggerService

IDLE_S = 20.0
HOME = "HOME"
"""The queue manager, and its computer."""
AWAY = "AWAY"
"""Another computer, without a queue manager of its own."""


class MsmqSite:
    """Queues of MSMQ, and hosts: home is the queues' own computer, away another one."""

    def __init__(self, manager: adapter.testing.TestQueueManager) -> None:
        self.manager = manager
        self.home = manager.connect_msmq()
        self.away = manager.connect_msmq(AWAY)

    def close(self) -> None:
        self.home.close()
        self.away.close()

    def create(self, name: str = "orders", *, transactional: bool = False) -> MessageQueue:
        """Create a queue and open it, on its own computer."""
        return self.home.create(path(name), transactional=transactional)

    def open_away(self, name: str = "orders", **options: Any) -> MessageQueue:
        """Open a queue on the other computer, to which it is remote."""
        return self.away.open(path(name), **options)

    def open_home(self, name: str = "orders", **options: Any) -> MessageQueue:
        """Open a queue on its own computer."""
        return self.home.open(path(name), **options)

    def dead_letters(self, *, transactional: bool) -> list[Message]:
        """Return the messages on a dead-letter queue."""
        name = "DEADXACT" if transactional else "DEADLETTER"
        with self.home.open(rf"{HOME}\SYSTEM$;{name}", access=QueueAccessMode.RECEIVE) as queue:
            return queue.get_all_messages()

    def waiting_reads(self) -> int:
        """Return how many reads wait at the queue manager, as it counts them."""
        request = Pending(commands.AskConnections(handles=True))
        self.home.channel.ask([request])
        found = self.home.channel.result(request, Connections)
        return sum(handle.waiting_gets for handle in found.handles)


def path(name: str) -> str:
    """Return the path name of a private queue of the site."""
    return rf"{HOME}\private$\{name}"


@contextmanager
def msmq_site(**settings: Any) -> Iterator[MsmqSite]:
    """Run a queue manager in memory."""
    with adapter.testing.queue_manager(HOME, **settings) as manager:
        site = MsmqSite(manager)
        try:
            yield site
        finally:
            site.close()


def labels(queue: MessageQueue) -> list[str]:
    """Return the labels of the messages on a queue, in its order."""
    return [message.label for message in queue]


def send(queue: MessageQueue, *names: str, **properties: Any) -> None:
    """Send messages that have these labels, outside any transaction."""
    for name in names:
        queue.send(Message(name, label=name, **properties))


def send_together(host: Host, queue: MessageQueue, *names: str, **properties: Any) -> str:
    """Send messages in one transaction, and return its id."""
    with MessageQueueTransaction(host) as transaction:
        for name in names:
            queue.send(Message(name, label=name, **properties), transaction=transaction)
        return transaction.id


@contextmanager
def running(host: Host, *triggers: Trigger, **options: Any) -> Iterator[TriggerService]:
    """Run a trigger service for the time of a block."""
    service = TriggerService(host, **options)
    for trigger in triggers:
        service.add(trigger)
    service.start()
    try:
        yield service
    finally:
        service.stop()


def trigger(
    queue: MessageQueue, call: Callable[[str], object] = lambda label: None, **options: Any
) -> Trigger:
    """Make a trigger that calls a function with the label of each message."""
    action = Call(call, (MessageProperty.LABEL,))
    return Trigger("PrivateTrigger", queue, rules=[Rule("all", action=action)], **options)


def activated(service: TriggerService) -> list[str]:
    """Wait until the service is idle; return the labels that it was activated for, in order."""
    assert service.wait_idle(IDLE_S), service.statistics()
    return [activation.label for activation in service.activations]


class Failing:
    """A component that receives the message that invoked it in a transaction, and fails.

    until: it fails so often; then everything in its transaction is done. entered: called at each
    invocation first.
    """

    def __init__(
        self,
        host: Host,
        queue: MessageQueue,
        until: int = 1_000_000,
        entered: Callable[[], None] = lambda: None,
    ) -> None:
        self._host = host
        self._queue = queue
        self._until = until
        self._entered = entered
        self.calls: list[str] = []
        self.depths: list[int] = []
        self.called = threading.Condition()

    def __call__(self, label: str) -> None:
        self._entered()
        transaction = MessageQueueTransaction(self._host)
        transaction.begin()
        received = self._queue.receive(0, transaction=transaction)
        self.depths.append(self._queue.count())
        assert received.label == label
        with self.called:
            self.calls.append(label)
            fails = len(self.calls) <= self._until
            self.called.notify_all()
        if fails:
            transaction.abort()
        else:
            transaction.commit()

    def wait_for(self, calls: int) -> None:
        """Wait until it has been invoked so often."""
        with self.called:
            assert self.called.wait_for(lambda: len(self.calls) >= calls, IDLE_S), self.calls
