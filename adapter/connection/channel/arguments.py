"""What callers may pass: each check returns the value as the wire has it, or raises a clear error.

Types and what no queue manager could take are refused here; what depends on the queue is left to
the queue manager. This module knows no verb.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import msgspec

from adapter.connection.channel.cancelling import CancelToken
from adapter.core.contract.bounds import WAIT_MAX_MS
from adapter.core.contract.details import Details
from adapter.core.contract.message import (
    ID_LENGTH,
    NO_ID,
    PRIORITY_MAX,
    PROPERTIES_MAX,
    Property,
)
from adapter.core.mq_layouts.blank_padded import length_of
from adapter.core.mq_layouts.dead_letter import NUMBERS, TEXT_LENGTHS, DeadLetter
from adapter.errors import (
    InvalidAttribute,
    InvalidExpiry,
    InvalidIdentifier,
    InvalidName,
    InvalidOption,
    InvalidPriority,
    InvalidProperty,
    InvalidTimeout,
    InvalidType,
)

Identifier = bytes | str | UUID
"""What an id of a message is given as; shorter ones have zeros behind them."""
DELAY_MAX_S: Final = 99_999_999
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
CONNECTION_MAX: Final = 2**63 - 1
PLACE_MAX: Final = 2**63 - 1
EXPIRY_SENT_MAX_S: Final = 2.0**53
"""So that its milliseconds are a number of 64 bits, which the queue manager judges."""
ORIGIN_LENGTH_MAX: Final = 64
SHOWN_MAX: Final = 200
"""Characters of a wrong value."""
PROPERTY_TYPES: Final = (bool, int, float, str, bytes, type(None))
MICROSECONDS: Final = 1_000_000


def shown(value: object) -> str:
    """Return a value as an error shows it: it may be long, or have no text at all."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 -- a number of very many digits, or what a program raises
        return f"a value of the type {type(value).__name__}"
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}..."


def shown_error(error: BaseException) -> str:
    """Return the type and the text of what a program has raised: it may have no text at all."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 -- what a program raises when it is asked
        return f"{type(error).__name__}, whose text cannot be made"


def as_body(body: object) -> bytes:
    """Take bytes, or text as UTF-8."""
    if type(body) is bytes:
        return body
    if isinstance(body, str):
        try:
            return body.encode()
        except UnicodeEncodeError as error:
            raise InvalidOption(f"the text of the body is not valid Unicode: {error}") from error
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    raise InvalidType(f"a body is bytes or str, not {type(body).__name__}: encode it first")


def plain_text(value: str) -> str:
    """Return text as a str and no subclass of it, as template engines, YAML readers and enums have:
    the encoder takes no other.
    """
    return value if type(value) is str else str.__str__(value)


def plain_value(value: object) -> object:
    """Return a number, text or bytes as such, and of no subclass; anything else as it is."""
    if type(value) in PROPERTY_TYPES:
        return value
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    return bytes(value) if isinstance(value, bytes) else value


def as_name(name: object, what: str = "queue name") -> str:
    """Take a name."""
    if not isinstance(name, str):
        raise InvalidType(f"a {what} is a str, not {shown(name)}")
    if not name:
        raise InvalidName(f"a {what} has at least one character")
    return plain_text(name)


def as_text(name: str, value: object, longest: int | None = None) -> str:
    """Take text; None gives an empty one."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidType(f"{name} is a str or None, not {shown(value)}")
    if longest is not None and len(value) > longest:
        raise InvalidOption(f"{name} has at most {longest} characters, not {len(value)}")
    if not value.isascii():
        _check_unicode(name, value)
    return plain_text(value)


def _check_unicode(name: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidOption(f"{name} is not valid Unicode: {error}") from error


def as_identifier(name: str, value: object) -> bytes:
    """Take an id of up to 24 bytes and fill it with zeros; None and zeros alone mean no id."""
    if value is None:
        return b""
    if isinstance(value, UUID):
        value = value.bytes
    elif isinstance(value, str):
        value = _encode(name, value)
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise InvalidType(f"{name} is bytes, a str, a UUID or None, not {shown(value)}")
    given = bytes(value)
    if len(given) > ID_LENGTH:
        raise InvalidIdentifier(f"{name} has at most {ID_LENGTH} bytes, not {len(given)}")
    padded = given.ljust(ID_LENGTH, b"\0")
    return b"" if padded == NO_ID else padded


def _encode(name: str, value: str) -> bytes:
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise InvalidIdentifier(f"{name} is not valid Unicode: {error}") from error


def as_unit_id(value: object) -> bytes:
    """Take the id of a unit, which has 24 bytes."""
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise InvalidType(f"unit_id is {ID_LENGTH} bytes, not {shown(value)}")
    given = bytes(value)
    if len(given) != ID_LENGTH or given == NO_ID:
        raise InvalidIdentifier(
            f"unit_id is the id of a unit, {ID_LENGTH} bytes that are not all zero, "
            f"not {shown(given.hex())}"
        )
    return given


def as_wanted(name: str, value: object) -> bytes:
    """Take the id that messages are to have, as as_identifier does; None matches any id."""
    return b"" if value is None else as_identifier(name, value) or NO_ID


def as_whole(name: str, value: object, low: int = -(2**31), high: int = 2**31 - 1) -> int:
    """Take a whole number within bounds, but not True or False."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidType(f"{name} is an int, not {shown(value)}")
    if not low <= value <= high:
        raise InvalidOption(f"{name} is {low} to {high}, not {shown(value)}")
    return int(value)


def as_many(name: str, values: object) -> Iterable[Any]:
    """Take what one can iterate over."""
    if not isinstance(values, Iterable):
        raise InvalidType(f"{name} are several, as a list, not {shown(values)}")
    return values


def as_names(values: object, what: str) -> list[str]:
    """Take names, or one name alone."""
    given = [values] if isinstance(values, str) else as_many(f"{what}s", values)
    return [as_name(one, what) for one in given]


def as_place(value: object) -> tuple[int, int, int]:
    """Take the place of a message on its queue, as Message.place has it."""
    if not isinstance(value, (tuple, list)) or len(value) != 3:
        raise InvalidType(f"place is the place of a message, three ints, not {shown(value)}")
    lane, seq, n = value
    return (
        as_whole("lane of the place", lane, 0, PLACE_MAX),
        as_whole("seq of the place", seq, 0, PLACE_MAX),
        as_whole("n of the place", n, 0, PLACE_MAX),
    )


def as_incarnation(value: object) -> tuple[str, int]:
    """Take the name of a queue and one of its incarnations."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise InvalidType(f"a queue is its name and its incarnation here, not {shown(value)}")
    name, incarnation = value
    return as_name(name), as_whole("incarnation", incarnation, 0, PLACE_MAX)


def as_flag(name: str, value: object) -> bool:
    """Take True or False."""
    if not isinstance(value, bool):
        raise InvalidType(f"{name} is True or False, not {shown(value)}")
    return value


def as_priority(value: object) -> int:
    """Take 0 to 9; None is the queue's default."""
    if value is None:
        return -1
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidType(f"priority is an int or None, not {shown(value)}")
    if not 0 <= value <= PRIORITY_MAX:
        raise InvalidPriority(
            f"priority is 0 to {PRIORITY_MAX}, not {shown(value)}; None: the queue's default"
        )
    return int(value)


def as_persistence(value: object) -> int:
    """Take True or False; None is the queue's default."""
    return -1 if value is None else int(as_flag("persistent", value))


def as_expiry_ms(value: object) -> int:
    """Take a positive time in seconds; None: without expiry."""
    if value is None:
        return -1
    seconds = _seconds("expiry_s", value)
    if not 0 < seconds <= EXPIRY_SENT_MAX_S:
        raise InvalidExpiry(
            f"expiry_s is a positive number of seconds, not {shown(value)}; None: no expiry"
        )
    return max(round(seconds * 1000), 1)


def as_delay_ms(value: object) -> int:
    """Take a time from the put on, in seconds; None means no expiry."""
    if value is None:
        return 0
    seconds = _seconds("deliver_after", value)
    if not 0 <= seconds <= DELAY_MAX_S:
        raise InvalidOption(f"deliver_after is 0 to {DELAY_MAX_S} seconds, not {shown(value)}")
    return _milliseconds(seconds)


def as_time_ms(value: object, name: str = "deliver_at") -> int:
    """Take a time with a zone, in milliseconds since the epoch; None means no time."""
    if value is None:
        return 0
    if not isinstance(value, datetime):
        raise InvalidType(f"{name} is a datetime or None, not {shown(value)}")
    if value.utcoffset() is None:
        raise InvalidOption(
            f"{name} has a time zone, as datetime.now(UTC) + timedelta(hours=1); "
            f"{shown(value)} has none"
        )
    return max(0, -((EPOCH - value) // timedelta(milliseconds=1)))


def as_wait_ms(timeout: object) -> int:
    """Take a time to wait in seconds; None waits without end, 0 not at all."""
    if timeout is None:
        return -1
    seconds = _seconds("timeout", timeout)
    if not 0 <= seconds <= WAIT_MAX_MS / 1000:
        raise InvalidTimeout(
            f"timeout is 0 to {WAIT_MAX_MS / 1000:.0f} seconds, not {shown(timeout)}; "
            "None waits without end"
        )
    return _milliseconds(seconds)


def as_delay_s(name: str, value: object) -> float:
    """Take a time of 0 or more seconds that is not for ever."""
    seconds = _seconds(name, value)
    if not 0 <= seconds <= WAIT_MAX_MS / 1000:
        raise InvalidTimeout(f"{name} is 0 to {WAIT_MAX_MS / 1000:.0f} seconds, not {shown(value)}")
    return seconds


def _milliseconds(seconds: float) -> int:
    """Return the whole milliseconds that a time takes at least: of 2.007 s 2007.

    A float is not just what was meant: it is rounded to microseconds first, as a timedelta has.
    """
    microseconds = round(seconds * MICROSECONDS)
    return 1 if seconds > 0 == microseconds else -(-microseconds // 1000)


def _seconds(name: str, value: object) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidType(f"{name} is a number of seconds or a timedelta, not {shown(value)}")
    try:
        return float(value)
    except OverflowError:  # an int of very many digits
        return math.inf if value > 0 else -math.inf


def as_properties(value: object) -> dict[str, Property] | None:
    """Take a dict of named values; None means no properties."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise InvalidType(f"properties is a dict, not {shown(value)}")
    if len(value) > PROPERTIES_MAX:  # of far more the queue manager reads no message
        raise InvalidProperty(
            f"a message has at most {PROPERTIES_MAX} properties, not {len(value)}"
        )
    taken: dict[str, Any] = {}
    for name, given in value.items():
        item = plain_value(given)
        if not isinstance(name, str) or not name:
            raise InvalidProperty(
                f"a property's name is a str that is not empty, not {shown(name)}"
            )
        if type(item) not in PROPERTY_TYPES:
            raise InvalidProperty(
                f"property {name} is a bool, int, float, str, bytes or None, not {shown(item)}"
            )
        if type(item) is int and not -(2**63) <= item < 2**63:
            raise InvalidProperty(
                f"property {name} is a number of at most 64 bits, not {shown(item)}"
            )
        taken[plain_text(name)] = item
    return taken or None


def as_dead_letter(value: object) -> DeadLetter | None:
    """Take a dead-letter header whose fields have room in it; None means no header."""
    if value is None:
        return None
    if not isinstance(value, DeadLetter):
        raise InvalidType(f"dead_letter is an adapter.DeadLetter or None, not {shown(value)}")
    for name in NUMBERS:
        as_whole(f"{name} of the dead-letter header", getattr(value, name))
    for name, longest in TEXT_LENGTHS.items():
        what = f"{name} of the dead-letter header"
        length = length_of(_as_given_text(what, getattr(value, name)))
        if length > longest:
            raise InvalidOption(f"{what} has at most {longest} bytes in UTF-8, not {length}")
    return value


def _as_given_text(name: str, value: object) -> str:
    """Take text that is there."""
    if value is None:
        raise InvalidType(f"{name} is a str, not None")
    return as_text(name, value)


def as_details(value: object) -> Details | None:
    """Take a copy of details: the put that uses them numbers them."""
    if value is None:
        return None
    if not isinstance(value, Details):
        raise InvalidType(f"details is a Details or None, not {shown(value)}")
    given: Any = value  # of any types, also where this is compiled
    token = given.accounting_token
    if not isinstance(token, (bytes, bytearray, memoryview)):
        raise InvalidType(f"accounting_token of details is bytes, not {shown(token)}")
    fields: dict[str, Any] = {"accounting_token": bytes(token)}
    for name in ("appl_type", "offset", "flags", "original_length", "priority_asked"):
        fields[name] = as_whole(f"{name} of details", getattr(value, name))
    for name in ("identity_data", "origin_data", "put_date_time", "putter"):
        fields[name] = _as_given_text(f"{name} of details", getattr(value, name))
    taken: Details = msgspec.structs.replace(given, **fields)
    return taken


def as_cancel(value: object) -> CancelToken | None:
    """Take a token, or None."""
    if value is None or isinstance(value, CancelToken):
        return value
    raise InvalidType(f"cancel is an adapter.CancelToken or None, not {shown(value)}")


def as_attributes(name: str, attributes: Mapping[str, object]) -> dict[str, Any]:
    """Take attribute values of a type that some attribute has; the queue manager judges more."""
    taken: dict[str, Any] = {}
    for attribute, given in attributes.items():
        value = plain_value(given)
        if type(value) not in (bool, int, str):
            raise InvalidAttribute(
                f"{attribute} takes a bool, int or str, not {shown(value)}", name
            )
        if type(value) is int and not -(2**31) <= value < 2**31:
            raise InvalidAttribute(
                f"{attribute} takes a number of at most 32 bits, not {shown(value)}", name
            )
        taken[plain_text(attribute)] = value
    return taken
