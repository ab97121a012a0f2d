"""The movers of one queue manager in threads of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from adapter import watched
from adapter.ledger.kafka import KafkaLedgerReader
from adapter.ledger.port import LedgerReader, Position
from adapter.movers.errors import MoverError
from adapter.movers.events import Events
from adapter.movers.mover import Mover
from adapter.movers.parking import Held
from adapter.movers.projection import Cargo
from adapter.movers.settings import MoverSettings
from adapter.movers.stream import Stream

JOIN_TIMEOUT_S = 60.0
"""Over all the time limits of a transaction with brokers that do not answer."""


class MoverThread:
    """Runs the stream mover and the event mover, each in a thread; both end when one fails."""

    def __init__(self, settings: MoverSettings) -> None:
        self._settings = settings
        self._movers: list[Mover] = []
        self._threads: list[threading.Thread] = []
        self._failure = ""
        self._stopping = False
        self._ended = threading.Event()

    def start(self) -> None:
        """Start copying, or start again; does not wait for Kafka."""
        self.stop()
        settings = self._settings
        self._failure = ""
        self._stopping = False
        self._ended.clear()
        cargoes: list[Callable[[MoverSettings], Cargo]] = [Stream, Events]
        self._movers = [Mover(settings, cargo(settings), self._reader) for cargo in cargoes]
        self._threads = [
            watched.thread(f"mover-{mover.name}", partial(self._run, mover), self._fail)
            for mover in self._movers
        ]

    def stop(self) -> None:
        """End after the transactions that are open; twice is no error."""
        self._stopping = True
        for mover in self._movers:
            mover.stop()
        for thread in self._threads:
            thread.join(JOIN_TIMEOUT_S)

    def ended(self) -> str | None:
        """Why the movers ended by themselves, until they are started again; or None."""
        return self._failure or None

    @property
    def holding(self) -> str:
        """What the movers wait for to be mended, or nothing."""
        return "; ".join(mover.holding for mover in self._movers if mover.holding)

    @property
    def parked(self) -> dict[str, Held]:
        """The topics that cannot be written, by name."""
        return {topic: held for mover in self._movers for topic, held in mover.parked.items()}

    @property
    def is_ready(self) -> bool:
        """Whether every mover has found where to go on."""
        return bool(self._movers) and all(mover.is_ready for mover in self._movers)

    def wait(self, timeout_s: float) -> bool:
        """Wait until one of them has ended; False if not in time."""
        return self._ended.wait(timeout_s)

    def none_parked(self, timeout_s: float) -> bool:
        """Wait until every topic is written; False if not in time."""
        return all(mover.none_parked(timeout_s) for mover in self._movers)

    def caught_up(self, offset: int, timeout_s: float) -> bool:
        """Wait until all entries up to a ledger offset are copied; False if not in time."""
        return all(mover.caught_up(offset, timeout_s) for mover in self._movers)

    def statistics(self) -> dict[str, dict[str, int]]:
        """The figures of each mover, by its name."""
        return {mover.name: mover.statistics() for mover in self._movers}

    def _reader(self, position: Position | None) -> LedgerReader:
        return KafkaLedgerReader(self._settings.ledger, position)

    def _run(self, mover: Mover) -> None:
        try:
            mover.run()
        except MoverError as error:
            self._fail(str(error))
        finally:
            self._ended.set()

    def _fail(self, text: str) -> None:
        self._failure = self._failure or text
        for other in self._movers:
            other.stop()
