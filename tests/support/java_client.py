"""Kafka's own client in Java, for comparison: it writes records, and reads what is committed."""

from __future__ import annotations

import io
import struct
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from adapter.localkafka.jars import find_java, jars_folder

PROGRAM = Path(__file__).parent / "java" / "Records.java"
WITHIN_S = 100.0


class JavaRecord(Struct, frozen=True):
    """A record. partition: -1 for that of its key. time_ms: since 1970; -1 for now."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int = -1
    time_ms: int = -1


def produce(servers: str, topic: str, records: Iterable[JavaRecord], *transactions: str) -> None:
    """Write records, in their order. transactions: a transactional id, and how many records each
    has; before each one the same records are written, and aborted.
    """
    _run(b"".join(map(_encode, records)), "produce", servers, topic, *transactions)


def consume(servers: str, topic: str, count: int) -> list[JavaRecord]:
    """Read all that is committed, at least so many records if they come within a minute."""
    printed = io.BytesIO(_run(b"", "consume", servers, topic, str(count)))
    return list(_decode_all(printed))


def _run(given: bytes, *arguments: str) -> bytes:
    command = [find_java().path, "-cp", str(jars_folder() / "*"), str(PROGRAM), *arguments]
    done = subprocess.run(command, input=given, capture_output=True, timeout=WITHIN_S, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
    return done.stdout


def _encode(record: JavaRecord) -> bytes:
    parts = [struct.pack(">iq", record.partition, record.time_ms)]
    parts += [_bytes(record.key), _bytes(record.value), struct.pack(">i", len(record.headers))]
    for name, value in record.headers:
        parts += [_bytes(name.encode()), _bytes(value)]
    return b"".join(parts)


def _bytes(value: bytes | None) -> bytes:
    return struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value


def _decode_all(printed: io.BytesIO) -> Iterator[JavaRecord]:
    while start := printed.read(12):
        partition, time_ms = struct.unpack(">iq", start)
        key, value = _read(printed), _read(printed)
        (count,) = struct.unpack(">i", printed.read(4))
        headers = tuple(((_read(printed) or b"").decode(), _read(printed)) for _ in range(count))
        yield JavaRecord(key, value, headers, partition, time_ms)


def _read(printed: io.BytesIO) -> bytes | None:
    (length,) = struct.unpack(">i", printed.read(4))
    return None if length < 0 else printed.read(length)
