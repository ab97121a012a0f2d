"""Which messages fit a get or a browse, in the order of delivery; never by looking at all of them.

Ids are found by indexes, everything else by views. This module does not know what becomes of a
message that fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from adapter.core.contract.bounds import WAIT_MAX_MS
from adapter.core.contract.commands import (
    ALL_MESSAGES,
    ALL_SEGMENTS,
    BOUNDED,
    COMPLETE,
    IF_PERSISTENT,
    LOCK,
    LOGICAL_ORDER,
    MATCH_GROUP_SEQ,
    MATCH_OFFSET,
    THROUGH_QUIESCE,
    UNDER_CURSOR,
    UNLOCK,
    Browse,
    Get,
)
from adapter.core.contract.message import ID_LENGTH, MessageData, Place
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.stored import Stored
from adapter.core.model.handles import QueueHandle
from adapter.core.model.queue import ID_FIELDS, LocalQueue
from adapter.core.model.selector import TEXT_MAX, Fits, SelectorError, parse
from adapter.core.model.views import START, Selected, View

MATCH: Final = MATCH_GROUP_SEQ | MATCH_OFFSET
WHOLE: Final = LOGICAL_ORDER | ALL_MESSAGES | ALL_SEGMENTS | COMPLETE
BROWSE_OPTIONS: Final = WHOLE | MATCH | UNDER_CURSOR | LOCK | UNLOCK | BOUNDED | THROUGH_QUIESCE
GET_OPTIONS: Final = WHOLE | MATCH | UNDER_CURSOR | BOUNDED | IF_PERSISTENT | THROUGH_QUIESCE

GET_MAX: Final = 10_000
"""Messages that a get or a browse asks for."""
SELECTION: Final = "selection"
SELECTIONS_MAX: Final = 48
"""Different ones that handles of one queue have: each message that comes is shown to each."""

Ids = list[tuple[str, bytes]]


def check(command: Get | Browse, queue: LocalQueue, options: int) -> None:
    """Refuse ids that no message can have, options that are unknown or exclude each other, and a
    wait or a number of messages out of range.
    """
    for field, value in ids(command):
        if len(value) != ID_LENGTH:
            raise Refusal(Reason.IDENTIFIER_ERROR, queue.name, f"{field} is not 24 bytes")
    if command.options:
        _check_options(command, queue, options)
    wait_ms: int = command.wait_ms
    if not -1 <= wait_ms <= WAIT_MAX_MS:
        raise Refusal(Reason.WAIT_INTERVAL_ERROR, queue.name, f"{wait_ms} ms")
    limit: int = command.limit
    if not 1 <= limit <= GET_MAX:
        raise Refusal(Reason.OPTIONS_ERROR, queue.name, f"limit {limit}")


def _check_options(command: Get | Browse, queue: LocalQueue, options: int) -> None:
    asked = command.options
    if asked & ~options:
        raise Refusal(Reason.OPTIONS_ERROR, queue.name, f"options {asked}")
    if command.limit != 1:
        raise Refusal(Reason.OPTIONS_ERROR, queue.name, "with options it is one message")
    if asked & UNDER_CURSOR and (asked & (MATCH | WHOLE) or ids(command)):
        raise Refusal(
            Reason.OPTIONS_ERROR,
            queue.name,
            "the cursor selects the message: no other selection is allowed",
        )
    if asked & UNLOCK and asked != UNLOCK:
        raise Refusal(Reason.OPTIONS_ERROR, queue.name, "UNLOCK goes with no other option")


def candidates(
    handle: QueueHandle, command: Get | Browse, after: Place = START
) -> Iterable[Stored]:
    """Iterate over the available messages that fit, in the order of delivery.

    after: with ids, what lies before it is found too.
    """
    queue, fits = handle.queue, handle.fits
    if fits is None:
        return _choose(queue, command, after)
    if not ids(command) and not command.options & MATCH:
        return selection(handle).in_order(queue.name, after)
    return (stored for stored in _choose(queue, command, after) if fits(stored.message))


def behind_each(
    handle: QueueHandle, command: Browse, seen: Iterable[tuple[int, int, int]]
) -> Iterator[Stored]:
    """Iterate over the available messages that fit, of each lane those behind its place in seen."""
    queue = handle.queue
    places = {lane: (-lane, seq, n) for lane, seq, n in seen}
    is_plain = handle.fits is None and not ids(command)
    for lane in reversed(queue.lanes):
        after = places.get(lane.number, (-lane.number, 0, 0))
        fitting = (
            lane.in_order(queue.name, after) if is_plain else candidates(handle, command, after)
        )
        for stored in fitting:
            if stored.place[0] > -lane.number:
                break
            if stored.place > after and stored.place[0] == -lane.number:
                yield stored


def selection(handle: QueueHandle) -> View:
    """Return the messages that fit the selection of a handle."""
    assert handle.fits is not None, "it has one"
    made = partial(Selected, handle.fits)
    return handle.queue.indexes.watch(f"{SELECTION} {handle.selection}", made).view


def _choose(queue: LocalQueue, command: Get | Browse, after: Place) -> Iterable[Stored]:
    """Choose by ids, and by number in the group and offset."""
    wanted = ids(command)
    fits = _predicate(command) if command.options & MATCH else None
    if wanted:
        first, *rest = wanted
        fitting: Iterable[Stored] = queue.indexes.with_id(*first)
        if rest:
            fitting = (stored for stored in fitting if has(stored, rest))
        return fitting if fits is None else (one for one in fitting if fits(one.message))
    if fits is not None:
        return _matches(queue, command, fits).in_order(queue.name, after)
    return queue.in_order() if after is START else queue.in_order_after(after)


def ids(command: Get | Browse) -> Ids:
    """Return the ids that are asked for, by their names."""
    if not (command.message_id or command.correlation_id or command.group_id):
        return []
    return [(field, value) for field in ID_FIELDS if (value := getattr(command, field))]


def is_any(handle: QueueHandle, command: Get) -> bool:
    """Whether any message fits a get."""
    return handle.fits is None and not command.options & (WHOLE | MATCH) and not ids(command)


def has(stored: Stored, wanted: Ids) -> bool:
    """Whether a message has these ids."""
    return all(getattr(stored.message, field) == value for field, value in wanted)


def _matches(queue: LocalQueue, command: Get | Browse, fits: Fits) -> View:
    """Return the messages with a number in their group, or an offset, of whatever group."""
    asked = command.options & MATCH
    seq = command.group_seq if asked & MATCH_GROUP_SEQ else 0
    offset = command.offset if asked & MATCH_OFFSET else -1
    return queue.indexes.watch(f"place {seq} {offset}", lambda: Selected(fits)).view


def _predicate(command: Get | Browse) -> Callable[[MessageData], bool]:
    asked, seq, offset = command.options, command.group_seq, command.offset

    def fits(message: MessageData) -> bool:
        if asked & MATCH_GROUP_SEQ and message.group_seq != seq:
            return False
        return not asked & MATCH_OFFSET or message.offset == offset

    return fits


def at_place(queue: LocalQueue, place: Place) -> Stored | None:
    """Return the message at a place, held or not; None if it has gone. May raise PageNeeded."""
    lane, seq, n = place
    stored = queue.stored.get(place)
    if (
        stored is None
        and not n
        and 0 <= -lane < len(queue.lanes)
        and seq in queue.lanes[-lane].paged
    ):
        raise PageNeeded(queue.name, -lane, seq, 1)
    return stored


def available_at(
    queue: LocalQueue, command: Get, place: Place, now_ms: int, expired: list[Stored]
) -> list[Stored]:
    """Return the available message at a place of a command; with ids, only if it has them, for
    places begin anew when a queue is deleted and defined again. expired: takes it if its time is
    over.
    """
    stored = at_place(queue, (-place[0], *place[1:]))
    if stored is None or stored.locked or not has(stored, ids(command)):
        return []
    if is_over(stored, now_ms):
        expired.append(stored)
        return []
    return [stored]


def parse_selection(name: str, selection: str) -> Fits:
    """Parse a selection that is given for what is named, or refuse it."""
    if len(selection) > TEXT_MAX:
        text = f"{len(selection)} characters, of {TEXT_MAX} at most"
        raise Refusal(Reason.SELECTION_TOO_LONG, name, text)
    try:
        return parse(selection)
    except SelectorError as error:
        raise Refusal(Reason.SELECTOR_SYNTAX_ERROR, name, str(error)) from error


def selection_for(queue: LocalQueue, selection: str) -> Fits:
    """Return what a selection string says of a message, or refuse to open the queue with it."""
    fits = parse_selection(queue.name, selection)
    if selection not in queue.selections and len(queue.selections) >= SELECTIONS_MAX:
        text = f"{SELECTIONS_MAX} selections are in use"
        raise Refusal(Reason.LIMIT_REACHED, queue.name, text)
    return fits


def select_by(handle: QueueHandle, selection: str, fits: Fits) -> None:
    """Give a handle that has been opened its selection."""
    handle.fits, handle.selection = fits, selection
    handle.queue.selections[selection] += 1


def deselect(handle: QueueHandle) -> None:
    """Forget the selection of a handle that is closed, and what was kept for it."""
    selections = handle.queue.selections
    selections[handle.selection] -= 1
    if not selections[handle.selection]:
        del selections[handle.selection]
        handle.queue.indexes.unwatch(f"{SELECTION} {handle.selection}")


def is_over(stored: Stored, now_ms: int) -> bool:
    """Whether a message has expired."""
    return 0 < stored.expires_at_ms <= now_ms
