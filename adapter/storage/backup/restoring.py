"""Restoring a backup onto a Kafka that holds nothing of the queue manager.

The ledger gets a mark first, which every reader refuses; then come the messages, the ledger behind
the mark, how far the movers have come, and the snapshot. The mark goes last. So whatever ends a
restore half way, no queue manager starts on what is there, and the restore can be begun again.

Offsets differ from those that were: what names one is written anew. Readers find messages by their
numbers. What had not been copied at the snapshot's cut is left to the movers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from adapter.core.contract.ranges import Ranges
from adapter.storage.backup.contents import FIRST, Contents
from adapter.storage.backup.file import BackupLane, CopiedRecord, LedgerRecord, read
from adapter.storage.format.progress import CopyProgress
from adapter.storage.ledger.snapshots import Snapshot


class RestoreTarget(Protocol):
    """Where a backup is restored to. Blocking; raises LedgerError."""

    def begin(self, queues: dict[str, int]) -> None:
        """Make the topics, with those of these queues, and mark the ledger as unfinished."""

    def copy(self, lane: BackupLane, copied: CopiedRecord) -> None:
        """Write a message's record behind those of its lane."""

    def append(self, offset: int, value: bytes | None) -> None:
        """Write a record of the ledger, which must come to lie at this offset."""

    def finish(self, progress: CopyProgress, snapshot: Snapshot) -> None:
        """See that all is written, say how far movers are and what was, and take the mark away."""


def restore(path: Path, contents: Contents, place: RestoreTarget, step: Callable[[], None]) -> None:
    """Write a backup that was examined. step is called for each record."""
    place.begin(contents.waiting.queues)
    lane, wanted, copies = BackupLane("", 0, 0), Ranges(), 0
    base = contents.snapshot.after.offset
    for frame in read(path):
        if isinstance(frame, BackupLane):
            lane, wanted = frame, contents.waiting.lanes.get(frame, Ranges())
        elif isinstance(frame, CopiedRecord) and frame.seq in wanted:  # the rest was got meanwhile
            place.copy(lane, frame)
            copies += 1
            step()
        elif isinstance(frame, LedgerRecord):
            place.append(frame.offset - base + FIRST, frame.value)
            step()
    cut, after = (
        contents.restored_position(contents.cut),
        contents.restored_position(contents.snapshot.after),
    )
    again = {queue: count for queue, count in contents.waiting.queues.items() if count}
    progress = CopyProgress(cut.offset, cut.owner, cut.n, copies, incarnations=again)
    place.finish(progress, msgspec.structs.replace(contents.snapshot, after=after))
