"""How Service Broker writes things: handles for people, and the bodies of its own messages.

Bodies are XML in UTF-16LE, as NVARCHAR is. This module does not know when one is sent.
"""

from __future__ import annotations

from adapter.core.contract.broker import SCHEMA_PREFIX
from adapter.core.contract.message import GUID_LENGTH
from adapter.core.model.broker_events import BrokerEvent
from adapter.core.mq_layouts.dead_letter import stamps

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def shown(guid: bytes) -> str:
    """Write a handle as people do.

    >>> shown(bytes.fromhex("e29059bb992240f4a57566b2e4c70cf9"))
    'e29059bb-9922-40f4-a575-66b2e4c70cf9'
    """
    digits = guid.hex()
    if len(guid) != GUID_LENGTH:
        return digits
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "-".join(parts)


def escape(text: str) -> str:
    """Write a text in XML; what XML has no place for becomes a question mark."""
    return "".join(c if _is_xml(c) else "?" for c in text).translate(_ENTITIES)


def _is_xml(character: str) -> bool:
    return character in "\t\n\r" or (
        character >= " "
        and not 0xD800 <= ord(character) <= 0xDFFF
        and character not in "\ufffe\uffff"
    )


def error_body(code: int, description: str) -> bytes:
    """Write the body of an Error message."""
    text = (
        f'<Error xmlns="{SCHEMA_PREFIX}Error"><Code>{code}</Code>'
        f"<Description>{escape(description)}</Description></Error>"
    )
    return text.encode("utf-16-le")


def event_body(queue_manager: str, event: BrokerEvent) -> bytes:
    """Write the body of a message about an event, as SQL Server's EVENT_INSTANCE."""
    date, time = stamps(event.time_ms)
    day = f"{date[:4]}-{date[4:6]}-{date[6:]}"
    text = (
        f"<EVENT_INSTANCE><EventType>{event.event}</EventType>"
        f"<PostTime>{day}T{time[:2]}:{time[2:4]}:{time[4:6]}.{time[6:]}0</PostTime>"
        f"<ServerName>{escape(queue_manager)}</ServerName>"
        f"<ObjectName>{escape(event.name)}</ObjectName><ObjectType>QUEUE</ObjectType>"
        "</EVENT_INSTANCE>"
    )
    return text.encode("utf-16-le")
