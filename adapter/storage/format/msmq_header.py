"""MSMQ's part of a descriptor, in Avro's binary encoding, without a schema walk.

Property tests prove that it writes and reads what the schema of descriptors says. This module does
not know the rest of a descriptor.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from adapter.core.contract.msmq_header import MsmqHeader
from adapter.storage.format import avro

_NEVER: Final = b"\xff" * 11  # no Avro number begins so
_Recurring = tuple[int, int, int, bool, bool, str, str, str, str, str]


def encode(header: MsmqHeader) -> bytes:
    """Return the record MsmqHeader of the schema."""
    label = header.label.encode()
    return b"".join(
        (
            avro.long(len(label)),
            label,
            avro.long(header.app_specific),
            avro.long(header.body_type),
            avro.data(header.extension),
            _recurring(
                header.message_class,
                header.acknowledge,
                header.journal,
                header.recoverable,
                header.transactional,
                header.destination,
                header.administration_queue,
                header.response_queue,
                header.dead_letter_queue,
                header.source,
            ),
            avro.long(header.sent_ms),
            avro.long(header.reach_ms),
            avro.long(header.receive_by_ms),
            avro.long(header.move_count),
            avro.data(header.unit),
            avro.long(header.unit_index),
            avro.long(header.unit_size),
        )
    )


@lru_cache(maxsize=256)
def _recurring(
    message_class: int,
    acknowledge: int,
    journal: int,
    recoverable: bool,
    transactional: bool,
    *texts: str,
) -> bytes:
    """Encode the fields that are the same in most messages of a program."""
    numbers = b"".join(map(avro.long, (message_class, acknowledge, journal)))
    flags = bytes((recoverable, transactional))
    return numbers + flags + b"".join(avro.data(text.encode()) for text in texts)


class MsmqHeaderReader:
    """Reads headers, mostly those of one queue, one after another.

    The fields that are the same in most messages are compared with the last ones instead of being
    read.
    """

    __slots__ = ("_recurring", "_recurring_bytes")

    def __init__(self) -> None:
        self._recurring_bytes = _NEVER
        self._recurring: _Recurring = (0, 0, 0, False, False, "", "", "", "", "")

    def read(self, data: bytes, at: int) -> tuple[MsmqHeader, int]:
        """Read a header, and return where the next field begins.

        Raises IndexError or UnicodeDecodeError for damaged bytes.
        """
        read_long = avro.read_long
        label, at = avro.read_text(data, at)
        app_specific, at = read_long(data, at)
        body_type, at = read_long(data, at)
        extension, at = avro.read_data(data, at)
        if data.startswith(self._recurring_bytes, at):
            at += len(self._recurring_bytes)
        else:
            at = self._read_recurring(data, at)
        sent_ms, at = read_long(data, at)
        reach_ms, at = read_long(data, at)
        receive_by_ms, at = read_long(data, at)
        move_count, at = read_long(data, at)
        unit, at = avro.read_data(data, at)
        unit_index, at = read_long(data, at)
        unit_size, at = read_long(data, at)
        header = MsmqHeader(
            label,
            app_specific,
            body_type,
            extension,
            *self._recurring,
            sent_ms,
            reach_ms,
            receive_by_ms,
            move_count,
            unit,
            unit_index,
            unit_size,
        )
        return header, at

    def _read_recurring(self, data: bytes, at: int) -> int:
        """Read the fields that recur, and return where the next field begins."""
        start = at
        message_class, at = avro.read_long(data, at)
        acknowledge, at = avro.read_long(data, at)
        journal, at = avro.read_long(data, at)
        recoverable, transactional = data[at] != 0, data[at + 1] != 0
        at += 2
        destination, at = avro.read_text(data, at)
        administration_queue, at = avro.read_text(data, at)
        response_queue, at = avro.read_text(data, at)
        dead_letter_queue, at = avro.read_text(data, at)
        source, at = avro.read_text(data, at)
        self._recurring = (
            message_class,
            acknowledge,
            journal,
            recoverable,
            transactional,
            destination,
            administration_queue,
            response_queue,
            dead_letter_queue,
            source,
        )
        self._recurring_bytes = data[start:at]
        return at
