"""Records as any program may write them, at a broker that librdkafka has within itself.

The broker is no Kafka: it keeps what it is sent, byte for byte, which the client would not send.
"""

import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from confluent_kafka import Producer

Header = tuple[bytes, bytes | None]
WITHIN_S = 20.0
PRODUCE, VERSION = 0, 7
CASTAGNOLI = 0x82F63B78


class InnerBroker:
    """One broker. servers: where clients find it."""

    def __init__(self) -> None:
        self._holds = Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1})
        (broker,) = self._holds.list_topics(timeout=WITHIN_S).brokers.values()
        self._address = broker.host, broker.port
        self.servers = f"{broker.host}:{broker.port}"

    def write(self, topic: str, value: bytes, headers: Sequence[Header]) -> None:
        """Write a record. Asking for a topic makes it."""
        self._holds.list_topics(topic, timeout=WITHIN_S)
        batch = _batch(value, headers)
        name = struct.pack(">h", len(topic)) + topic.encode()
        body = struct.pack(">hhii", -1, -1, 5_000, 1) + name
        body += struct.pack(">iii", 1, 0, len(batch)) + batch
        client = struct.pack(">h", 3) + b"raw"
        request = struct.pack(">hhi", PRODUCE, VERSION, 1) + client + body
        with socket.create_connection(self._address, WITHIN_S) as sock:
            sock.sendall(struct.pack(">i", len(request)) + request)
            answer = sock.recv(4)
            assert len(answer) == 4, "the broker has answered"


@contextmanager
def inner_broker() -> Iterator[InnerBroker]:
    """Have a broker for a while."""
    yield InnerBroker()


def _batch(value: bytes, headers: Sequence[Header]) -> bytes:
    written = b"".join(_bytes(name) + _bytes(one) for name, one in headers)
    record = (
        b"\0" + _long(0) + _long(0) + _bytes(None) + _bytes(value) + _long(len(headers)) + written
    )
    records = _long(len(record)) + record
    counted = struct.pack(">hiqqqhii", 0, 0, 0, 0, -1, -1, -1, 1) + records
    behind = struct.pack(">ib", 0, 2) + struct.pack(">I", _checksum(counted)) + counted
    return struct.pack(">qi", 0, len(behind)) + behind


def _long(number: int) -> bytes:
    rest, out = (number << 1) ^ (number >> 63), b""
    while rest > 0x7F:
        out, rest = out + bytes([rest & 0x7F | 0x80]), rest >> 7
    return out + bytes([rest])


def _bytes(value: bytes | None) -> bytes:
    return _long(-1) if value is None else _long(len(value)) + value


def _checksum(data: bytes) -> int:
    """CRC-32C."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (CASTAGNOLI if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
