"""A registry on a log: who may write, what is lost, what may be forgotten."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.errors import (
    RegistryNotAvailable,
    SchemaError,
    SchemaIncompatible,
    SchemaNotFound,
)
from adapter.registry import avro_schema, codes, compatibility, rules, topic
from adapter.registry.log import Kept, MemorySchemaLog, RecordsMissingError, TopicRemadeError
from adapter.registry.port import Level
from adapter.registry.topic import TopicRegistry
from adapter.storage.ledger.envelope import ENTRY, OWNER_CHANGED, encode
from adapter.storage.ledger.memory import MemoryLog
from adapter.storage.ledger.port import LedgerUnavailable
from tests.support.examples import examples

LEVELS: tuple[Level, ...] = ("NONE", "FULL", "FORWARD", "BACKWARD")


def schema(*names: str) -> str:
    fields = [{"name": name, "type": "int", "default": 0} for name in names]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


class Topic:
    """The records of a compacted topic, and what can go wrong with a write."""

    def __init__(self) -> None:
        self.records: list[tuple[int, Kept]] = []
        self.end = 0
        self.fails: list[str] = []
        self.late: list[Kept] = []

    def put(self, record: Kept) -> None:
        self.records.append((self.end, record))
        self.end += 1

    def compact(self, *, tombstones: bool) -> None:
        """Keep the last record of each key, as Kafka does; later also without the empty ones."""
        last = {record.key: at for at, record in self.records}
        self.records = [
            (at, record)
            for at, record in self.records
            if last[record.key] == at and not (tombstones and record.value is None)
        ]


class TopicView:
    """One registry's access to a Topic."""

    topic = "_schemas"

    def __init__(self, shared: Topic) -> None:
        self._shared = shared
        self._next = 0
        self.forgets = True
        self.asked: list[int] = []
        """How many records were to be forgotten at a time."""

    def write(self, key: bytes, value: bytes) -> None:
        fault = self._shared.fails.pop(0) if self._shared.fails else ""
        if fault == "away":
            raise LedgerUnavailable("the broker is away")
        if fault == "late":
            self._shared.late.append(Kept(key, value))
        else:
            self._shared.put(Kept(key, value))
            while self._shared.late and not fault:
                self._shared.put(self._shared.late.pop(0))
        if fault:
            raise LedgerUnavailable(f"no answer came: {fault}")

    def read(self) -> list[Kept]:
        found = [record for at, record in self._shared.records if at >= self._next]
        if self._next and len(found) < self._shared.end - self._next:
            self._next = 0
            raise RecordsMissingError("compaction was faster")
        self._next = self._shared.end
        return found

    def forget(self, keys: Sequence[bytes]) -> bool:
        self.asked.append(len(keys))
        if not self.forgets:
            return False
        for key in keys:
            self._shared.put(Kept(key, None))
        return True

    def close(self) -> None:
        """Nothing to close."""


def on(shared: Topic) -> TopicRegistry:
    return TopicRegistry(TopicView(shared))


def everything(registry: TopicRegistry) -> object:
    return registry.ask(lambda known: (known.kept, known.levels, known.modes, known.next_id))


def test_two_registries_on_one_log_are_one() -> None:
    log = MemoryLog()
    one, two = topic.in_memory(log), topic.in_memory(log)
    assert one.register("s", schema("a")) == 1
    assert two.register("s", schema("a", "b")) == 2
    assert two.register("other", schema("a")) == 1
    assert one.versions("s") == two.versions("s") == [1, 2]
    assert one.register("s", schema("a")) == 1
    assert one.statistics()["takeovers"] == two.statistics()["takeovers"] == 1


def test_what_is_there_is_answered_without_writing() -> None:
    shared = Topic()
    on(shared).register("s", schema("a"))
    end = shared.end
    again = on(shared)
    assert again.lookup("s", schema("a")).version == 1
    assert again.schema(1) == again.version("s").schema
    assert shared.end == end


def test_a_version_that_somebody_else_registered_is_found_at_once() -> None:
    shared = Topic()
    one, two = on(shared), on(shared)
    one.register("s", schema("a"))
    assert two.schema(1)
    one.register("s", schema("b"))
    assert two.schema(2)
    with pytest.raises(SchemaNotFound, match="3"):
        two.schema(3)


def test_a_refused_change_writes_nothing_but_the_owner() -> None:
    shared = Topic()
    registry = on(shared)
    registry.register("s", schema("a"))
    end = shared.end
    with pytest.raises(SchemaIncompatible, match="type mismatch"):
        registry.register("s", '"int"')
    assert shared.end == end


class Rival(TopicView):
    """Somebody else takes over just before our next writes."""

    rivals: int = 0

    def write(self, key: bytes, value: bytes) -> None:
        if self.rivals:
            self.rivals -= 1
            owner = bytes([self.rivals + 1]) * 16
            self._shared.put(Kept(owner, encode(OWNER_CHANGED, owner, 0, b"rival")))
        super().write(key, value)


def test_a_change_that_was_overtaken_is_decided_again() -> None:
    shared = Topic()
    view = Rival(shared)
    registry = TopicRegistry(view)
    registry.register("s", schema("a"))
    view.rivals = 1
    assert registry.register("s", schema("a", "b")) == 2
    assert registry.statistics()["repeats"] == 1
    assert on(shared).versions("s") == [1, 2]


class SlowView(MemorySchemaLog):
    """A log whose writes and reads take a while, as those of Kafka do."""

    def write(self, key: bytes, value: bytes) -> None:
        time.sleep(0.003)
        super().write(key, value)

    def read(self) -> list[Kept]:
        time.sleep(0.001)
        return super().read()


def test_many_programs_register_at_once() -> None:
    log = MemoryLog()
    begun = threading.Barrier(6)

    def register(program: int) -> list[int]:
        registry = TopicRegistry(SlowView(log))
        begun.wait(10)
        return [registry.register(f"s{program}-{at}", schema(f"a{at}")) for at in range(5)]

    with ThreadPoolExecutor(6) as programs:
        found = list(programs.map(register, range(6)))
    assert all(ids == found[0] for ids in found), "one id for one schema"


def test_rivals_without_end_are_an_error_and_not_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic, "PAUSE_S_MAX", 0.0)
    view = Rival(Topic())
    registry = TopicRegistry(view)
    view.rivals = 100
    with pytest.raises(RegistryNotAvailable, match="again and again") as caught:
        registry.register("s", schema("a"))
    assert caught.value.code == 50003


@pytest.mark.parametrize("fault", ["away", "lost answer", "late"])
def test_a_doubtful_write_counts_once_whatever_became_of_it(fault: str) -> None:
    shared = Topic()
    registry = on(shared)
    registry.register("s", schema("a"))
    shared.fails = [fault]
    assert registry.register("s", schema("a", "b")) == 2
    assert registry.register("s", schema("a", "b", "c")) == 3
    assert registry.versions("s") == on(shared).versions("s") == [1, 2, 3]


def test_a_deletion_whose_answer_was_lost_is_not_refused_as_done_before() -> None:
    shared = Topic()
    registry = on(shared)
    registry.register("s", schema("a"))
    shared.fails = ["lost answer"]
    assert registry.delete_subject("s") == [1]


def test_a_broker_that_is_away_is_an_error_and_then_no_more() -> None:
    shared = Topic()
    registry = on(shared)
    registry.register("s", schema("a"))
    shared.fails = ["away", "away"]
    with pytest.raises(RegistryNotAvailable, match="away") as caught:
        registry.register("s", schema("a", "b"))
    assert caught.value.code == 50001
    assert registry.register("s", schema("a", "b")) == 2


def test_late_records_of_a_deposed_owner_never_count() -> None:
    shared = Topic()
    one, two = on(shared), on(shared)
    one.register("s", schema("a"))
    shared.fails = ["late", "away"]
    with pytest.raises(RegistryNotAvailable):
        one.set_level("NONE")
    two.set_level("FULL")
    assert not shared.late
    assert one.level() == two.level() == on(shared).level() == "FULL"
    shared.compact(tombstones=True)
    assert on(shared).level() == "FULL"


def test_a_topic_of_another_registry_is_refused() -> None:
    shared = Topic()
    shared.put(Kept(b'{"keytype":"NOOP","magic":0}', b"{}"))
    registry = on(shared)
    for _ in range(2):
        with pytest.raises(RegistryNotAvailable, match="another program"):
            registry.subjects()


def test_what_a_later_release_wrote_is_never_passed_over() -> None:
    shared = Topic()
    registry = on(shared)
    registry.register("s", schema("a"))
    owner = b"o" * 16
    shared.put(Kept(b"1", encode(OWNER_CHANGED, owner, 0, b"")))
    shared.put(Kept(b"2", encode(ENTRY, owner, 1, b'{"changes":[{"keytype":"NEW"}]}')))
    for _ in range(2):
        with pytest.raises(RegistryNotAvailable, match="later mqk"):
            registry.subjects()


def test_a_number_is_never_given_twice_even_if_all_of_it_is_gone() -> None:
    shared = Topic()
    registry = on(shared)
    registry.register("s", schema("a"))
    assert registry.register("t", schema("b")) == 2
    for permanent in (False, True):
        registry.delete_subject("t", permanent=permanent)
    registry.register("t", schema("a"))
    shared.compact(tombstones=True)
    again = on(shared)
    assert again.register("u", schema("c")) == 3


def test_what_could_not_be_forgotten_is_forgotten_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic, "FORGOTTEN_MAX", 2)
    view = TopicView(Topic())
    registry = TopicRegistry(view)
    view.forgets = False
    for level in (*LEVELS, "NONE"):  # each but the last is no longer needed
        registry.set_level(level, "s")
    assert view.asked == [1, 2, 2, 2]
    view.forgets = True
    registry.set_level("FULL", "s")
    registry.set_level("NONE", "s")
    registry.set_level("FULL", "s")
    registry.set_level("NONE", "s")
    assert view.asked[4:] == [2, 2, 2, 2]
    registry.set_level("FULL", "s")
    assert view.asked[8:] == [1]


def test_subjects_that_came_and_went_leave_nothing() -> None:
    shared = Topic()
    registry = on(shared)
    for number in range(30):
        registry.register(f"s{number}", schema("a"))
        registry.set_level("FULL", f"s{number}")
        for permanent in (False, True):
            registry.delete_subject(f"s{number}", permanent=permanent)
    for level in LEVELS:
        registry.set_level(level)
    shared.compact(tombstones=True)
    assert len(shared.records) < 6  # the owner, the level, and what is not read back yet
    again = on(shared)
    assert again.register("s", schema("b")) > registry.ask(lambda known: known.next_id) - 2
    assert everything(again) == everything(registry)


def test_records_that_nobody_needs_are_forgotten() -> None:
    shared = Topic()
    registry = on(shared)
    for level in LEVELS * 5:
        registry.set_level(level, "s")
    shared.compact(tombstones=True)
    assert len(shared.records) == 2  # the owner, the last level
    assert on(shared).level("s") == "BACKWARD"


class Held(TopicView):
    """A log that answers when it is let."""

    def __init__(self, shared: Topic) -> None:
        super().__init__(shared)
        self.answers = threading.Event()
        self.answers.set()
        self.is_asked = threading.Event()

    def read(self) -> list[Kept]:
        self.is_asked.set()
        assert self.answers.wait(10)
        return super().read()


def test_a_known_schema_is_answered_while_kafka_is_waited_for() -> None:
    log = Held(Topic())
    registry = TopicRegistry(log)
    number = registry.register("s", schema("a"))
    log.answers.clear()
    log.is_asked.clear()
    with ThreadPoolExecutor(2) as others:
        waits: list[Future[Any]] = [
            others.submit(registry.subjects),
            others.submit(registry.set_level, "FULL"),
        ]
        assert log.is_asked.wait(10)
        assert registry.schema(number)
        assert registry.statistics()["versions"] == 1
        assert not any(one.done() for one in waits)
        log.answers.set()
    assert registry.level() == "FULL"


@pytest.mark.parametrize("what", ["register", "check", "lookup"])
def test_schemas_are_judged_while_others_are_served(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The longest work is not done behind a lock: all is answered from within it."""
    registry = TopicRegistry(TopicView(Topic()))
    registry.register("s", schema("a"))
    seen: list[object] = []

    def within(step: Callable[..., Any]) -> Callable[..., Any]:
        def stepping(*given: Any) -> Any:
            if not registry._lock.locked():
                with ThreadPoolExecutor(1) as others:
                    seen.append(others.submit(registry.subjects).result(10))
            return step(*given)

        return stepping

    monkeypatch.setattr(avro_schema, "canonical", within(avro_schema.canonical))
    monkeypatch.setattr(compatibility, "unreadable", within(compatibility.unreadable))
    with contextlib.suppress(SchemaNotFound):
        getattr(registry, what)("s", schema("a", "b"))
    assert len(seen) == (1 if what == "lookup" else 2)


@pytest.mark.parametrize("names", [("a",), ("b",)])
def test_a_decision_judges_nothing_again(
    names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = TopicRegistry(TopicView(Topic()))
    registry.set_level("FULL_TRANSITIVE")
    for more in "cde":
        registry.register("s", schema("x", more))
    judged: list[bool] = []
    judge = compatibility.unreadable

    def note(*given: Any) -> Any:
        judged.append(registry._lock.locked())
        return judge(*given)

    monkeypatch.setattr(compatibility, "unreadable", note)
    registry.register("s", schema("x", *names))
    assert judged == [False] * 6


def test_a_long_change_is_several_records(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = Topic()
    registry = on(shared)
    registry.set_level("NONE")
    for number in range(20):
        registry.register("s", schema(f"a{number}"))
    monkeypatch.setattr(topic, "ENTRY_BYTES_MAX", 300)
    for permanent in (False, True):
        end = shared.end
        assert registry.delete_subject("s", permanent=permanent) == list(range(1, 21))
        written = [one.value for at, one in shared.records if at >= end and one.value is not None]
        assert 3 < len(written) < 10
        assert all(len(one) < 400 for one in written)
        assert everything(on(shared)) == everything(registry)
    assert registry.subjects() == []


def test_a_long_change_that_is_overtaken_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = Topic()
    view = Rival(shared)
    registry = TopicRegistry(view)
    registry.set_level("NONE")
    for number in range(20):
        registry.register("s", schema(f"a{number}"))
    monkeypatch.setattr(topic, "ENTRY_BYTES_MAX", 300)
    monkeypatch.setattr(topic, "PAUSE_S", 0.0)
    shared.fails = ["", "away"]
    registry.delete_subject("s")
    assert on(shared).subjects() == registry.subjects() == []


def test_what_kafka_never_takes_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = Topic()
    view = TopicView(shared)
    registry = TopicRegistry(view)
    registry.register("s", schema("a"))
    end, write = shared.end, view.write
    refused = LedgerUnavailable("Broker: Message size too large", retriable=False)
    monkeypatch.setattr(view, "write", Mock(side_effect=refused))
    with pytest.raises(RegistryNotAvailable, match="too large") as caught:
        registry.register("s", schema("a", "b"))
    assert caught.value.code == codes.STORE_FAILED
    assert shared.end == end
    monkeypatch.setattr(view, "write", write)
    assert registry.register("s", schema("a", "b")) == 2
    assert everything(on(shared)) == everything(registry)


def test_a_topic_that_was_made_again_is_not_answered_from(monkeypatch: pytest.MonkeyPatch) -> None:
    view = TopicView(Topic())
    registry = TopicRegistry(view)
    number = registry.register("s", schema("a"))
    monkeypatch.setattr(view, "read", Mock(side_effect=TopicRemadeError("created again")))
    for _ in range(2):
        with pytest.raises(RegistryNotAvailable, match="created again"):
            registry.subjects()
        with pytest.raises(RegistryNotAvailable, match="created again"):
            registry.schema(number)
    assert view.asked == []


def test_who_has_not_read_for_long_sees_what_is_there() -> None:
    """A day later not even the markers of what was deleted meanwhile are there."""
    shared = Topic()
    idle, busy = on(shared), on(shared)
    assert idle.register("s", schema("a")) == 1
    busy.register("t", schema("b"))
    for permanent in (False, True):
        busy.delete_subject("s", permanent=permanent)
    for level in LEVELS * 2:
        busy.set_level(level)
    shared.compact(tombstones=True)
    assert idle.subjects() == on(shared).subjects() == ["t"]
    assert everything(idle) == everything(busy)
    with pytest.raises(SchemaNotFound):
        idle.schema(1)
    assert idle.register("s", schema("c")) == 3


STEP = st.tuples(
    st.sampled_from(
        (
            *("register", "register", "register", "level", "delete", "purge", "version"),
            *("compact", "take"),
        )
    ),
    st.integers(0, 1),
    st.sampled_from(("s", "t")),
    st.integers(0, 3),
    st.sampled_from(("", "", "", "away", "lost answer", "late")),
)


def do(registry: TopicRegistry, what: str, subject: str, number: int) -> None:
    match what:
        case "register":
            registry.register(subject, schema(*"abcd"[: number + 1]))
        case "level":
            registry.set_level(LEVELS[number], subject)
        case "take":
            registry.change(lambda known: rules.take_level(known, subject))
        case "delete" | "purge":
            registry.delete_subject(subject, permanent=what == "purge")
        case "version":
            registry.delete_version(subject, number + 1, permanent=number % 2 == 1)


@settings(max_examples=examples(60))
@given(st.lists(STEP, max_size=30))
def test_whatever_happens_and_is_compacted_all_readers_see_the_same(
    steps: list[tuple[str, int, str, int, str]],
) -> None:
    shared = Topic()
    registries = on(shared), on(shared)
    for what, which, subject, number, fault in steps:
        if what == "compact":
            shared.compact(tombstones=number > 1)
            continue
        shared.fails = [fault] if fault else []
        with contextlib.suppress(SchemaError):
            do(registries[which], what, subject, number)
        seen = everything(registries[which])
        assert everything(registries[1 - which]) == seen
        assert everything(on(shared)) == seen
