"""What the ledger must be able to make again: all that a snapshot holds, and what messages say.

Both are taken from the live core and from one that has replayed its entries. Nothing is listed by
hand: a field that is added to a snapshot is compared from then on.
"""

from adapter.core import dispatch
from adapter.core.contract.channel_rules import ChannelRuleSet
from adapter.core.contract.ranges import Ranges
from adapter.core.contract.records import (
    ArrivalsRestored,
    BatchClaimed,
    DelaysRestored,
    HeadsRestored,
    LaneRestored,
    ReceiveNoted,
    Record,
    SessionRestored,
)
from adapter.core.contract.stored import Stored
from adapter.core.model.manager import QueueManager

KEYS = (
    *("name", "queue", "lane", "session", "number", "consumer", "handle", "feed"),
    *("profile", "object_type", "entity", "is_group"),
)
"""The fields that say what a record of a snapshot is about."""


def check_snapshots(live: QueueManager, again: QueueManager) -> None:
    """What a snapshot says is what the ledger says, whoever makes it: each record, each field.

    Of sessions a snapshot holds more: what this process has learned and the ledger need not know.
    Heads are estimates, which become better with every page that is read.
    """
    known, replayed = snapshot_of(live), snapshot_of(again)
    for one in (known, replayed):
        for record in [each for each in one.values() if isinstance(each, HeadsRestored)]:
            del one[
                "HeadsRestored", record.queue
            ]  # about when: what a page has said makes it better
    for ident, session in live.sessions.items():
        for number in session.seen:
            assert replayed.pop(("OutcomeRestored", ident, number), None), "the ledger has it"
        mine, other = (one["SessionRestored", ident] for one in (known, replayed))
        assert isinstance(mine, SessionRestored)
        assert isinstance(other, SessionRestored)
        assert other.issued <= mine.issued
        assert set(Ranges(pairs(other.committed))) <= set(Ranges(pairs(mine.committed)))
        other.time_ms, other.issued, other.committed = mine.time_ms, mine.issued, mine.committed
    assert replayed.keys() == known.keys()
    differ = {key: (replayed[key], known[key]) for key in known if replayed[key] != known[key]}
    assert not differ, f"by the ledger, and by the live core: {differ}"


def snapshot_of(qm: QueueManager) -> dict[tuple[object, ...], Record]:
    """Return the records of a snapshot, by what each is about."""
    found: dict[tuple[object, ...], Record] = {}
    for record in dispatch.snapshot(qm):
        names = [name for name in KEYS if hasattr(record, name)]
        key: tuple[object, ...] = type(record).__name__, *(getattr(record, one) for one in names)
        if isinstance(record, ArrivalsRestored):
            key += (record.queue_manager, record.incarnation, bool(record.lanes))
            key += tuple((record.seqs or record.others)[:2])
        if isinstance(record, ReceiveNoted):
            key += (record.unit,)
        if isinstance(record, ChannelRuleSet):
            key += record.rule.key
        if isinstance(record, BatchClaimed):
            key += (sum(isinstance(one, BatchClaimed) for one in found.values()),)
        assert key not in found, key
        if isinstance(record, DelaysRestored):
            entries = record.entries
            fours = sorted(entries[at : at + 4] for at in range(0, len(entries), 4))
            record.entries = [part for four in fours for part in four]
        found[key] = settled(record) if isinstance(record, LaneRestored) else record
    return found


def settled(lane: LaneRestored) -> LaneRestored:
    """Say of a lane's messages the same, whether they were in memory or not."""
    ends: dict[int, Ranges] = {}
    for at in range(0, len(lane.ends), 3):
        end, first, last = lane.ends[at : at + 3]
        ends.setdefault(end, Ranges()).add_span(first, last)
    lane.ends = [
        part for end in sorted(ends) for span in ends[end].spans() for part in (end, *span)
    ]
    lane.counts = [part for pair in sorted(pairs(lane.counts)) for part in pair]
    return lane


def pairs(flat: list[int]) -> list[tuple[int, int]]:
    return list(zip(flat[::2], flat[1::2], strict=True))


def contents(qm: QueueManager) -> dict[str, object]:
    """What a snapshot leaves to the topics: everything that messages say."""
    return {
        name: {place: hard(stored) for place, stored in queue.stored.items() if not place[2]}
        for name, queue in qm.queues.items()
    }


HARD = (
    *("message", "place", "unit", "unit_index", "unit_size", "queue_unit_index"),
    *("queue_unit_size", "backout_count", "priority", "expires_at_ms", "length"),
)


def hard(stored: Stored) -> dict[str, object]:
    """Leave out which unit holds it, and in which entry of which term it was put."""
    return {name: getattr(stored, name) for name in HARD}
