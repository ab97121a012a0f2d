"""The owner's loop: requests are decided and applied at once, their records written together.

1. A request is executed: core changes, records and replies come out.
2. At the end of the turn the records collected so far become one entry, appended without waiting.
   While as many entries are in flight as may be, the next one goes on collecting: group commit
   falls out of the load, and no timer ever delays a lone commit.
3. When an entry is durable, the replies that depend on it are released, in order.

Everything here runs on one thread. A ledger in doubt ends this loop, and so does a step of core
that fails; adapter.runtime.owner.lifecycle then makes a new one from what the ledger says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from adapter.core import dispatch
from adapter.core.contract.commands import Request
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.records import Record
from adapter.core.contract.replies import Reply
from adapter.core.effects import Effects
from adapter.core.inputs import Disconnected, Input, PageLoaded, PageMissing, Stopped
from adapter.core.model.manager import QueueManager
from adapter.core.rules.drive.restore import Unmoved
from adapter.runtime.owner.appends import Appends
from adapter.runtime.owner.client_sink import ClientSink
from adapter.runtime.owner.clock import Clock
from adapter.runtime.owner.core_steps import CoreSteps
from adapter.runtime.owner.failed_steps import FailedSteps
from adapter.runtime.owner.lone_client import LOOK_S, LoneClient
from adapter.runtime.owner.promises import Collected, Promises
from adapter.storage.format import entries
from adapter.storage.ledger.port import PAYLOAD_BYTES_MAX, Ledger
from adapter.storage.topics.port import Page

INDEX_PAGE: Final = 2_000
"""Messages read at a time for an index over what is not in memory. What is read between its parts
leaves holes among them: by 10,000 at a time a million messages took half as much memory again."""
ENTRY_BYTES: Final = 512 * 1024
"""An entry is closed before it grows beyond this by more than one unit."""
STEP_BYTES_MAX: Final = PAYLOAD_BYTES_MAX - 8 * 1024 * 1024
"""What of one step is written in one entry. A step of more is written in several: the ledger takes
no entry of it, and the messages that a step moves or reports may be many long ones."""

WantPage = Callable[[PageNeeded, int, int], None]
"""Reads a page: what is needed, of which incarnation of the queue, and how many messages at most.
OwnerLoop.page is to be called with it."""


class OwnerLoop:
    """Runs one queue manager on one term of its ledger."""

    def __init__(
        self,
        qm: QueueManager,
        ledger: Ledger,
        clock: Clock,
        clients: ClientSink,
        soon: Callable[[Callable[[], None]], None],
        want_page: WantPage,
        failures: FailedSteps | None = None,
    ) -> None:
        """soon: calls on the owner's thread when what has arrived by now has been handled.
        failures: see CoreSteps.
        """
        self.qm = qm
        self.appends = Appends(ledger, clock)
        self._steps = CoreSteps(qm, clock, failures)
        self._clients = clients
        self._soon = soon
        self._want_page = want_page
        self._promises = Promises()
        self._collected = Collected()
        self._weight = 0
        self._barrier = False
        self._ready: dict[int, list[Reply]] = {}
        self._lone = LoneClient()
        self._scheduled = False
        self._turn_call: Callable[[], None] = self._turn
        self._ended = False
        self._has_stopped = False
        """The last entry is made: whatever comes changes nothing any more."""
        self.requests = 0
        self.paged_out = 0
        """How many messages left memory."""
        self.entry_n = 1
        """The entry that is being collected."""

    def request(self, request: Request) -> None:
        """Execute one request; its reply is sent to the clients."""
        if self._has_stopped:
            return
        self.requests += 1
        self._lone.asked(request.connection, while_in_flight=not self.appends.all_durable)
        effects = self._steps.take(request, self.entry_n)
        if effects is None:
            self._stop_if_failed()
        else:
            self._take(effects)

    def take(self, given: Input) -> bool:
        """Take any other input, as of now; what it causes follows. Whether core was given it: none
        is taken behind Stopped, because the last entry says whether a standby is to take over.
        """
        if isinstance(given, Disconnected):
            self._ready.pop(given.connection, None)
        if self._has_stopped:
            return False
        self._has_stopped = isinstance(given, Stopped)
        effects = self._steps.take(given, self.entry_n)
        if effects is None:
            self._stop_if_failed()
            return False
        self.paged_out += effects.paged_out
        self._take(effects)
        return True

    def _stop_if_failed(self) -> None:
        """Write and promise nothing more, not even what was decided before in the same entry."""
        if self._steps.have_failed:
            self._ended = True

    @property
    def has_failed(self) -> bool:
        """Whether core has failed at a step: what is in memory is not to be trusted."""
        return self._steps.have_failed

    def page(self, needed: PageNeeded, incarnation: int, page: Page) -> None:
        """Take a page that was wanted."""
        self.take(PageLoaded(needed, incarnation, page.through, page.messages))

    def page_missing(self, needed: PageNeeded, incarnation: int) -> None:
        """Take in that a page that was wanted cannot be had."""
        self.take(PageMissing(needed, incarnation))

    def cut(self, moved_n: int, parked: frozenset[str]) -> tuple[int, list[Record], Unmoved]:
        """Describe the state as it will be when entry n is durable; returns n too.

        moved_n, parked: what is on its topics, as in evict; returns what may not be.
        """
        if self._weight or self._barrier:
            self._seal()
            self._schedule()
        unmoved = dispatch.unmoved(self.qm, moved_n, parked)
        return self.entry_n - 1, list(dispatch.snapshot(self.qm)), unmoved

    def heartbeat(self) -> None:
        """Write a sign of life if nothing else is being written, whatever is collected that is not
        written either.
        """
        if self._has_stopped:
            return
        if not self._weight and self.appends.all_durable:
            self._barrier = True
            self._schedule()

    def durable(self, n: int) -> None:
        """Entries up to n are durable and valid: keep the promises that waited for them.

        It may be known already, from a look of this thread's own.
        """
        if self._ended or n <= self.appends.durable_n:
            return
        self._lone.committed()
        self.appends.durable(n)
        self._release(n)
        self._flush()
        self._look()

    def halt(self) -> None:
        """Decide what comes, but write and promise nothing more."""
        self._ended = True

    @property
    def now_ms(self) -> int:
        """The time of day when the term began, and what has passed since; see CoreSteps."""
        return self._steps.now_ms

    @property
    def ended(self) -> bool:
        """Whether nothing more is written and promised."""
        return self._ended

    def end(self, last_n: int) -> Collected:
        """Stop for good. Returns what was done in entries behind last_n: it did not happen."""
        self._ended = True
        self._promises.made(last_n + 1, self._collected)
        return self._promises.void(last_n)

    @property
    def idle(self) -> bool:
        """Whether everything decided has been written and is durable."""
        return not self._collected.records and not self._barrier and self.appends.idle

    def statistics(self) -> dict[str, int]:
        """Return figures of this term."""
        own = {
            "requests": self.requests,
            "replies_pending": len(self._promises),
            "uncopied_bytes": self.qm.uncopied.total,
        }
        return own | self.appends.statistics()

    def _take(self, effects: Effects) -> None:
        first_n = self.entry_n
        if effects.records:
            self._collect(effects)
        self._barrier = self._barrier or effects.barrier
        durable_n = self.appends.durable_n
        for reply in effects.replies:
            after = self.entry_n if reply.after >= first_n else reply.after
            if after <= durable_n:
                self._ready.setdefault(reply.connection, []).append(reply)
            else:
                self._promises.add(after, reply)
        if effects.denied:
            self._clients.denied(effects.denied)
        for connection, told in effects.closed.items():  # nothing more is sent to these
            self._ready.pop(connection, None)
            self._clients.close(connection, told)
        if self._weight > ENTRY_BYTES:
            self._seal()
        if effects.pages_wanted:
            self._want_pages(effects.pages_wanted)
        if effects.commands_wait:
            self._clients.serve_commands()
        self._schedule()

    def _collect(self, effects: Effects) -> None:
        """Let the records of a step be of the entry that is collected, or of the next ones."""
        first_n, removed, at = self.entry_n, effects.removed, 0
        total = _weight(effects.records)
        whole = [(effects.records, total)]
        for records, weight in whole if total <= STEP_BYTES_MAX else _parts(effects):
            self._make_room(weight)
            self._collected.records += records
            if removed or self.entry_n > first_n:  # nearly never
                for number, record in enumerate(records, at):
                    if number in removed:
                        self._collected.removed += removed[number]
                    if self.entry_n > first_n:
                        dispatch.written_later(self.qm, record, self.entry_n)
            at += len(records)

    def _want_pages(self, wanted: Sequence[PageNeeded]) -> None:
        most, _ = self.qm.window
        for needed in wanted:
            queue = self.qm.queues.get(needed.queue)
            if queue is not None:
                count = needed.count or (INDEX_PAGE if needed.field else most)
                self._want_page(needed, queue.incarnation, count)

    def _make_room(self, weight: int) -> None:
        """Close the entry that is collected if the records of a step have no room in it.

        They are written together: a ledger that ended between two of them would hold half of a
        decision.
        """
        if self._weight and weight and self._weight + weight > entries.ENTRY_BYTES_MAX:
            self._seal()
        self._weight += weight

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._soon(self._turn_call)

    def _turn(self) -> None:
        self._scheduled = False
        if not self._ended:
            self._flush()
            self._look()

    def _look(self) -> None:
        """Wait for the append of a client that is alone, and waits for it too."""
        if self.appends.all_durable:
            return
        if self._lone.is_alone and self._promises.is_single and not self._collected.records:
            self._lone.is_waited_for = True
            if self.appends.look(LOOK_S):
                self.durable(self.appends.appended_n)
                return
            self._lone.failed()
        if self._lone.is_waited_for:
            self._lone.is_waited_for = False
            self.appends.leave()

    def _flush(self) -> None:
        """Append what there is, as far as entries may be in flight, and send what is ready."""
        self._append()
        if not self._weight and not self._barrier:
            self._close_unwritten()
        elif self.appends.takes_more:
            self._seal()
            self._append()
        ready, self._ready = self._ready, {}
        for connection, replies in ready.items():
            self._clients.send(connection, replies)

    def _close_unwritten(self) -> None:
        """Nothing is collected that is written: what waits for it waits for the entry before."""
        before = self.entry_n - 1
        self._promises.bring_forward(before)
        if self._collected.records:
            self._promises.made(before, self._collected)
            self._collected = Collected()
        if before <= self.appends.durable_n:
            self._release(before)

    def _release(self, n: int) -> None:
        for reply in self._promises.take_replies(n):
            self._ready.setdefault(reply.connection, []).append(reply)

    def _seal(self) -> None:
        """Close the entry being collected: what comes now belongs to the next one."""
        payload = self._steps.encode(self._collected.records)
        if payload is None:
            self._ended = True
            return
        self._promises.made(self.entry_n, self._collected)
        self.appends.add(payload)
        self._collected = Collected()
        self._weight = 0
        self._barrier = False
        self.entry_n += 1

    def _append(self) -> None:
        if not self.appends.append():
            self._ended = True  # the ledger is in doubt and will say so: nothing more is promised


def _parts(effects: Effects) -> list[tuple[list[Record], int]]:
    """Return the records of a step that are more than an entry takes, and what they weigh, in parts
    of whole decisions.
    """
    records = effects.records
    parts: list[tuple[list[Record], int]] = []
    first = at = size = 0
    for end in (*effects.cuts, len(records)):
        more = _weight(records[at:end])
        if size and size + more > STEP_BYTES_MAX:
            parts.append((records[first:at], size))
            first, size = at, 0
        size += more
        at = end
    parts.append((records[first:], size))
    return parts


def _weight(records: list[Record]) -> int:
    weight = 0
    for record in records:
        if record.logged:
            weight += entries.weight(record)
    return weight
