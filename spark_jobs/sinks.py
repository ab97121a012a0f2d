"""Where batches go, each of them exactly once: into Parquet files, or back into a queue.

These are functions for `foreachBatch`. Spark runs a batch again, with the same number and the same
messages, when it was not finished: so each of them knows by the number whether it was written, in
the same step that writes it. This module must not know what is in the rows.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct, convert
from msgspec.json import encode
from pyspark.sql import DataFrame, Row, SparkSession

import adapter
from adapter.client.message import Message
from adapter.errors import InvalidOption, QueueExists, QueueInUse, UnitTooLarge
from spark_jobs.errors import SparkJobError
from spark_jobs.property_types import as_typed
from spark_jobs.transforms import dead_letters, readable

Sink = Callable[[DataFrame, int], None]
QUERY_ID = "sql.streaming.queryId"
PROGRESS = "SYSTEM.SPARK."
APPLICATION_LENGTH_MAX = 48 - len(PROGRESS)  # of a queue's name
IN_USE_S = 30.0
"""For the connection of a driver that has just died to be noticed."""
IN_USE_POLL_S = 0.5
WRITING = "_writing"
QUERY = "_query"
CARRIED = (
    *("priority", "correlation_id", "group_id", "group_seq", "last_in_group", "format"),
    *("message_type", "report", "feedback", "encoding", "ccsid", "reply_to"),
    "reply_to_queue_manager",
)
BESIDE = ("body", "message_id", "properties", "property_types")
"""Columns that a message put back takes over, if there are any."""
ROWS_MAX = 100_000
"""Of a batch in the driver's memory. A unit of the queue manager is 10,000 unless it is told
otherwise."""


def parquet(path: str) -> Sink:
    """Write each batch into a folder of its own, batch_id=N: it appears whole, and once.

    `spark.read.parquet(path)` reads all of them, and nothing that is not finished. A path is of one
    sink of one query: for another sink or checkpoint use another path, or its batches would be
    taken for written.
    """
    if not path:
        raise InvalidOption("parquet() needs the path of a folder")

    def write(batch: DataFrame, batch_id: int) -> None:
        files = Files(batch.sparkSession, path)
        files.claim(query_of(batch))
        if files.has(f"batch_id={batch_id}"):
            return
        draft = f"{WRITING}/{uuid.uuid4().hex}"
        batch.write.parquet(f"{path}/{draft}")
        files.rename(draft, f"batch_id={batch_id}")

    return write


def with_dead_letters(values: Sink, letters: Sink) -> Sink:
    """Write the messages of a batch that have a value to one sink, all others to another."""

    def write(batch: DataFrame, batch_id: int) -> None:
        batch.persist()
        try:
            letters(dead_letters(batch), batch_id)
            values(readable(batch), batch_id)
        finally:
            batch.unpersist()

    return write


def query_of(batch: DataFrame) -> str:
    """The id of the query that a batch is of, which its checkpoint keeps; "" outside a stream."""
    return batch.sparkSession.sparkContext.getLocalProperty(QUERY_ID) or ""


class Files:
    """A folder as Hadoop's file systems see it: local, HDFS, or an object store."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        jvm, java = spark._jvm, spark._jsc
        assert jvm is not None, "a session of this program has a JVM"
        self._path = path
        self._paths = jvm.org.apache.hadoop.fs.Path
        root = self._paths(path)
        self._system = root.getFileSystem(java.hadoopConfiguration())
        self._charset = jvm.java.nio.charset.StandardCharsets.UTF_8
        self._io = jvm.org.apache.commons.io.IOUtils

    def has(self, name: str) -> bool:
        """Whether there is a file or folder of this name."""
        return bool(self._system.exists(self._at(name)))

    def claim(self, query: str) -> None:
        """Make the folder one query's; SparkJobError if it is another's.

        A driver that is killed while it claims leaves the file empty, and the next one claims.
        """
        claimed = self.has(QUERY)
        owner = self._read(QUERY) if claimed else ""
        if not owner and not self._system.globStatus(self._at("batch_id=*")):
            stream = self._system.create(self._at(QUERY), claimed)
            stream.write(bytearray(query.encode()))
            stream.close()
            return
        if owner != query:
            raise SparkJobError(
                f"mqk: {self._path} has been written by query {owner or '(none)'}, and this is "
                f"query {query or '(none)'}, with another checkpoint: use another path, or that "
                "checkpoint"
            )

    def rename(self, name: str, to: str) -> None:
        """Give a folder its name, in one step. Where there is one of that name, HDFS moves a folder
        into it.
        """
        lost = self.has(to) or not self._system.rename(self._at(name), self._at(to))
        within = f"{to}/{name.rpartition('/')[2]}"
        if not lost and self.has(within):
            self._system.delete(self._at(within), True)
            lost = True
        if lost:
            raise SparkJobError(
                f"mqk: {self._path}/{to} was written by another driver at the same time: only one "
                "may run with a checkpoint"
            )

    def _read(self, name: str) -> str:
        stream = self._system.open(self._at(name))
        try:
            return str(self._io.toString(stream, self._charset))
        finally:
            stream.close()

    def _at(self, name: str) -> Any:
        return self._paths(f"{self._path}/{name}")


def to_queue(queue: str, *, address: str, application_id: str) -> Sink:
    """Put the rows of each batch on a queue, as one unit that also says that the batch is written
    to this queue.

    A batch that is more than a unit of the queue manager may hold is put in several units.
    A row needs the column body (text or bytes); message_id, properties and those of CARRIED are
    taken over if there are any. application_id: the durable name of the writers of one query, of
    which each has a queue of its own; two for one queue need two names. What they have written is
    noted, queue by queue, on queue SYSTEM.SPARK.(application_id), which the first one makes, and
    each holds open so that no second driver writes meanwhile.
    """
    if not 1 <= len(application_id) <= APPLICATION_LENGTH_MAX:
        raise InvalidOption(
            f"application_id has 1 to {APPLICATION_LENGTH_MAX} characters, not {application_id!r}"
        )

    def write(batch: DataFrame, batch_id: int) -> None:
        with (
            adapter.connect(address, application=f"spark {application_id}") as qm,
            _open_notes(qm, PROGRESS + application_id) as progress,
        ):
            note = _note(progress, application_id, query_of(batch))
            if note.of(queue).batch < batch_id:
                Putting(qm, qm.queue(queue), progress, note, batch_id).put(batch)

    return write


def _open_notes(qm: adapter.Connection, name: str) -> adapter.Queue:
    """Open the queue of what is written, for this driver alone."""
    with contextlib.suppress(QueueExists):
        qm.define_queue(name, max_depth=1)
    deadline_s = time.monotonic() + IN_USE_S
    while True:
        try:
            return qm.queue(name, open_for="input_exclusive")
        except QueueInUse as problem:
            if time.monotonic() > deadline_s:
                raise SparkJobError(
                    f"mqk: another driver holds {name}, with the same application_id: "
                    "end it, or give this one an application_id of its own"
                ) from problem
        time.sleep(IN_USE_POLL_S)


class WrittenPart(Struct, frozen=True):
    """How much of a batch is written that did not fit into one unit: so many messages, which have
    this digest.
    """

    batch: int
    count: int
    digest: str


class WrittenUpTo(Struct, omit_defaults=True, frozen=True):
    """Up to which batch all is on a queue, and how much of the next."""

    batch: int = -1
    part: WrittenPart | None = None


class SinkNote(Struct, omit_defaults=True):
    """What the last unit noted. others: of queues that are not named; before there were names."""

    query: str
    queues: dict[str, WrittenUpTo] = {}
    others: WrittenUpTo = WrittenUpTo()

    def of(self, queue: str) -> WrittenUpTo:
        """Return what is noted of a queue."""
        return self.queues.get(queue, self.others)


def _note(progress: adapter.Queue, application_id: str, query: str) -> SinkNote:
    """Read what the last unit noted."""
    found = next(iter(progress.browse()), None)
    if found is None:
        return SinkNote(query)
    note = note_of(found.body)
    if note.query != query:
        raise SparkJobError(
            f"mqk: application_id {application_id} has written batches of query {note.query}, and "
            f"this is query {query or '(none)'}, with another checkpoint: use another "
            "application_id, or that checkpoint"
        )
    return note


def note_of(body: bytes) -> SinkNote:
    """Read a note, also as earlier releases wrote it: of any queue."""
    told = json.loads(body)
    if "batch" in told:
        part = told.get("part")
        return SinkNote(
            told["query"], others=WrittenUpTo(told["batch"], WrittenPart(*part) if part else None)
        )
    return convert(told, SinkNote)


class Putting:
    """Puts a batch in one unit; in several, each of which notes how far it is, if it is too large.

    What is in a batch stays the same when it is done again, so that it goes on where it was.
    """

    def __init__(
        self,
        qm: adapter.Connection,
        queue: adapter.Queue,
        progress: adapter.Queue,
        note: SinkNote,
        batch_id: int,
    ) -> None:
        self._qm = qm
        self._queue = queue
        self._progress = progress
        self._note = note
        self._batch_id = batch_id

    def put(self, batch: DataFrame) -> None:
        """Put what is not on the queue yet."""
        messages = list(_outgoing(batch))
        done = self._done(messages)
        count = len(messages)
        while True:
            end = min(done + count, len(messages))
            try:
                self._put(messages, done, end)
            except UnitTooLarge as problem:
                if end - done <= 1:
                    raise SparkJobError(
                        f"mqk: a message of batch {self._batch_id} is more than a unit of the "
                        f"queue manager may hold ({problem.text})"
                    ) from problem
                count = (end - done) // 2
                continue
            done = end
            if done == len(messages):
                return

    def _put(self, messages: list[Message], first: int, end: int) -> None:
        written = WrittenUpTo(self._batch_id)
        if end < len(messages):
            part = WrittenPart(self._batch_id, end, digest(messages[:end]))
            written = WrittenUpTo(self._batch_id - 1, part)
        queues = self._note.queues | {self._queue.name: written}
        note = SinkNote(self._note.query, queues, self._note.others)
        with self._qm.unit():
            self._progress.get()
            self._progress.put(encode(note))
            self._queue.put_many(messages[first:end])

    def _done(self, messages: list[Message]) -> int:
        """How many messages of the batch are on the queue."""
        part = self._note.of(self._queue.name).part
        if part is None or part.batch != self._batch_id:
            return 0
        if digest(messages[: part.count]) != part.digest:
            raise SparkJobError(
                f"mqk: {part.count} messages of batch {part.batch} are on the queue, and now it "
                "has others or another order: a batch that does not fit into one unit has to be "
                "the same each time. Read with a smaller max_messages_per_batch"
            )
        return part.count


def digest(messages: list[Message]) -> str:
    """What tells messages from others."""
    found = hashlib.sha256()
    for one in messages:
        found.update(len(one.body).to_bytes(8, "big") + one.body + one.message_id)
    return found.hexdigest()


def _outgoing(batch: DataFrame) -> Iterator[Message]:
    """The rows of a batch as messages, in its order."""
    if "body" not in batch.columns:
        raise SparkJobError(f"mqk: a row needs a body to be put, and has {batch.columns}")
    carried = [name for name in CARRIED if name in batch.columns]
    wanted = [name for name in (*CARRIED, *BESIDE) if name in batch.columns]
    rows = batch.select(*wanted).limit(ROWS_MAX + 1).collect()
    if len(rows) > ROWS_MAX:
        raise SparkJobError(
            f"mqk: a batch of more than {ROWS_MAX:,} rows is too large for a unit: read with a "
            "smaller max_messages_per_batch"
        )
    return (message_of(row, carried) for row in rows)


def message_of(row: Row, carried: list[str]) -> Message:
    """A row as a message."""
    fields: dict[str, Any] = {name: row[name] for name in carried if row[name] is not None}
    for name in ("correlation_id", "group_id"):
        if name in fields:
            fields[name] = bytes(fields[name])
    if "message_id" in row and row["message_id"] is not None:
        fields["message_id"] = bytes(row["message_id"])
    if "properties" in row and (properties := row["properties"]):
        types = row.asDict().get("property_types") or {}
        fields["properties"] = {
            name: as_typed(value, types.get(name)) for name, value in properties.items()
        }
    body = row["body"]
    return Message(body.encode() if isinstance(body, str) else bytes(body or b""), **fields)
