"""Which messages fit a get or a browse, in the order of delivery; never by looking at all of them.

Ids are found by indexes, everything else by views. This module does not know what becomes of a
message that fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final

from adapter.core.contract.bounds import WAIT_MAX_MS
from adapter.core.contract.commands import (
    ALL_MESSAGES,
    ALL_SEGMENTS,
    BOUNDED,
    COMPLETE,
    CONTINUES,
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
from adapter.core.model.paged_index import START, Skips
from adapter.core.model.queue import ID_FIELDS, LocalQueue
from adapter.core.model.selector import TEXT_MAX, Fits, SelectorError, parse
from adapter.core.model.views import Selected, View

MATCH: Final = MATCH_GROUP_SEQ | MATCH_OFFSET
WHOLE: Final = LOGICAL_ORDER | ALL_MESSAGES | ALL_SEGMENTS | COMPLETE
BROWSE_OPTIONS: Final = WHOLE | MATCH | UNDER_CURSOR | LOCK | UNLOCK | BOUNDED | THROUGH_QUIESCE
GET_OPTIONS: Final = (
    WHOLE | MATCH | UNDER_CURSOR | BOUNDED | IF_PERSISTENT | THROUGH_QUIESCE | CONTINUES
)

GET_MAX: Final = 10_000
"""Messages that a get or a browse asks for."""
SELECTION: Final = "selection"
SELECTIONS_MAX: Final = 48
"""Different ones that handles of one queue have: each message that comes is shown to each."""
SELECTIONS_LENGTH_MAX: Final = 64 * 1024
"""Characters of all of them: what a message costs grows with them."""

Ids = list[tuple[str, bytes]]
Wanted = list[tuple[str, Any]]
"""Fields of messages and their values; what comes first is an id."""


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
    if asked & CONTINUES and not asked & LOGICAL_ORDER:
        raise Refusal(Reason.OPTIONS_ERROR, queue.name, "what goes on does so in logical order")
    if command.limit != 1:
        raise Refusal(Reason.OPTIONS_ERROR, queue.name, "with options it is one message")
    if asked & UNDER_CURSOR and (asked & (MATCH | WHOLE) & ~COMPLETE or ids(command)):
        raise Refusal(
            Reason.OPTIONS_ERROR,
            queue.name,
            "the cursor selects the message: no other selection is allowed",
        )
    if asked & UNLOCK and asked != UNLOCK:
        raise Refusal(Reason.OPTIONS_ERROR, queue.name, "UNLOCK goes with no other option")


def candidates(
    handle: QueueHandle,
    command: Get | Browse,
    after: Place = START,
    skips: Skips | None = None,
) -> Iterable[Stored]:
    """Iterate over the available messages that fit, in the order of delivery.

    after: a place behind which to begin. skips: see Lane.in_order(). What fits is found by all of
    the conditions together: a message that fits some of them need not be in memory, however many
    of these there are.
    """
    queue, wanted = handle.queue, _wanted(command)
    if wanted and handle.fits is not None:
        selection(handle)  # what it has seen is not judged again for each id
        return _with_key(queue, wanted, after, skips, handle.fits, _name_of(handle))
    if wanted:
        return with_all(queue, wanted, after, skips)
    if command.options & MATCH:
        return _matches(handle, command).in_order(queue.name, after, skips)
    if handle.fits is not None:
        return selection(handle).in_order(queue.name, after, skips)
    return queue.in_order(skips) if after is START else queue.in_order_after(after, skips)


def behind_each(
    handle: QueueHandle, command: Browse, seen: Iterable[tuple[int, int, int]]
) -> Iterator[Stored]:
    """Iterate over the available messages that fit, of each lane those behind its place in seen."""
    queue = handle.queue
    places = {lane: (-lane, seq, n) for lane, seq, n in seen}
    is_plain = handle.fits is None and not ids(command)
    for lane in reversed(queue.lanes):
        after = places.get(lane.number, (-lane.number, 0, 0))
        if is_plain:
            yield from lane.in_order(queue.name, after)
            continue
        for stored in candidates(handle, command, after, partial(_is_beyond, lane.number)):
            if stored.place[0] > -lane.number:
                break
            yield stored


def _is_beyond(lane: int, place: Place) -> bool:
    return place[0] != -lane


def selection(handle: QueueHandle) -> View:
    """Return the messages that fit the selection of a handle."""
    assert handle.fits is not None, "it has one"
    made = partial(Selected, handle.fits, len(handle.selection))
    return handle.queue.indexes.watch(_name_of(handle), made).view


def _name_of(handle: QueueHandle) -> str:
    return f"{SELECTION} {handle.selection}" if handle.fits is not None else ""


def with_all(
    queue: LocalQueue, wanted: Wanted, after: Place = START, skips: Skips | None = None
) -> Iterator[Stored]:
    """Iterate over the available messages of which all of these fields have these values: one id at
    least.
    """
    if len(wanted) == 1:
        return queue.indexes.with_id(*wanted[0], after, skips)
    return _with_key(queue, wanted, after, skips, None, "")


def _with_key(
    queue: LocalQueue,
    wanted: Wanted,
    after: Place,
    skips: Skips | None,
    fits: Fits | None,
    selection_name: str,
) -> Iterator[Stored]:
    """Iterate over what has these values and is selected, by an index that is of all of it."""
    names = [name for name, _ in wanted]

    def key(stored: Stored) -> bytes | None:
        message = stored.message
        if fits is not None:
            is_selected = queue.indexes.selects(selection_name, stored)
            if not (fits(message) if is_selected is None else is_selected):
                return None
        return b"".join([_part(getattr(message, name)) for name in names])

    value = b"".join([_part(value) for _, value in wanted])
    name = f"{' '.join(names)} {selection_name}"
    return queue.indexes.with_id(name, value, after, skips, key)


def _part(value: bytes | int) -> bytes:
    """Make a part of a longer id, which ends where the next one begins."""
    return b"%d/" % value if isinstance(value, int) else value.ljust(ID_LENGTH, b"\0")


def ids(command: Get | Browse) -> Ids:
    """Return the ids that are asked for, by their names."""
    if not (command.message_id or command.correlation_id or command.group_id):
        return []
    return [(field, value) for field in ID_FIELDS if (value := getattr(command, field))]


def _wanted(command: Get | Browse) -> Wanted:
    """Return what is asked for beside ids, if any are: the number in the group and the offset."""
    wanted: Wanted = list(ids(command))
    if wanted and command.options & MATCH_GROUP_SEQ:
        wanted.append(("group_seq", command.group_seq))
    if wanted and command.options & MATCH_OFFSET:
        wanted.append(("offset", command.offset))
    return wanted


def is_any(handle: QueueHandle, command: Get) -> bool:
    """Whether any message fits a get."""
    return handle.fits is None and not command.options & (WHOLE | MATCH) and not ids(command)


def has(stored: Stored, wanted: Ids) -> bool:
    """Whether a message has these ids."""
    return all(getattr(stored.message, field) == value for field, value in wanted)


def is_asked_for(stored: Stored, command: Get | Browse) -> bool:
    """Whether a message has the ids, the number and the offset that a command asks for."""
    message = stored.message
    if command.options & MATCH_GROUP_SEQ and message.group_seq != command.group_seq:
        return False
    if command.options & MATCH_OFFSET and message.offset != command.offset:
        return False
    return has(stored, ids(command))


def _matches(handle: QueueHandle, command: Get | Browse) -> View:
    """Return the messages with a number in their group, or an offset, of whatever group."""
    asked, seq, offset, selects = command.options, command.group_seq, command.offset, handle.fits

    def fits(message: MessageData) -> bool:
        if asked & MATCH_GROUP_SEQ and message.group_seq != seq:
            return False
        if asked & MATCH_OFFSET and message.offset != offset:
            return False
        return selects is None or selects(message)

    number = seq if asked & MATCH_GROUP_SEQ else "any"
    name = f"number {number} offset {offset if asked & MATCH_OFFSET else 'any'}"
    made = partial(Selected, fits, len(handle.selection))
    return handle.queue.indexes.watch(f"{name} {_name_of(handle)}", made).view


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
    queue: LocalQueue, command: Get | Browse, place: Place, now_ms: int, expired: list[Stored]
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
    length = sum([len(one) for one in queue.selections.keys() | {selection}])
    if length > SELECTIONS_LENGTH_MAX:
        text = (
            f"all selections in use would have {length:,} characters, of {SELECTIONS_LENGTH_MAX:,}"
            " at most: close handles that are not needed, or use shorter selections"
        )
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
        handle.queue.indexes.forget(_name_of(handle))


def is_over(stored: Stored, now_ms: int) -> bool:
    """Whether a message has expired."""
    return 0 < stored.expires_at_ms <= now_ms
