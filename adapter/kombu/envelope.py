"""Messages of kombu as messages of a queue manager, and back.

The body is the serialized body as it is, so that every consumer of the queue's Kafka topic can read
it. All else that kombu knows of a message is JSON in the property `kombu`. Two headers of Celery's
tasks are properties of their own, `task` and `id`, for selections and for people.

A message that another program has put, without the property `kombu`, is one whose headers are its
properties: with `task` any program can have a task executed; its id is the property `id`, or else
the message's own. So is one with a property of that name which is not such JSON: whatever a message
says, a consumer can be given it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from kombu.utils.json import dumps, loads
from msgspec import Struct

import adapter
from adapter.errors import InvalidOption

ENVELOPE = "kombu"
SHOWN = ("task", "id")
OF_OTHERS = ("content_type", "content_encoding", "correlation_id", "reply_to")
"""Properties by which other programs say what is no header."""
DELAY_MAX = timedelta(days=3 * 365)
"""The longest delay that a queue manager takes; a worker waits for the rest."""
PERSISTENT = 2
PRIORITY_MAX = 9


class KombuProperties(Struct):
    """The properties of a message that kombu relies on. body_encoding: bodies have none here."""

    delivery_info: dict[str, Any] = {}
    body_encoding: None = None


class KombuEnvelope(Struct, rename=lambda name: name.replace("_", "-")):
    """What JSON must be, to be all that kombu knows of a message but its body."""

    headers: dict[str, Any]
    properties: KombuProperties
    content_type: str | None = None
    content_encoding: str | None = None


def body_of(message: Mapping[str, Any]) -> bytes:
    """Return the bytes that are put."""
    body = message["body"]
    return body.encode() if isinstance(body, str) else bytes(body)


def put_fields(message: Mapping[str, Any], *, is_delayed: bool) -> dict[str, Any]:
    """Return the fields of the put of a message, as kombu has prepared it.

    is_delayed: whether a task with an eta stays with the queue manager until then.
    """
    properties: dict[str, Any] = message["properties"]
    fields: dict[str, Any] = {
        "priority": _priority(properties),
        "persistent": properties.get("delivery_mode", PERSISTENT) == PERSISTENT,
        "properties": _properties_of(message),
    }
    if properties.get("expiration") is not None:
        fields["expiry_s"] = _expiry_s(properties["expiration"])
    if is_delayed and (eta := _eta(message["headers"])) is not None:
        fields["deliver_at"] = eta
    return fields


def payload_of(message: adapter.Message, tag: int, exchange: str, key: str) -> dict[str, Any]:
    """Return a message that was got, as kombu's Message takes it.

    exchange, key: where it came from, if the message does not say so itself. tag: its delivery tag.
    """
    told = dict(message.properties)
    payload = _envelope(told.get(ENVELOPE)) or _of_others(told, message.message_id)
    properties = payload["properties"]
    properties["delivery_tag"] = tag
    properties.setdefault("delivery_info", {"exchange": exchange, "routing_key": key})
    properties["delivery_info"]["redelivered"] = message.backout_count > 0
    return {**payload, "body": message.body}


def _envelope(text: object) -> dict[str, Any] | None:
    """Return what an envelope says; None if a text is not such an envelope."""
    if not isinstance(text, str):
        return None
    try:
        envelope: dict[str, Any] = loads(text)
        msgspec.convert(envelope, KombuEnvelope)
    except Exception:  # noqa: BLE001 -- JSON of kombu makes objects of any class registered there
        return None
    return envelope


def _of_others(headers: dict[str, Any], message_id: bytes) -> dict[str, Any]:
    """Return a message whose headers are its properties. What kombu has as text is text.

    Celery ends at a task without an id.
    """
    if "task" in headers:
        headers.setdefault("id", message_id.hex())
    texts = {name: headers.pop(name) for name in OF_OTHERS if isinstance(headers.get(name), str)}
    content_type = texts.pop("content_type", "") or "application/json"
    encoding = texts.pop("content_encoding", "") or "utf-8"
    return {
        "content-type": content_type,
        "content-encoding": encoding,
        "headers": headers,
        "properties": {"correlation_id": headers.get("id"), **texts},
    }


def _properties_of(message: Mapping[str, Any]) -> dict[str, Any]:
    headers = message["headers"]
    envelope = {name: value for name, value in message.items() if name != "body"}
    shown = {name: headers[name] for name in SHOWN if isinstance(headers.get(name), str)}
    return {ENVELOPE: dumps(envelope), **shown}


def _expiry_s(expiration: object) -> float:
    """Return the expiry of an expiration in milliseconds. 0 is as short as an expiry can be."""
    try:
        milliseconds = float(str(expiration))
    except ValueError:
        milliseconds = math.nan
    if not math.isfinite(milliseconds) or milliseconds < 0:
        raise InvalidOption(
            f"expiration is a number of milliseconds, 0 or more, not {expiration!r}"
        )
    return max(milliseconds / 1000, 0.001)


def _priority(properties: Mapping[str, Any]) -> int:
    try:
        return max(0, min(int(properties.get("priority") or 0), PRIORITY_MAX))
    except (TypeError, ValueError, OverflowError):  # the last one is that of an infinite number
        return 0


def _eta(headers: Mapping[str, Any]) -> datetime | None:
    """Return when a task is due, None if it is now, or at a time that cannot be read."""
    given = headers.get("eta")
    if not isinstance(given, str):
        return None
    try:
        eta = datetime.fromisoformat(given)
    except ValueError:
        return None
    now = datetime.now(UTC)
    eta = eta if eta.tzinfo is not None else eta.replace(tzinfo=UTC)
    return min(eta, now + DELAY_MAX) if eta > now else None
