"""MQINQ and MQSET: attributes by their numbers, from core's tables of attributes."""

from __future__ import annotations

from typing import Any

from adapter import mq_constants as mq
from adapter.administration.status import dates
from adapter.administration.values import NoSuchValueError, from_plain, plain
from adapter.connection.channel.requests import Pending
from adapter.core.attributes.objects import KINDS, QUEUE_MANAGER
from adapter.core.attributes.table import AttributeRow
from adapter.core.attributes.unsupported import UNSUPPORTED
from adapter.core.contract import commands as c
from adapter.core.contract import results
from adapter.core.mq_layouts.blank_padded import pad, unpadded
from adapter.mqi.reasons import MqiFailure
from adapter.mqi.selectors import TEXT_LENGTHS, WHOLE_NUMBERS
from adapter.mqi.session import TOPIC, MqiSession, Object

SELECTORS_MAX = 256
NOT_FOR_TYPE = -1
"""What MQINQ gives for a whole number that queues of this type do not have (MQIAV_*). Of other
objects such a selector is refused."""
DATES = {
    "creation_date": 2004,
    "creation_time": 2005,
    "alteration_date": 2027,
    "alteration_time": 2028,
}
STATUS = {
    mq.MQIA_CURRENT_Q_DEPTH: "current_depth",
    mq.MQIA_OPEN_INPUT_COUNT: "open_input_count",
    mq.MQIA_OPEN_OUTPUT_COUNT: "open_output_count",
}
QUEUE_TYPES = {"queue": 1, "model": 2, "alias": 3, "remote": 6}
OWN_NAMES = {
    **dict.fromkeys(QUEUE_TYPES, mq.MQCA_Q_NAME),
    "queue_manager": mq.MQCA_Q_MGR_NAME,
    "process": mq.MQCA_PROCESS_NAME,
    "namelist": mq.MQCA_NAMELIST_NAME,
}
BY_NUMBER: dict[str, dict[int, AttributeRow]] = {
    kind: {row.attribute.number: row for row in (UNSUPPORTED[kind] | table).values()}
    for kind, table in KINDS.items()
}
NUMBERS = WHOLE_NUMBERS | {
    number
    for table in BY_NUMBER.values()
    for number in table
    if mq.MQIA_FIRST <= number <= mq.MQIA_LAST
}
"""Selectors of whole numbers: the manual's, and those of attributes that only objects here have."""
VALUE_ERRORS = {
    "inhibit_get": mq.MQRC_INHIBIT_VALUE_ERROR,
    "inhibit_put": mq.MQRC_INHIBIT_VALUE_ERROR,
    "trigger_control": mq.MQRC_TRIGGER_CONTROL_ERROR,
    "trigger_type": mq.MQRC_TRIGGER_TYPE_ERROR,
    "trigger_depth": mq.MQRC_TRIGGER_DEPTH_ERROR,
    "trigger_msg_priority": mq.MQRC_TRIGGER_MSG_PRIORITY_ERR,
}


def inquire(
    session: MqiSession, number: int, selectors: list[int], int_count: int, char_length: int
) -> tuple[list[int], bytes, int, int]:
    """MQINQ: whole numbers and texts in the order of their selectors, and the two codes.

    Of several warnings the manual's order says which one is told.
    """
    opened = session.object(number)
    if not opened.options & mq.MQOO_INQUIRE:
        raise MqiFailure(mq.MQRC_NOT_OPEN_FOR_INQUIRE)
    _check_count(selectors)
    numbers = [selector for selector in selectors if selector in NUMBERS]
    texts = [selector for selector in selectors if selector in TEXT_LENGTHS]
    if len(numbers) + len(texts) < len(selectors):
        raise MqiFailure(mq.MQRC_SELECTOR_ERROR)
    if int_count < 0:
        raise MqiFailure(mq.MQRC_INT_ATTR_COUNT_ERROR)
    if char_length < 0:
        raise MqiFailure(mq.MQRC_CHAR_ATTR_LENGTH_ERROR)
    kind, values = _values(session, opened, numbers)
    ints = [values.get(selector) for selector in numbers]
    chars = [_text(kind, selector, values.get(selector)) for selector in texts]
    known = [NOT_FOR_TYPE if value is None else int(value) for value in ints]
    given, has_room = _fitting(chars, char_length)
    warning = mq.MQRC_NONE
    absent = {selector for selector in selectors if values.get(selector) is None}
    if absent.difference(DATES.values()) and kind not in QUEUE_TYPES:
        raise MqiFailure(mq.MQRC_SELECTOR_ERROR)
    if absent:
        warning = mq.MQRC_SELECTOR_NOT_FOR_TYPE
    elif len(known) > int_count:
        warning = mq.MQRC_INT_ATTR_COUNT_TOO_SMALL
    elif not has_room:
        warning = mq.MQRC_CHAR_ATTRS_TOO_SHORT
    return known[:int_count], given, mq.MQCC_WARNING if warning else mq.MQCC_OK, warning


def _check_count(selectors: list[int]) -> None:
    """MqiFailure(2066) for more selectors than a call may have."""
    if len(selectors) > SELECTORS_MAX:
        raise MqiFailure(mq.MQRC_SELECTOR_LIMIT_EXCEEDED)


def _fitting(chars: list[bytes], room: int) -> tuple[bytes, bool]:
    """Return as many whole texts as there is room for, and whether those are all."""
    found = b""
    for text in chars:
        if len(found) + len(text) > room:
            return found, False
        found += text
    return found, True


def _text(kind: str, selector: int, value: Any) -> bytes:
    """Pad a text to the length that its selector has; stars for an unknown value."""
    length = TEXT_LENGTHS[selector]
    if kind == "namelist" and selector == mq.MQCA_NAMES:
        return b"".join(pad(name, length) for name in value)
    return b"*" * length if value is None else pad(str(value), length)


def _values(session: MqiSession, opened: Object, numbers: list[int]) -> tuple[str, dict[int, Any]]:
    """Return the kind of an object and its attributes by their numbers, as the MQI has them."""
    kind, found = _description(session, opened)
    attributes = found.attributes
    values: dict[int, Any] = {
        row.attribute.number: plain(row, row.default) for row in UNSUPPORTED[kind].values()
    }
    values |= {
        row.attribute.number: plain(row, attributes[name])
        for name, row in KINDS[kind].items()
        if name in attributes
    }
    values |= _dates(kind, found)
    values[OWN_NAMES[kind]] = opened.name
    if kind == QUEUE_MANAGER:
        values[mq.MQCA_Q_MGR_IDENTIFIER] = opened.name
    if kind in QUEUE_TYPES:
        values[mq.MQIA_Q_TYPE] = QUEUE_TYPES[kind]
    if kind == "queue" and any(selector in STATUS for selector in numbers):
        values |= _status(session, opened.name)
    if kind == "namelist":
        values[mq.MQIA_NAME_COUNT] = len(values[mq.MQCA_NAMES])
    return kind, values


def _dates(
    kind: str, found: results.QueueDescription | results.ObjectDescription
) -> dict[int, str]:
    """Return dates by their numbers. A queue manager has no creation date, and a blank alteration
    date until it is altered; objects of ledgers that did not note dates have none."""
    if kind != QUEUE_MANAGER and not found.altered_ms:
        return {}
    written = dates(found)
    return {
        number: written[name]
        for name, number in DATES.items()
        if kind != QUEUE_MANAGER or name.startswith("alteration")
    }


def _description(
    session: MqiSession, opened: Object
) -> tuple[str, results.QueueDescription | results.ObjectDescription]:
    if opened.kind in ("queue", TOPIC):  # a topic can be inquired about by an alias only
        request = Pending(c.Inquire(opened.name, True))
        for queue in session.ask([request], request, results.Descriptions).queues:
            if queue.name == opened.name:
                return "queue", queue
        kinds: tuple[str, ...] = ("alias", "remote", "model")
    else:
        kinds = (opened.kind,)
    for kind in kinds:
        asked = Pending(c.InquireObjects(kind, opened.name, True))
        for one in session.ask([asked], asked, results.Objects).objects:
            if one.name == opened.name:
                return kind, one
    raise MqiFailure(mq.MQRC_OBJECT_CHANGED)


def _status(session: MqiSession, name: str) -> dict[int, int]:
    request = Pending(c.AskStatus(name, True))
    found = session.ask([request], request, results.Statuses).queues
    return {
        selector: getattr(status, field)
        for status in found
        if status.name == name
        for selector, field in STATUS.items()
    }


def set_attributes(
    session: MqiSession, number: int, selectors: list[int], ints: list[int], chars: bytes
) -> None:
    """MQSET: change attributes of a queue through its handle."""
    opened, handle = session.queue(number, mq.MQRC_NOT_OPEN_FOR_SET)
    if not opened.options & mq.MQOO_SET:
        raise MqiFailure(mq.MQRC_NOT_OPEN_FOR_SET)
    _check_count(selectors)
    attributes: dict[str, Any] = {}
    left = list(ints)
    for selector in selectors:
        row = BY_NUMBER["queue"].get(selector)
        if row is None or not row.attribute.by_set:
            raise MqiFailure(mq.MQRC_SELECTOR_ERROR)
        if selector in TEXT_LENGTHS:
            length = TEXT_LENGTHS[selector]
            if len(chars) < length:
                raise MqiFailure(mq.MQRC_CHAR_ATTR_LENGTH_ERROR)
            attributes[row.name], chars = unpadded(chars[:length]), chars[length:]
        else:
            attributes[row.name] = _take(row, left)
    request = Pending(c.SetAttributes(handle.number, attributes), handle=handle)
    session.ask([request], request, results.Done)


def _take(row: AttributeRow, left: list[int]) -> Any:
    """Take the next whole number as a value. MqiFailure(2020, 2075-2078) if it is invalid."""
    if not left:
        raise MqiFailure(mq.MQRC_INT_ATTR_COUNT_ERROR)
    refused = MqiFailure(VALUE_ERRORS.get(row.name, mq.MQRC_SELECTOR_ERROR))
    try:
        value = from_plain(row, left.pop(0))
    except NoSuchValueError as error:
        raise refused from error
    low, high = row.attribute.low, row.attribute.high
    if low is not None and high is not None and not low <= value <= high:
        raise refused
    return value
