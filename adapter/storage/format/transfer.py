"""A record that a queue manager sends to another: a message of a transmission queue.

The value is the body, the header `mqmd` the descriptor as on a queue's topic, with its place on the
transmission queue and where it goes (`transmission`); the header `mqtx` says where it comes from. A
body of more than 4 MiB is several records in a row, as on a queue's topic. This module does not
know which topic the records are written to, nor what a receiver makes of them.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.unit_records import Placed
from adapter.storage.format import avro, chunks, descriptor
from adapter.storage.format.chunks import Headers
from adapter.storage.format.descriptor import UnitPosition
from adapter.storage.format.schemas import Codec, UnreadableError

HEADER = "mqtx"
VERSION = 2

_codec = Codec("transfer", VERSION)
_VERSION = bytes((VERSION,))


class Transfer(Struct):
    """Where a message comes from. See schemas/transfer.avsc."""

    queue_manager: str
    ident: str
    queue: str
    incarnation: int
    lane: int
    n: int
    lowest: list[int]
    session: bytes
    part: int
    parts: int
    behind: list[int] = []


def encode(sent: Delivered, transfer: Transfer) -> list[tuple[Headers, bytes]]:
    """Return headers and value of each record that a message is sent as."""
    placed = Placed(
        queue=transfer.queue,
        lane=sent.lane,
        seq=sent.seq,
        n=transfer.n,
        message=sent.message,
        index=sent.unit_index,
        queue_index=sent.queue_unit_index,
        queue_size=sent.queue_unit_size,
    )
    described = descriptor.encode(placed, sent.unit, sent.unit_size)
    header = (HEADER, encode_header(transfer))
    records = chunks.records_of((descriptor.HEADER, described), sent.message.body)
    return [([*headers, header], value) for headers, value in records]


def encode_header(transfer: Transfer) -> bytes:
    """Return the header `mqtx`, without a schema walk: property tests compare it with one."""
    return b"".join(
        (
            _origin(transfer.queue_manager, transfer.ident, transfer.queue, transfer.incarnation),
            avro.long(transfer.lane),
            avro.long(transfer.n),
            _longs(transfer.lowest),
            avro.data(transfer.session),
            avro.long(transfer.part),
            avro.long(transfer.parts),
            _longs(transfer.behind),
        )
    )


def _longs(numbers: list[int]) -> bytes:
    """Encode an array."""
    if not numbers:
        return avro.END
    return avro.long(len(numbers)) + b"".join(map(avro.long, numbers)) + avro.END


@lru_cache(maxsize=256)
def _origin(queue_manager: str, ident: str, queue: str, incarnation: int) -> bytes:
    """Encode what a sender says the same of all its messages."""
    texts = b"".join(map(avro.text, (queue_manager, ident, queue)))
    return _VERSION + texts + avro.long(incarnation)


def decode_header(data: bytes) -> Transfer:
    """Read the header `mqtx`; UnreadableError if it is damaged."""
    transfer = Transfer(**_codec.decode(data))
    is_part = 0 <= transfer.part < transfer.parts
    if not is_part or len(transfer.lowest) % 3 or len(transfer.behind) not in (0, 3):
        raise UnreadableError(
            f"header {HEADER}: part {transfer.part} of {transfer.parts}, "
            f"{len(transfer.lowest)} numbers of lanes, {len(transfer.behind)} of a place"
        )
    return transfer


class TransferReader:
    """Decodes the messages of one session, given in order."""

    def __init__(self) -> None:
        self._descriptors = descriptor.DescriptorReader()

    def read(self, described: bytes, body: bytes) -> tuple[MessageData, UnitPosition]:
        """Read the header `mqmd` of a message. Raises UnreadableError."""
        message, position = self._descriptors.read(described, body)
        if message.transmission is None:
            raise UnreadableError(f"header {descriptor.HEADER}: no destination")
        return message, position
