"""The queue manager's whole state, and the limits it keeps to.

Hard state (queues, sessions) is what the ledger can rebuild; the rest is soft and empty after a
restart. This module does not know what a verb means.
"""

from __future__ import annotations

from msgspec import Struct

from adapter.core.attributes.export import ExportAttributes
from adapter.core.attributes.objects import QueueManagerAttributes
from adapter.core.attributes.system import DELAYED_QUEUE
from adapter.core.contract.computers import KnownComputer
from adapter.core.contract.lanes import LANES
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import Place
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.parked import ParkedQueue
from adapter.core.contract.records import ConsumedRestored
from adapter.core.contract.spans import Span
from adapter.core.contract.stored import Stored
from adapter.core.contract.topic_names import SCHEMAS
from adapter.core.contract.unit_records import Taken
from adapter.core.model.arrivals import Arrivals
from adapter.core.model.authorities import Authorities
from adapter.core.model.broker_events import BrokerEvents
from adapter.core.model.broker_queue import BrokerQueue
from adapter.core.model.channel_rules import ChannelRules
from adapter.core.model.connection import ConnectionState
from adapter.core.model.conversations import Conversations
from adapter.core.model.delays import Delays, end_of
from adapter.core.model.due import Due
from adapter.core.model.feeds import FeedStates
from adapter.core.model.moves import MoveDue
from adapter.core.model.msmq_queue import MsmqQueue
from adapter.core.model.msmq_totals import MsmqTotals
from adapter.core.model.numbers import Numbers
from adapter.core.model.queue import LocalQueue
from adapter.core.model.references import References
from adapter.core.model.session import Session
from adapter.core.model.step import Step
from adapter.core.model.tally import Tally
from adapter.core.model.topics import Topics
from adapter.core.model.uncopied import Uncopied
from adapter.core.model.unit import HeldBytes
from adapter.core.model.waiters import Waiters
from adapter.core.model.xml_port import NoXml, XmlRules


class Absent(Struct):
    """A message that was got, or some segments of it, known by place only: None in known."""

    gets: list[Taken]
    incarnation: int
    counts: list[int]
    known: list[Stored | None]

    def missing(self) -> list[Taken]:
        """Return the places of what is to be read."""
        pairs = zip(self.gets, self.known, strict=True)
        return [taken for taken, stored in pairs if stored is None]


class HardState:
    """Objects, messages and sessions: what the ledger can rebuild.

    Locks, open handles and non-persistent messages within it are soft.
    """

    def __init__(self, name: str, owner_id: bytes, limits: Limits | None) -> None:
        self.name = name
        self.limits = limits or Limits()
        self.attributes = self.usual_attributes()
        self.queues: dict[str, LocalQueue] = {}
        self.objects: dict[tuple[str, str], Struct] = {}
        """All objects but local queues, by kind and name: its attributes."""
        self.topics = Topics()
        self.initiates: dict[str, dict[str, LocalQueue]] = {}
        """By name of an initiation queue, the queues that name it."""
        self.transmission_queues: dict[str, LocalQueue] = {}
        """Those with USAGE(XMITQ), by name."""
        self.numbers = Numbers(owner_id)
        self.sessions: dict[bytes, Session] = {}
        self.absent: dict[tuple[bytes, int], Absent] = {}
        """Outcomes whose message was not in memory at replay: by session and number."""
        self.noted: list[ConsumedRestored] = []
        """What the snapshot that was restored says of consumed messages; the owner's business."""
        self.arrivals = Arrivals()
        self.feeds = FeedStates()
        self.exports: dict[str, ExportAttributes] = {}
        """Those of the objects that are exports, by name."""
        self.conversations = Conversations()
        self.references = References()
        self.authorities = Authorities()
        self.registry_topic = SCHEMAS
        """The topic of the schema registry: no export writes it, no feed reads it. A setting."""
        self.channel_rules = ChannelRules()

    def usual_attributes(self) -> QueueManagerAttributes:
        """Return what its attributes are before they are altered."""
        return QueueManagerAttributes(
            max_handles=self.limits.handles_per_connection,
            max_uncommitted_messages=self.limits.unit_messages,
            statistics_interval_s=self.limits.statistics_interval_s,
        )

    def names_initiation(self, queue: LocalQueue) -> None:
        """Note which initiation queue a queue names."""
        name = queue.attributes.initiation_queue
        if name:
            self.initiates.setdefault(name, {})[queue.name] = queue

    def names_no_initiation(self, queue: LocalQueue) -> None:
        """Forget it: the queue goes, or will name another one."""
        name = queue.attributes.initiation_queue
        if name:
            named = self.initiates[name]
            del named[queue.name]
            if not named:
                del self.initiates[name]

    def note_usage(self, queue: LocalQueue) -> None:
        """Note whether a queue is a transmission queue; one that is deleted is not."""
        if queue.is_transmission and not queue.is_deleted:
            self.transmission_queues[queue.name] = queue
        else:
            self.transmission_queues.pop(queue.name, None)

    def that_queue(self, name: str, incarnation: int) -> LocalQueue | None:
        """Return the queue of this name and incarnation; None if it was deleted or redefined."""
        queue = self.queues.get(name)
        return queue if queue and queue.incarnation == incarnation else None


class QueueManager(HardState):
    """State of one queue manager."""

    def __init__(
        self,
        name: str,
        owner_id: bytes,
        limits: Limits | None = None,
        *,
        xml: XmlRules | None = None,
        tally: Tally | None = None,
    ) -> None:
        """owner_id: makes message ids unique across owners. tally: of the process's term before."""
        super().__init__(name, owner_id, limits)
        self.step = Step()
        self.known_queue_managers: frozenset[str] = frozenset()
        """Others that messages can be sent to."""
        self.known_computers: dict[str, KnownComputer] = {}
        """Those of MSMQ that they have, by name without case."""
        self.connections: dict[int, ConnectionState] = {}
        self.attached: dict[bytes, int] = {}
        """Which connection a session is attached to."""
        self.quiescing = False
        """No new work is taken; units in flight may end."""
        self.waiters = Waiters()
        self.tally = tally or Tally()
        self.parked: dict[str, ParkedQueue] = {}
        """The queues whose topics cannot be written, as the movers reported last."""
        self.held = HeldBytes()
        self.elapsed_ms = 0
        """What a monotonic clock said when this step's input came: waits and intervals are measured
        by it, so that they pass whatever becomes of the time of day."""
        self.entry_n = 0
        """The entry that collects what this step causes; 0 at replay: what is replayed is copied
        when everything before this term is."""
        self.due = Due()
        self.delays_waiting: dict[str, LocalQueue] = {}
        """Whose delayed messages are due, and not in memory."""
        self.broker_events = BrokerEvents()
        self.xml: XmlRules = xml or NoXml()
        self.moved_n = -1
        """Entries up to it are copied for good, but for queues that are parked."""
        self.uncopied = Uncopied(self.limits.uncopied_bytes)
        self.msmq_totals = MsmqTotals()

    def share_with(self, queue: LocalQueue) -> None:
        """Let a queue of Service Broker find the endpoints that its messages are for, and one of
        MSMQ note that it is to be settled, and count for the totals.
        """
        if isinstance(queue, BrokerQueue):
            queue.conversations = self.conversations.endpoints
        elif isinstance(queue, MsmqQueue):
            queue.unsettled = self.step.unsettled
            self.msmq_totals.add(queue)

    def share_no_more(self, queue: LocalQueue) -> None:
        """Count a queue no more: it is deleted."""
        if isinstance(queue, MsmqQueue):
            self.msmq_totals.remove(queue)

    def wake(self, queue: LocalQueue) -> None:
        """Note that gets waiting on this queue may be served now."""
        self.waiters.wake(queue)

    def note_backouts(self, queue: LocalQueue, places: list[Place], now_ms: int) -> None:
        """Note that messages come back to a queue; it may be that they are to be moved."""
        if queue.moves_backouts and places:
            self.step.moves_due.append(MoveDue(queue, places, now_ms, [], frozenset(places)))

    def note_batches_back(self, queue: LocalQueue, spans: list[Span], now_ms: int) -> None:
        """Note that messages of batches come back to a queue: they are not in memory."""
        if queue.moves_backouts:
            self.step.moves_due.append(MoveDue(queue, [], now_ms, spans, frozenset()))

    def note_loaded(self, queue: LocalQueue, places: list[Place], now_ms: int) -> None:
        """Note that messages which came back before are in memory again."""
        if queue.moves_backouts:
            self.step.moves_due.append(MoveDue(queue, places, now_ms, [], frozenset()))

    def add_expiry(self, queue: LocalQueue, stored: Stored) -> None:
        """Remember to look at a message when it expires, if it does."""
        time_ms = stored.expires_at_ms
        if time_ms:
            expiry = (time_ms, queue.name, queue.incarnation, stored.place)
            self.due.expiries.push(expiry, self._is_in_memory)

    def add_delay(self, stored: Stored) -> None:
        """Note a message that waits for its time, if it does."""
        message = stored.message
        if message.destination:
            queue = self.queues[message.destination]
            self.delay(queue, end_of(message), stored.place, message.priority)

    def delay(self, queue: LocalQueue, due_ms: int, place: Place, priority: int) -> None:
        """Note when a delayed message of a queue is due, and where it waits."""
        if queue.delays is None:
            queue.delays = Delays()
        queue.delays.add(due_ms, place, priority, self.is_delayed)
        queue.delayed += 1
        self.note_delays(queue)

    def is_delayed(self, place: Place) -> bool:
        """Whether there is a message among those that are delayed, in memory or not."""
        delayed = self.queues[DELAYED_QUEUE]
        return place in delayed.stored or (
            not place[2] and place[1] in delayed.lanes[-place[0]].paged
        )

    def note_delays(self, queue: LocalQueue) -> None:
        """Remember to look at a queue's delayed messages when the first of them is due."""
        due_ms = queue.delays.next_ms() if queue.delays is not None else None
        if due_ms is not None:
            self.look_at_delays(queue, due_ms)

    def look_at_delays(self, queue: LocalQueue, time_ms: int) -> None:
        """Remember to look at a queue's delayed messages at a time, unless that is before it."""
        delays = queue.delays
        if delays is not None and not 0 < delays.noted_ms <= time_ms:
            delays.noted_ms = time_ms
            self.due.delays.push((time_ms, queue.name, queue.incarnation), self._is_noted)

    def _is_noted(self, end: tuple[int, str, int]) -> bool:
        queue = self.that_queue(end[1], end[2])
        delays = queue.delays if queue is not None else None
        return delays is not None and delays.noted_ms == end[0]

    def add_paged_end(self, queue: LocalQueue, lane: int, time_ms: int) -> None:
        """Remember to look at a lane when paged-out messages of it will have expired."""
        end = (time_ms, queue.name, queue.incarnation, lane)
        self.due.paged_ends.push(end, lambda one: self.that_queue(one[1], one[2]))

    def want_page(self, needed: PageNeeded) -> None:
        """Ask the owner for a page."""
        # The frames in which it was raised refer to the step: that would be a cycle, and garbage.
        needed.__traceback__ = needed.__context__ = None
        self.step.pages_wanted[needed.queue, needed.lane, needed.field] = needed

    @property
    def window(self) -> tuple[int, int]:
        """How many messages, and bytes of bodies, each lane keeps in memory."""
        share = self.limits.window_total // (LANES * max(1, len(self.queues)))
        most = self.limits.window_messages
        messages = max(min(most, 16), min(most, share))
        return messages, max(1, self.limits.window_bytes * messages // most)

    def _is_in_memory(self, expiry: tuple[int, str, int, Place]) -> bool:
        queue = self.that_queue(expiry[1], expiry[2])
        return queue is not None and expiry[3] in queue.stored
