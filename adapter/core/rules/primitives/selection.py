"""Selection: which messages a get finds, and which a browse finds, in the order of delivery.

Theory. A store keeps its messages in *lanes*. Order of delivery is: the highest lane first, in a
lane ascending seq, and behind a persistent message the non-persistent ones that follow it (n).
A message is *available* from its commit until a unit, a browse lock or a durable consumer takes
it; only available messages are found, except under a cursor, where a handle sees its own lock.

Selection asks one *source*, an iterator over the available messages that fit, never over all:

- no condition: the lanes themselves;
- ids: an index to places, built on first use; of several ids, of an id and a number in the group,
  or of an id and a selector: an index of all of it together;
- a selector, or a number in the group: a *view*, which is shown each message that comes or goes;
- groups and segments: the same, with what begins a group, whole messages and whole groups apart;
  a handle inside a group asks the id index for what follows its position, and nothing else.

Of a long queue only the beginning of each lane is in memory. A source that comes to a message which
is not in memory raises PageNeeded, and so does an index or a view that has not seen all messages.
If messages were found before that point, they are the answer, for a get takes what there is; if
none was found, PageNeeded leaves the decision, the owner loads the page, and the request is decided
again from the beginning. So nothing may change before the last point that can raise: selection
changes nothing, the rule that asked changes locks and cursors afterwards.

From the source, messages that have expired, are marked, or are not whole are passed over, until
the limit, or what one reply carries, is reached. A message that came back before ends a get that
asks for such messages alone. This module does not know what becomes of what it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from adapter.core.contract.commands import COMPLETE, Browse, Get
from adapter.core.contract.message import Place
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.stored import Stored
from adapter.core.contract.weights import weight
from adapter.core.model.groups import Progress
from adapter.core.model.handles import QueueHandle
from adapter.core.model.paged_index import START, Skips
from adapter.core.model.queue import LocalQueue
from adapter.core.rules.primitives import groups, matching

SURE_BYTES: Final = 4 * 1024 * 1024
"""Of bodies: what else messages say is not as much again, or they are looked at one by one."""
BYTES_MAX: Final = 8 * 1024 * 1024
"""An answer ends before it passes this, descriptors and properties included: it is one frame."""


def source(
    handle: QueueHandle,
    command: Get | Browse,
    at: Progress | None,
    after: Place = START,
    skips: Skips | None = None,
) -> Iterable[Stored]:
    """Iterate over the available messages that fit a command.

    at: where the handle is in a group, if that counts. after: the place behind which to begin.
    skips: what else is passed over, of a command that asks for nothing whole.
    """
    if command.options & matching.WHOLE:
        return groups.candidates(handle, command, at, after)
    return matching.candidates(handle, command, after, skips)


def first_to_get(
    handle: QueueHandle,
    command: Get,
    limit: int,
    now_ms: int,
    expired: list[Stored],
    *,
    beside: bool,
) -> list[Stored]:
    """Return the first messages that fit a get; limit, expired, beside: see first_of()."""
    if matching.is_any(handle, command):
        head = handle.queue.first_in_memory(limit)
        if head and _is_found(head, now_ms, alone=command.alone):
            return head
    fitting = source(handle, command, handle.get_group)
    incomplete = partial(is_incomplete, handle.queue) if command.options & COMPLETE else None
    return first_of(fitting, limit, now_ms, expired, incomplete, alone=command.alone, beside=beside)


def _is_found(head: list[Stored], now_ms: int, *, alone: bool) -> bool:
    """Whether these messages, of a get without conditions, are all found together."""
    size = 0
    for stored in head:
        if 0 < stored.expires_at_ms <= now_ms or (alone and stored.backout_count > 0):
            return False
        size += stored.length
    return len(head) == 1 or size <= SURE_BYTES


def first_of(
    fitting: Iterable[Stored],
    limit: int,
    now_ms: int,
    expired: list[Stored],
    is_passed_over: Callable[[Stored], bool] | None = None,
    *,
    alone: bool = False,
    beside: bool = False,
) -> list[Stored]:
    """Return the first messages of a source, up to a limit and up to what one reply carries.

    expired: takes the messages met whose time is over. alone: a message that came back before is
    found by itself. beside: the answer joins messages that were got before, so that such a message
    is not found at all.
    """
    found: list[Stored] = []
    try:
        _collect(found, fitting, limit, now_ms, expired, is_passed_over, alone, beside)
    except PageNeeded:
        if not found:
            raise
    return found


def _collect(
    found: list[Stored],
    fitting: Iterable[Stored],
    limit: int,
    now_ms: int,
    expired: list[Stored],
    is_passed_over: Callable[[Stored], bool] | None,
    alone: bool,
    beside: bool,
) -> None:
    size = 0
    for stored in fitting:
        if 0 < stored.expires_at_ms <= now_ms:
            expired.append(stored)
            continue
        if is_passed_over is not None and is_passed_over(stored):
            continue
        size += weight(stored.message)
        is_alone = alone and stored.backout_count > 0
        if (is_alone and beside) or (found and size > BYTES_MAX):
            break
        found.append(stored)
        beside = True
        if is_alone or len(found) == limit:
            break


def is_incomplete(queue: LocalQueue, stored: Stored) -> bool:
    """Whether the segments of a message cannot be joined to a whole one; may raise PageNeeded."""
    return not groups.parts(queue, stored)
