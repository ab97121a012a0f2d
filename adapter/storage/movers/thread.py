"""The movers of one queue manager in threads of this process.

Each mover lives and fails alone: one that has ended is reported, and stays so until it is started
again, while the others go on copying. Who starts it again, and when, is decided elsewhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from adapter.host import watched
from adapter.storage.ledger.kafka import KafkaLedgerReader
from adapter.storage.ledger.port import LedgerReader, Position
from adapter.storage.movers.errors import MoverError
from adapter.storage.movers.events import Events
from adapter.storage.movers.mover import Mover
from adapter.storage.movers.parking import Held
from adapter.storage.movers.projection import Projection
from adapter.storage.movers.settings import MoverSettings
from adapter.storage.movers.stream import Stream

JOIN_TIMEOUT_S = 60.0
"""Over all the time limits of a transaction with brokers that do not answer."""
PROJECTIONS: tuple[Callable[[MoverSettings], Projection], ...] = (Stream, Events)


class RunningMover:
    """One mover and the thread that it runs in. ended is called when it has ended by itself."""

    def __init__(self, mover: Mover, ended: Callable[[], None]) -> None:
        self.mover = mover
        self.failure = ""
        """Why it has ended by itself, or ""."""
        self._ended = ended
        self._thread = watched.thread(f"mover-{mover.name}", self._run, self._fail)

    def stop(self) -> None:
        """Let it end after the transaction that is open."""
        self.mover.stop()

    def join(self) -> None:
        """Wait until it has ended."""
        self._thread.join(JOIN_TIMEOUT_S)

    def _run(self) -> None:
        try:
            self.mover.run()
        except MoverError as error:
            self._fail(str(error))

    def _fail(self, text: str) -> None:
        self.failure = text
        self._ended()


class MoverThread:
    """Runs the movers, each in a thread of its own. For any thread."""

    def __init__(self, settings: MoverSettings) -> None:
        self._settings = settings
        self._running: tuple[RunningMover, ...] = ()
        self._changing = threading.RLock()
        """A stop waits for a restart, and ends what that has started."""
        self._is_stopped = False
        self._ended = threading.Event()

    def start(self) -> None:
        """Start copying, or start again; does not wait for Kafka."""
        with self._changing:
            self.stop()
            self._is_stopped = False
            self._ended.clear()
            self._running = tuple(map(self._start, PROJECTIONS))

    def restart(self) -> None:
        """Start those movers again that have ended by themselves, or all if there are none; none if
        they were stopped.
        """
        with self._changing:
            if self._is_stopped:
                return
            if not self._running:
                self.start()
                return
            self._ended.clear()
            self._running = tuple(
                self._start(make) if one.failure else one
                for make, one in zip(PROJECTIONS, self._running, strict=True)
            )

    def stop(self) -> None:
        """End after the transactions that are open; twice is no error."""
        with self._changing:
            self._is_stopped = True
            for one in self._running:
                one.stop()
            for one in self._running:
                one.join()

    @property
    def failures(self) -> dict[str, str]:
        return {one.mover.name: one.failure for one in self._running if one.failure}

    def failure(self) -> str | None:
        return "; ".join(self.failures.values()) or None

    @property
    def holding(self) -> str:
        return "; ".join(mover.holding for mover in self._movers if mover.holding)

    @property
    def parked(self) -> dict[str, Held]:
        return {topic: held for mover in self._movers for topic, held in mover.parked.items()}

    @property
    def is_ready(self) -> bool:
        """Whether every mover has found where to go on."""
        return bool(self._running) and all(mover.is_ready for mover in self._movers)

    def wait(self, timeout_s: float) -> bool:
        """Wait until one of them has ended by itself; False if not in time."""
        return self._ended.wait(timeout_s)

    def none_parked(self, timeout_s: float) -> bool:
        """Wait until every topic is written; False if not in time."""
        return all(mover.none_parked(timeout_s) for mover in self._movers)

    def caught_up(self, offset: int, timeout_s: float) -> bool:
        """Wait until all entries up to a ledger offset are copied; False if not in time."""
        return all(mover.caught_up(offset, timeout_s) for mover in self._movers)

    def statistics(self) -> dict[str, dict[str, int]]:
        """The figures of each mover, by its name; one that has ended holds."""
        return {
            one.mover.name: one.mover.statistics() | ({"holding": 1} if one.failure else {})
            for one in self._running
        }

    @property
    def _movers(self) -> list[Mover]:
        return [one.mover for one in self._running]

    def _start(self, make: Callable[[MoverSettings], Projection]) -> RunningMover:
        reader = partial(_reader, self._settings)
        return RunningMover(Mover(self._settings, make(self._settings), reader), self._ended.set)


def _reader(settings: MoverSettings, position: Position | None) -> LedgerReader:
    return KafkaLedgerReader(settings.ledger, position)
