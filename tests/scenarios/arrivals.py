"""What transcripts say of arrivals: records on the topic from another queue manager, QMA.

A unit of messages has consecutive numbers, those of QMA's transmission queue. Records are collected
to units as the receiver does, and given to the queue manager; a unit without room is tried again by
its sender's records coming again.
"""

from __future__ import annotations

from collections.abc import Iterator

from adapter.core.contract.arrivals import ArrivedUnit
from adapter.core.contract.message import ID_LENGTH, Delivered, MessageData
from adapter.core.contract.msmq_header import MsmqHeader
from adapter.core.contract.transmission import Transmission
from adapter.runtime.network.collecting import InboundCollector
from adapter.runtime.network.port import ReceivedRecord
from adapter.storage.format import transfer
from adapter.storage.format.transfer import Transfer
from tests.scenarios.language import Call

SOURCE = "QMA"
TOPIC = "mq.QM1.in.QMA"


class InboundTopic:
    """The topic from QMA, and what has been collected of it."""

    def __init__(self, queue_manager: str) -> None:
        self._queue_manager = queue_manager
        self._collector = InboundCollector(queue_manager, TOPIC, "topic id", SOURCE)

    def append(self, call: Call) -> list[ArrivedUnit]:
        """Append the records of a command; return the units that are whole with them."""
        if call.verb == "garbage":
            return self._take({}, call.words[0].encode())
        ready: list[ArrivedUnit] = []
        for headers, value in unit_records(call, self._queue_manager):
            ready += self._take(headers, value)
        return ready

    def _take(self, headers: dict[str, bytes | None], value: bytes) -> list[ArrivedUnit]:
        record = ReceivedRecord(TOPIC, self._collector.next, value, headers)
        return [one.given for one in self._collector.take(record, 0.0)]


def unit_records(call: Call, queue_manager: str) -> Iterator[tuple[dict[str, bytes | None], bytes]]:
    """Make the records of a unit; first=N: only so many of them come."""
    options = call.options
    first, session = int(options.pop("seq")), int(options.pop("session", 1))
    is_msmq, single = "msmq" in call.words[1:], "single" in call.words[1:]
    bodies = [word for word in call.words[1:] if word not in ("msmq", "single")]
    if "size" in options:
        bodies.append("x" * int(options.pop("size")))
    count = int(options.pop("first", len(bodies)))
    for part, body in enumerate(bodies[:count]):
        seq = first + part
        target = f"private$\\{call.words[0]}" if is_msmq else call.words[0]
        label = body[:40]
        header = MsmqHeader(label=label, source=SOURCE, transactional=single) if is_msmq else None
        message = MessageData(
            body=body.encode(),
            message_id=f"from QMA {seq}".encode().ljust(ID_LENGTH, b"\0"),
            correlation_id=bytes(ID_LENGTH),
            group_id=bytes(ID_LENGTH),
            priority=3 if is_msmq else 0,
            persistence=1,
            msmq=header,
            transmission=Transmission(target, computer=queue_manager)
            if is_msmq
            else Transmission(target, queue_manager),
        )
        size, unit = len(bodies), f"unit {first}".encode().ljust(ID_LENGTH, b"\0")
        sent = Delivered(message, 0, seq, 0, 0, unit, part, size, part, size)
        place = Transfer(
            queue_manager=SOURCE,
            ident="id of QMA",
            queue="QM1",
            incarnation=0,
            lane=0,
            n=0,
            lowest=[],
            session=session.to_bytes(16, "big"),
            part=part,
            parts=size,
        )
        for headers, value in transfer.encode(sent, place):
            yield dict(headers), value
