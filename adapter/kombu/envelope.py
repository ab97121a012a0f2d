"""Messages of kombu as messages of a queue manager, and back.

The body is the serialized body as it is, so that every consumer of the queue's Kafka topic can read
it. All else that kombu knows of a message is JSON in the property `kombu`. Two headers of Celery's
tasks are properties of their own, `task` and `id`, for selections and for people.

A message that another program has put, without the property `kombu`, is one whose headers are its
properties: with `task` and `id` any program can have a task executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from kombu.utils.json import dumps, loads

import adapter

ENVELOPE = "kombu"
SHOWN = ("task", "id")
DELAY_MAX = timedelta(days=3 * 365)
"""The longest delay that a queue manager takes; a worker waits for the rest."""
PERSISTENT = 2
PRIORITY_MAX = 9


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
        fields["expiry_s"] = max(float(properties["expiration"]) / 1000, 0.001)
    if is_delayed and (eta := _eta(message["headers"])) is not None:
        fields["deliver_at"] = eta
    return fields


def payload_of(message: adapter.Message, tag: int, exchange: str, key: str) -> dict[str, Any]:
    """Return a message that was got, as kombu's Message takes it.

    exchange, key: where it came from, if the message does not say so itself. tag: its delivery tag.
    """
    told = dict(message.properties)
    envelope = told.pop(ENVELOPE, None)
    payload = loads(envelope) if envelope is not None else _of_others(told)
    properties = payload["properties"]
    properties["delivery_tag"] = tag
    properties.setdefault("delivery_info", {"exchange": exchange, "routing_key": key})
    properties["delivery_info"]["redelivered"] = message.backout_count > 0
    return {**payload, "body": message.body}


def _of_others(headers: dict[str, Any]) -> dict[str, Any]:
    content_type = headers.pop("content_type", "application/json")
    encoding = headers.pop("content_encoding", "utf-8")
    properties = {name: headers.pop(name) for name in ("correlation_id", "reply_to")
                  if name in headers}  # fmt: skip
    properties.setdefault("correlation_id", headers.get("id"))
    return {
        "content-type": content_type,
        "content-encoding": encoding,
        "headers": headers,
        "properties": properties,
    }


def _properties_of(message: Mapping[str, Any]) -> dict[str, Any]:
    headers = message["headers"]
    envelope = {name: value for name, value in message.items() if name != "body"}
    shown = {name: headers[name] for name in SHOWN if isinstance(headers.get(name), str)}
    return {ENVELOPE: dumps(envelope), **shown}


def _priority(properties: Mapping[str, Any]) -> int:
    try:
        return max(0, min(int(properties.get("priority") or 0), PRIORITY_MAX))
    except (TypeError, ValueError):
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
