"""Programs of MSMQ on a core: queues, sends and receives in one line each."""

from typing import Any

from adapter.core.contract import msmq as m
from adapter.core.contract.commands import Close
from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.msmq_header import MsmqHeader
from adapter.core.contract.results import Messages
from adapter.core.model.msmq_queue import MsmqQueue, lookup_id_of
from tests.support.core import Client, Core

BOTH = m.RECEIVE_ACCESS | m.SEND_ACCESS
PATH = ".\\private$\\Orders"
KEY = "private$\\orders"
DEAD_LETTERS = "QM1\\SYSTEM$;DEADLETTER"
TRANSACTIONAL_DEAD_LETTERS = "QM1\\SYSTEM$;DEADXACT"
ADMINISTRATION = ".\\private$\\admin"
COMPUTER_JOURNAL = "QM1\\SYSTEM$;JOURNAL"


def client_of_msmq(core: Core | None = None, **attributes: Any) -> Client:
    """A client that has a new queue open as handle 1, to send and to receive."""
    client = (core or Core()).connect()
    client.do(m.MsmqCreate(PATH, attributes))
    client.do(m.MsmqOpen(1, PATH, BOTH))
    return client


def send(
    client: Client,
    *bodies: str,
    unit: bytes = b"",
    single: bool = False,
    handle: int = 1,
    header: MsmqHeader | None = None,
    **fields: Any,
) -> None:
    """Send messages."""
    for body in bodies:
        message = MessageData(body=body.encode(), msmq=header, **fields)
        client.do(m.MsmqSend(handle, message, unit, single))


def receive(client: Client, unit: bytes = b"", handle: int = 1, **fields: Any) -> list[str]:
    """Receive or peek at a message; returns its body, or nothing."""
    return texts(client.do(m.MsmqReceive(handle, unit, **fields)))


def look(client: Client, handle: int = 1, **fields: Any) -> list[Delivered]:
    """Peek at a message."""
    return delivered(client.do(m.MsmqReceive(handle, peek=True, **fields)))


def delivered(result: object) -> list[Delivered]:
    """Return the messages of an answer."""
    assert isinstance(result, Messages), result
    return result.messages


def texts(result: object) -> list[str]:
    """Return the bodies of an answer."""
    return [one.message.body.decode() for one in delivered(result)]


def lookup_id(one: Delivered) -> int:
    """Return the lookup id of a message."""
    return lookup_id_of((-one.lane, one.seq, 0))


def drain(client: Client, path: str, handle: int = 90) -> list[tuple[str, int]]:
    """Receive all messages of a queue; returns their bodies and classes."""
    client.do(m.MsmqOpen(handle, path, m.RECEIVE_ACCESS))
    found = []
    while answer := delivered(client.do(m.MsmqReceive(handle))):
        header = answer[0].message.msmq or MsmqHeader()
        found.append((answer[0].message.body.decode(), header.message_class))
    client.do(Close(handle))
    return found


def check_totals(core: Core) -> None:
    """Add up again what the queues of MSMQ hold together."""
    totals, found = core.qm.msmq_totals, core.qm.queues.values()
    every = [queue for queue in found if isinstance(queue, MsmqQueue)]
    own = [queue for queue in every if not queue.is_system_queue]
    assert totals.computer.bytes == sum(queue.held_bytes for queue in own)
    assert totals.dependent.queues == sum("\\system$" in queue.name for queue in every)
    for base in {queue.base for queue in own}:
        shared = [one for one in own if one.base == base and one.part != "journal"]
        assert totals.held_by(base) == sum(one.held_bytes for one in shared)
    assert totals.held_by("private$\\none") == 0


def bytes_on(core: Core, queue: MsmqQueue) -> int:
    """Add up the bodies on a queue, in memory or on its topic."""
    total = sum(stored.length for stored in queue.stored.values())
    for lane in queue.lanes:
        topic = core.topics.get((queue.name, queue.incarnation, lane.number), {})
        for first, last in lane.paged.spans():
            total += sum(len(topic[seq].message.body) for seq in range(first, last + 1))
    return total
