"""An owner on a ledger in memory, driven by hand: turns and durability come when they are told to.

It does what adapter.runtime.owner.owner does around its loop, without an event loop: take over,
replay, carry over. With ``held=False`` (the start) everything is settled after each request.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.authorities import Denial
from adapter.core.contract.limits import Limits
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Refused
from adapter.core.effects import Effects
from adapter.core.model.manager import QueueManager
from adapter.runtime.owner.client_sink import ClientSink
from adapter.runtime.owner.clock import Clock
from adapter.runtime.owner.loop import OwnerLoop
from adapter.runtime.owner.promises import Collected
from adapter.runtime.owner.replay import carry_over, take_over
from adapter.runtime.owner.storage import Storage
from adapter.runtime.owner.taking_over import Succession
from adapter.storage.ledger.envelope import PART_BYTES
from adapter.storage.ledger.memory import MemoryLedger, MemoryLog
from adapter.storage.ledger.port import LedgerUnavailable
from tests.support.at_once import in_one_thread
from tests.support.core import Core


class ClockOf(Clock):
    """The clock of a core that is told the time."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def now_ms(self) -> int:
        """Return what it was told."""
        return self._core.now_ms

    def elapsed_ms(self) -> int:
        """Return how much time has passed."""
        return self._core.elapsed_ms


class ByHand(Core, ClientSink):
    """A queue manager on a ledger. One object through crashes and doubts."""

    loop: OwnerLoop

    def __init__(
        self,
        limits: Limits | None = None,
        log: MemoryLog | None = None,
        storage: Storage | None = None,
        part_bytes: int = PART_BYTES,
    ) -> None:
        """part_bytes: entries of more are several records."""
        self._part_bytes = part_bytes
        self.log = log or MemoryLog(clock_ms=lambda: self.now_ms)
        self.storage = storage
        self.clock = ClockOf(self)
        self.held = False
        self.doubts: list[str] = []
        self.sent: list[tuple[int, list[Reply]]] = []
        self.void = Collected()
        self._turns: list[Callable[[], None]] = []
        self._owner_ids = itertools.count(1)
        self.owner_id = b""
        super().__init__(limits)
        self.take_over()

    def _new(self) -> QueueManager:
        """Make nothing: the core comes from the ledger."""
        return QueueManager("QM1", bytes(16), self._limits)

    def take_over(
        self, old: QueueManager | None = None, succession: Succession | None = None
    ) -> None:
        """Become the owner, and go on from what the ledger says.

        old: a core that lives on. succession: of a standby, whom it replaces and what it knows.
        """
        owner_id = next(self._owner_ids).to_bytes(4, "big") * 4
        self.ledger = self.new_ledger()
        self.ledger.on_durable = self._durable
        self.ledger.on_doubt = self._doubt
        of = succession or Succession(None, None)
        with in_one_thread():
            replayed = take_over(
                "QM1", owner_id, "by hand", self.ledger, self._limits, self.storage,
                instead_of=of.owner, followed=of.followed,
            )  # fmt: skip
        if old is not None:
            last_n = replayed.last_n_of.get(self.owner_id, 0)
            self.void = self.loop.end(last_n)
            carry_over(old, replayed.qm, self.void)
        self.qm, self.owner_id = replayed.qm, owner_id
        self.began = replayed
        self._turns.clear()
        self.loop = self.new_loop()
        self.give(inputs.Restarted())

    def new_ledger(self) -> MemoryLedger:
        """Make the ledger of the next term."""
        return MemoryLedger(self.log, pumped=True, part_bytes=self._part_bytes)

    def now(self) -> inputs.Now:
        """See Core."""
        return inputs.Now(self.now_ms, self.elapsed_ms, self.loop.entry_n)

    def new_loop(self) -> OwnerLoop:
        """Make the loop of a term; it has several entries in flight, as with replicated brokers."""
        loop = OwnerLoop(self.qm, self.ledger, self.clock, self, self.soon, self.want_page)
        loop.appends.call_none_quick()
        return loop

    def crash(self) -> None:
        """End without a word, and start again."""
        self.end()
        self.begin()

    def end(self) -> None:
        """End without a word; begin() is to follow."""
        self.loop.end(-1)
        self.ledger.close()
        self.answers.clear()

    def begin(self, succession: Succession | None = None) -> None:
        """Begin another process, which may have been a standby."""
        self.take_over(succession=succession)

    @property
    def limits(self) -> Limits | None:
        """The queue manager's limits."""
        return self._limits

    def recover(self) -> None:
        """Take over again after a doubt; the process, and what is not persistent, lives on."""
        assert self.doubts, "there was no doubt"
        self.doubts.clear()
        try:
            self.take_over(self.qm)
        except LedgerUnavailable as error:
            self.doubts.append(str(error))

    def execute(self, request: c.Request) -> Effects:
        """Execute one request; what it caused shows in answers."""
        command = msgspec.msgpack.decode(
            msgspec.msgpack.encode(request.command), type=type(request.command)
        )
        self.loop.request(c.Request(request.connection, request.request, request.number, command))
        return self._then()

    def advance(self, seconds: float) -> Effects:
        """Let time pass."""
        self.now_ms += round(seconds * 1000)
        self.loop.take(inputs.Tick())
        return self._then()

    def configure(self, **settings: Any) -> Effects:
        """Give it settings, and what every queue manager has."""
        self.loop.take(inputs.Configured(settings))
        return self._then()

    def disconnect(self, connection: int) -> Effects:
        """Let a connection end."""
        self.loop.take(inputs.Disconnected(connection))
        return self._then()

    def acknowledge(self, connection: int, seen: list[int]) -> Effects:
        """Let a client say which outcomes it has seen."""
        self.loop.take(inputs.OutcomesSeen(connection, seen))
        return self._then()

    def _then(self) -> Effects:
        if not self.held:
            self.settle()
        return Effects()

    def turn(self) -> None:
        """Let the loop have its turn: it appends what there is."""
        while self._turns:
            self._turns.pop(0)()

    def settle(self) -> None:
        """Turn and report until nothing moves any more."""
        for _ in range(100):
            self.turn()
            self.ledger.pump()
            if not self._turns and (self.loop.idle or self.doubts):
                return
        raise AssertionError("the loop does not come to rest")

    def _durable(self, n: int) -> None:
        self.loop.durable(n)

    def _doubt(self, text: str) -> None:
        self.doubts.append(text)

    # What the loop asks of its surroundings.

    def send(self, connection: int, replies: list[Reply]) -> None:
        """Keep the answers."""
        self.sent.append((connection, list(replies)))
        for reply in replies:
            key = (connection, reply.request)
            assert key not in self.answers, f"request {key} was answered twice"
            self.answers[key] = reply.result

    def want_page(self, needed: PageNeeded, incarnation: int, count: int) -> None:
        raise AssertionError(f"nothing leaves memory here: {needed}")

    def denied(self, denials: Sequence[Denial]) -> None:
        """Keep what was refused."""
        self.denials += denials

    def close(self, connection: int, reason: Refused | None) -> None:
        """Keep which connection was closed."""
        assert reason is not None
        self.closed[connection] = reason

    def close_all(self, reason: Refused) -> None:
        """Keep that every connection was closed."""
        for connection in self.qm.connections:
            self.close(connection, reason)

    def soon(self, call: Callable[[], None]) -> None:
        """Keep the turn."""
        self._turns.append(call)
