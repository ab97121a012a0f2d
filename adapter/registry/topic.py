"""A schema registry of mqk's own, on a log: every change is a record, what it holds is in memory.

**Who may write** is decided as for a ledger: each record carries (owner, n), an owner announces
itself by OWNER_CHANGED, and of the records only those of the owner in force count
(storage/ledger/validity.py). So any number of registries may share a topic: all read, and one that
is asked to change something takes over first if it is not the owner. A change is answered when its
own record has been read back as valid; if another one took over before it, it is decided again.

One record is written at a time, and after a failed write comes a new owner. So of an owner's n none
is ever missing but by compaction, and a gap voids nothing.

**What may be compacted**: each record has a key of its own; a record all of whose changes were
superseded by valid ones is forgotten, by a record without a value. That is true for every reader,
also if another owns the topic by then.
"""

from __future__ import annotations

import random
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
import structlog

from adapter.errors import RegistryNotAvailable, SchemaNotFound
from adapter.registry import codes, rules, state
from adapter.registry.log import SCHEMAS, Kept, MemorySchemaLog, SchemaLog, TopicLog
from adapter.registry.port import LATEST, Latest, Level, Registered
from adapter.registry.rules import RegistryDecision
from adapter.registry.state import GLOBAL, ChangeEntry, Key, RegistryState
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
from adapter.storage.ledger.port import LedgerError
from adapter.storage.ledger.validity import Validity, Verdict

ATTEMPTS = 12
"""To change something, while others take over in between. Two that compete settle in two."""
PAUSE_S, PAUSE_S_MAX = 0.02, 1.0
"""Before another attempt, at most: twice as long each time. A write on Kafka takes about as long as
the first; all pauses take 7 s at most, and the client that registers waits meanwhile."""
CLOSE_TIMEOUT_S = 1.0
FORGOTTEN_MAX = 1_000
"""So many records are forgotten with one change, which waits for that."""

Answer = TypeVar("Answer")
log = structlog.get_logger("mqk.registry")


class TopicRegistry:
    """A SchemaRegistry on a log. Its methods may be called from any thread, and block."""

    def __init__(self, schema_log: SchemaLog) -> None:
        self._log = schema_log
        self._lock = threading.Lock()
        self._validity = Validity()
        self._state = RegistryState()
        self._holds: dict[Key, bytes] = {}  # what each key's last change is written in
        self._live: dict[bytes, int] = {}  # of how many keys a record is the last word
        self._dead: set[bytes] = set()  # records that are no longer needed
        self._owner = NOBODY
        self._n = 0
        self._attempt = (NOBODY, 0)  # what we write at the moment, and whether it counts
        self._landed = False
        self._broken: RegistryNotAvailable | None = None  # why nothing more can be read
        self._counts = dict.fromkeys(("takeovers", "changes", "repeats", "records"), 0)

    def ask(self, question: Callable[[RegistryState], Answer], *, fresh: bool = True) -> Answer:
        """Answer from what is registered. fresh: also by others, until now."""
        with self._lock:
            if fresh:
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
        return self.change(lambda known: rules.register(known, subject, schema))

    def lookup(self, subject: str, schema: str) -> Registered:
        return self.ask(lambda known: registered(rules.lookup(known, subject, schema)))

    def check(self, subject: str, schema: str) -> list[str]:
        return self.ask(lambda known: rules.against_all(known, subject, schema))

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
        with self._lock:
            return {**self._counts, "versions": self._state.size()}

    def _is_owner(self) -> bool:
        return self._owner != NOBODY and self._owner == self._validity.owner

    def _write(self, decision: RegistryDecision[Any]) -> bool:
        """Write a change; whether it is there, and counts."""
        owner, n = self._owner, self._n + 1
        self._attempt, self._landed = (owner, n), False
        entry = ChangeEntry(list(decision.changes), self._state.next_id)
        try:
            self._log.write(key_of(owner, n), envelope_of(ENTRY, owner, n, state.encode(entry)))
        except LedgerError as doubt:
            # It may be there, or come late: late it is void, behind the next owner's announcement.
            log.warning("a write is in doubt; taking over", topic=self._log.topic, why=str(doubt))
            self._take_over()
        else:
            self._n = n
            self._catch_up()
        if not self._landed:
            return False
        self._counts["changes"] += 1
        if self._dead:  # compaction may remove them; its markers are read back like all records
            portion = sorted(self._dead)[:FORGOTTEN_MAX]
            if self._log.forget(portion):
                self._dead.difference_update(portion)
        return True

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
            records = self._log.read()
        except LedgerError as error:
            raise self._failure(f"{error}", codes.STORE_FAILED) from error
        try:
            for record in records:
                self._take(record)
        except RegistryNotAvailable as error:
            self._broken = error
            raise

    def _take(self, record: Kept) -> None:
        self._counts["records"] += 1
        if record.value is None:
            self._dead.discard(record.key)
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
        self._state.apply(entry)
        if (envelope.owner, envelope.n) == self._attempt:
            self._landed = True
        key = key_of(envelope.owner, envelope.n)
        for change in entry.changes:
            what = state.about(change)
            before = self._holds.get(what)
            self._holds[what] = key
            self._live[key] = self._live.get(key, 0) + 1
            if before is not None:
                self._release(before)

    def _release(self, key: bytes) -> None:
        self._live[key] -= 1
        if not self._live[key]:
            del self._live[key]
            self._dead.add(key)

    def _failure(self, why: str, code: int) -> RegistryNotAvailable:
        return RegistryNotAvailable(
            f"the schema registry on topic {self._log.topic} cannot go on: {why}", code=code
        )


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
