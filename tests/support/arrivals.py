"""A queue manager at which units of another one arrive."""

import itertools

from adapter.core import inputs
from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Lowest, Origin
from adapter.core.contract.message import MessageData
from adapter.core.contract.records import Record
from adapter.core.contract.transmission import Transmission
from tests.support.core import Client, Core, client_on

ORIGIN = Origin("id of QMA", "QM1", 0)
TOPIC = "mq.QM1.in.QMA"


def arrival(body: str, seq: int, n: int = 0, to: str = "Q", code: int = 0) -> Arrival:
    message = MessageData(
        body=body.encode(),
        message_id=bytes(20) + seq.to_bytes(4, "big"),
        correlation_id=bytes(24),
        group_id=bytes(24),
        priority=0,
        persistence=0 if n else 1,
        put_time_ms=5,
        transmission=Transmission(to, "QM1"),
    )
    return Arrival(message, 0, seq, n, code)


class Site:
    """A queue manager at which units arrive."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.core: Core = client.core
        self.offsets = itertools.count(1)

    def arrive(
        self,
        *messages: Arrival,
        lowest: tuple[int, int] = (0, 0),
        behind: tuple[int, int, int] | None = None,
    ) -> list[Record]:
        """Let a unit arrive; return what it caused."""
        unit = ArrivedUnit(
            TOPIC,
            "topic id",
            next(self.offsets),
            ORIGIN,
            list(messages),
            "QMA",
            b"u" * 24,
            [Lowest(0, *lowest)],
            behind,
        )
        given = inputs.Arrived(unit)
        return self.core.take(self.core.give(given)).records

    def is_blocked(self) -> bool:
        return TOPIC in self.core.qm.arrivals.blocked


def site(*queues: str) -> Site:
    return Site(client_on(*queues))
