"""A schema registry of mqk's own, on a log: every change is a record, what it holds is in memory.

**Who may write** is decided as for a ledger: each record carries (owner, n), an owner announces
itself by OWNER_CHANGED, and of the records only those of the owner in force count
(storage/ledger/validity.py). So any number of registries may share a topic: all read, and one that
is asked to change something takes over first if it is not the owner. A change is answered when its
own record has been read back as valid; if another one took over before it, it is decided again.
A long change is several records: if it is overtaken among them, the rest of it is decided again.

One record is written at a time, and after a failed write comes a new owner. So of an owner's n none
is ever missing but by compaction, and a gap voids nothing.

**What may be compacted**: each record has a key of its own, and is forgotten by a record without a
value when nothing needs it any more (records.py). That is true for every reader, also if another
owns the topic by then.

**Who waits for whom**: what waits for Kafka, and what changes, is done by one thread at a time, and
may take long. The state is written behind a lock of its own, which is held for a moment: a schema
that is in memory is answered at once. Schemas are parsed and compared outside both, for that takes
seconds in the worst case; what was found out is remembered, and the decision finds it.
"""

from __future__ import annotations

import random
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import structlog

from adapter.errors import RegistryNotAvailable, SchemaNotFound
from adapter.registry import codes, rules, state
from adapter.registry.log import (
    SCHEMAS,
    Kept,
    MemorySchemaLog,
    RecordsMissingError,
    SchemaLog,
    TopicLog,
    TopicRemadeError,
)
from adapter.registry.port import LATEST, Latest, Level, Registered
from adapter.registry.records import NeededRecords
from adapter.registry.rules import RegistryDecision
from adapter.registry.state import GLOBAL, Change, ChangeEntry, RegistryState
from adapter.storage.ledger.envelope import (
    ENTRY,
    NOBODY,
    OWNER_BYTES,
    OWNER_CHANGED,
    Envelope,
    NewerVersion,
)
from adapter.storage.ledger.envelope import encode as envelope_of
from adapter.storage.ledger.memory import MemoryLog
from adapter.storage.ledger.port import LedgerError, LedgerUnavailable
from adapter.storage.ledger.validity import Validity, Verdict

ATTEMPTS = 12
"""To change something, while others take over in between. Two that compete settle in two."""
PAUSE_S, PAUSE_S_MAX = 0.02, 1.0
"""Before another attempt, at most: twice as long each time. A write on Kafka takes about as long as
the first; all pauses take 7 s at most, and the client that registers waits meanwhile."""
CLOSE_TIMEOUT_S = 1.0
ENTRY_BYTES_MAX = 512 * 1024
"""Of the changes that one record makes, if it makes several: a broker may take 1 MiB at most."""
FORGOTTEN_MAX = 1_000
"""So many records are forgotten with one change, which waits for that."""

Answer = TypeVar("Answer")
log = structlog.get_logger("mqk.registry")


class TopicRegistry:
    """A SchemaRegistry on a log. Its methods may be called from any thread, and block."""

    def __init__(self, schema_log: SchemaLog) -> None:
        self._log = schema_log
        self._lock = threading.Lock()  # of all that waits for the log, or writes
        self._state_lock = threading.Lock()  # for moments: of the state, which its owner writes
        self._validity = Validity()
        self._state = RegistryState()
        self._needed = NeededRecords()
        self._owner = NOBODY
        self._n = 0
        self._attempt = (NOBODY, 0)  # what we write at the moment, and whether it counts
        self._landed = False
        self._broken: RegistryNotAvailable | None = None  # why nothing more can be read
        self._counts = dict.fromkeys(("takeovers", "changes", "repeats", "records"), 0)

    def ask(self, question: Callable[[RegistryState], Answer], *, fresh: bool = True) -> Answer:
        """Answer from what is registered. fresh: also by others, until now; else it is answered at
        once.
        """
        if not fresh:
            with self._state_lock:
                return question(self._state)
        with self._lock:
            self._catch_up()
            return question(self._state)

    def change(self, decide: Callable[[RegistryState], RegistryDecision[Answer]]) -> Answer:
        """Decide a change, write it, and answer when it is there to stay."""
        with self._lock:
            for attempt in range(ATTEMPTS):
                if attempt:
                    time.sleep(random.uniform(0, min(PAUSE_S * 2**attempt, PAUSE_S_MAX)))
                self._catch_up()
                decision = decide(self._state)
                if decision.changes and not self._is_owner():
                    self._take_over()
                    decision = decide(self._state)
                if not decision.changes or self._write(decision):
                    return decision.answer
                self._counts["repeats"] += 1
        raise self._failure(
            "other registries take it over again and again; let one of them serve, or try again",
            codes.FORWARDING_FAILED,
        )

    def schema(self, schema_id: int) -> str:
        try:
            return self.ask(lambda known: rules.schema(known, schema_id), fresh=False)
        except SchemaNotFound:
            return self.ask(lambda known: rules.schema(known, schema_id))

    def version(self, subject: str, version: int | Latest = LATEST) -> Registered:
        return self.ask(lambda known: registered(rules.version(known, subject, version)))

    def subjects(self) -> list[str]:
        return self.ask(lambda known: known.subjects())

    def versions(self, subject: str) -> list[int]:
        return self.ask(lambda known: [one.version for one in rules.existing(known, subject)])

    def register(self, subject: str, schema: str) -> int:
        return self.register_numbered(subject, schema, 0, 0)

    def register_numbered(self, subject: str, schema: str, version: int, schema_id: int) -> int:
        """Register a schema with these numbers; 0: the next ones. See rules.register()."""
        rules.check_subject(subject)
        text = rules.canonical(schema, subject)
        numbers = version, schema_id

        def look(known: RegistryState) -> rules.Comparison | None:
            there = rules.admit(known, subject, text, *numbers)
            return rules.comparison_due(known, subject) if there is None else None

        held_against = self.ask(look)
        if held_against is not None:
            held_against.require(text)
        return self.change(lambda known: rules.register_text(known, subject, text, *numbers))

    def lookup(self, subject: str, schema: str) -> Registered:
        return registered(self.find(subject, schema))

    def find(self, subject: str, schema: str, *, deleted: bool = False) -> state.Version:
        """Say which version of a subject a schema is; deleted: also one that is deleted."""
        text = rules.canonical(schema, subject)
        return self.ask(lambda known: rules.lookup(known, subject, text, deleted=deleted))

    def check(self, subject: str, schema: str, version: int | str | None = None) -> list[str]:
        """See the port. version: of the subject, if the schema is held against this one only."""
        text = rules.canonical(schema, subject)
        held_against = self.ask(lambda known: rules.comparison(known, subject, version))
        return held_against.problems(text)

    def level(self, subject: str | None = None) -> str:
        return self.ask(lambda known: rules.level(known, subject or GLOBAL, default=True))

    def set_level(self, level: Level, subject: str | None = None) -> None:
        self.change(lambda known: rules.set_level(known, subject or GLOBAL, level))

    def delete_version(self, subject: str, version: int, *, permanent: bool = False) -> None:
        self.change(
            lambda known: rules.delete_version(known, subject, version, permanent=permanent)
        )

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        return self.change(lambda known: rules.delete_subject(known, subject, permanent=permanent))

    def close(self) -> None:
        """Let go of connections; they are made again when something is asked.

        What waits for Kafka at the moment is left to end by itself.
        """
        if self._lock.acquire(timeout=CLOSE_TIMEOUT_S):
            try:
                self._log.close()
            finally:
                self._lock.release()

    def statistics(self) -> dict[str, int]:
        """Counts since the object was made, and how many versions it holds."""
        with self._state_lock:
            return {**self._counts, "versions": self._state.size()}

    def _is_owner(self) -> bool:
        return self._owner != NOBODY and self._owner == self._validity.owner

    def _write(self, decision: RegistryDecision[Any]) -> bool:
        """Write a change; whether it is there, and counts."""
        if not all(self._write_entry(portion) for portion in portions(decision.changes)):
            return False
        self._counts["changes"] += 1
        unneeded = self._needed.unneeded(FORGOTTEN_MAX)
        if unneeded and self._log.forget(unneeded):
            self._needed.note_written(unneeded)
        return True

    def _write_entry(self, changes: list[Change]) -> bool:
        owner, n = self._owner, self._n + 1
        self._attempt, self._landed = (owner, n), False
        entry = ChangeEntry(changes, self._state.next_id)
        try:
            self._log.write(key_of(owner, n), envelope_of(ENTRY, owner, n, state.encode(entry)))
        except LedgerError as doubt:
            if not (isinstance(doubt, LedgerUnavailable) and doubt.retriable):
                self._owner = NOBODY  # whatever became of it, nothing is written behind it
                raise self._failure(f"{doubt}", codes.STORE_FAILED) from doubt
            # It may be there, or come late: late it is void, behind the next owner's announcement.
            log.warning("a write is in doubt; taking over", topic=self._log.topic, why=str(doubt))
            self._take_over()
        else:
            self._n = n
            self._catch_up()
        return self._landed

    def _take_over(self) -> None:
        """Announce ourselves as the owner, and read up to that."""
        owner = secrets.token_bytes(OWNER_BYTES)
        self._owner, self._n = NOBODY, 0
        who = f"registry on {socket.gethostname()}".encode()
        try:
            self._log.write(key_of(owner, 0), envelope_of(OWNER_CHANGED, owner, 0, who))
        except LedgerError as error:
            raise self._failure(f"{error}", codes.STORE_FAILED) from error
        self._counts["takeovers"] += 1
        self._catch_up()
        self._owner = owner

    def _catch_up(self) -> None:
        """Read what is new on the log. What cannot be understood ends it for good."""
        if self._broken is not None:
            raise self._broken
        try:
            records = self._read()
        except TopicRemadeError as error:
            # What is known is of the former topic, and may be wrong of this one.
            self._broken = self._failure(f"{error}", codes.STORE_FAILED)
            with self._state_lock:
                self._state = RegistryState()
            raise self._broken from error
        except LedgerError as error:
            raise self._failure(f"{error}", codes.STORE_FAILED) from error
        try:
            for record in records:
                self._take(record)
        except RegistryNotAvailable as error:
            self._broken = error
            raise

    def _read(self) -> list[Kept]:
        """Read what is new on the log; all of it, if some of that is not there any more."""
        try:
            return self._log.read()
        except RecordsMissingError as missing:
            log.info("all of the topic is read again", topic=self._log.topic, why=str(missing))
        records = self._log.read()
        judged = self._state.judged
        with self._state_lock:  # what is not found in it is asked for behind the other lock
            self._state = RegistryState()
            self._state.judged = judged
        self._validity, self._needed = Validity(), NeededRecords()
        return records

    def _take(self, record: Kept) -> None:
        self._counts["records"] += 1
        if record.value is None:
            for what in self._needed.forget(record.key):
                if (change := state.nothing_of(what)) is not None:
                    with self._state_lock:
                        self._state.make(change)
            return
        try:
            verdict, envelope = self._judge(record.value)
        except NewerVersion as newer:
            raise self._failure(f"{newer}", codes.STORE_FAILED) from newer
        if verdict is Verdict.CORRUPT and self._validity.owner == NOBODY:
            raise self._failure(
                "it holds records of another program, maybe of another schema registry: name "
                "another topic for mqk's own, or use that registry by its URL",
                codes.STORE_FAILED,
            )
        if verdict is Verdict.VALID and envelope is not None:
            self._apply(envelope)

    def _judge(self, value: bytes) -> tuple[Verdict, Envelope | None]:
        """Judge a record, where compaction may have removed those before it."""
        validity = self._validity
        next_n = validity.next_n
        verdict, envelope = validity.judge_value(value)
        if verdict is Verdict.VOID and envelope is not None and envelope.owner == validity.owner:
            assert envelope.n > next_n, "only a gap voids what the owner in force wrote"
            self._validity = Validity.at(envelope.owner, envelope.n)
            return Verdict.VALID, envelope
        return verdict, envelope

    def _apply(self, envelope: Envelope) -> None:
        try:
            entry = state.decode(envelope.payload)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._failure(
                f"an entry cannot be read ({error}): a later mqk wrote it; use that one",
                codes.STORE_FAILED,
            ) from error
        with self._state_lock:
            self._state.apply(entry)
        if (envelope.owner, envelope.n) == self._attempt:
            self._landed = True
        self._needed.add(key_of(envelope.owner, envelope.n), entry.changes)

    def _failure(self, why: str, code: int) -> RegistryNotAvailable:
        return RegistryNotAvailable(
            f"the schema registry on topic {self._log.topic} cannot go on: {why}", code=code
        )


def portions(changes: Sequence[Change]) -> Iterator[list[Change]]:
    """Cut changes into those that one record makes."""
    part: list[Change] = []
    size = 0
    for change in changes:
        more = len(state.encode(ChangeEntry([change], 0)))
        if part and size + more > ENTRY_BYTES_MAX:
            yield part
            part, size = [], 0
        part.append(change)
        size += more
    if part:
        yield part


def registered(one: state.Version) -> Registered:
    """What the port says of a version."""
    return Registered(one.subject, one.version, one.id, one.schema)


def key_of(owner: bytes, n: int) -> bytes:
    """The key of a record."""
    return f"{owner.hex()}-{n}".encode()


def on_kafka(
    bootstrap_servers: str,
    topic: str = SCHEMAS,
    client: Mapping[str, Any] | None = None,
    replication: int = 0,
) -> TopicRegistry:
    """A registry on a topic, which is made if it is not there; see TopicLog."""
    return TopicRegistry(TopicLog(bootstrap_servers, topic, client, replication))


def in_memory(shared: MemoryLog | None = None) -> TopicRegistry:
    """A registry without Kafka, for tests; several may share a log."""
    return TopicRegistry(MemorySchemaLog(shared))
