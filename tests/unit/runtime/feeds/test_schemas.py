"""Values of feeds are decoded by their schemas, and a feed waits while that is not decided."""

import math
from types import SimpleNamespace
from typing import cast

import pytest

from adapter.core.attributes.feed import FeedAttributes
from adapter.errors import InvalidOption, RegistryNotAvailable, SchemaError, SchemaNotFound
from adapter.registry import codes, topic
from adapter.registry.port import SchemaRegistry
from adapter.registry.values import Values
from adapter.runtime.feeds import schemas as module
from adapter.runtime.feeds import undecided
from adapter.runtime.feeds.port import FeedError, Preparation, Read, UnsettledError
from adapter.runtime.feeds.reader import PAUSES_S
from adapter.runtime.feeds.schemas import FeedSchemas
from adapter.runtime.feeds.undecided import AGAIN_S, TURN_S, UndecidedPartitions
from adapter.storage.format.feeds import DecodedValue, TopicRecord

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "number", "type": "int"}]}
AVRO = FeedAttributes(topic="orders", queue="Q", value="AVRO", fields="ALL")
NO_WAIT = Preparation(0.0, 0.0, math.inf)
AVROJSON = FeedAttributes(topic="orders", queue="Q", value="AVROJSON")


def record(value: bytes | None) -> TopicRecord:
    return TopicRecord(0, 17, None, value)


class Asked:
    """A registry, and what it was asked. answers: what it raises, in order; the last for ever.
    text: of the schema of every number.
    """

    def __init__(self, *answers: Exception) -> None:
        self.registry = topic.in_memory()
        self.body = Values(self.registry).encode({"number": 7}, ORDER, "orders", register=True)
        self.asked: list[int] = []
        self.answers = list(answers)
        self.closed = 0
        self.now_s = self.since_s = 100.0
        """The time, and since when values wait."""
        self.text = ""
        self.decoder = FeedSchemas(lambda: cast("SchemaRegistry", self), lambda: self.now_s)

    def schema(self, schema_id: int) -> str:
        self.asked.append(schema_id)
        if self.answers:
            raise self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        return self.text or self.registry.schema(schema_id)

    def close(self) -> None:
        self.closed += 1

    def decode(
        self, value: bytes | None = None, feed: FeedAttributes = AVRO
    ) -> DecodedValue | None:
        one = record(self.body if value is None else value)
        self.prepare([one], feed)
        return self.decoder.decode(one, feed)

    def prepare(self, records: list[TopicRecord], feed: FeedAttributes = AVRO) -> None:
        """Ask for the schemas of values, with all the time that there is."""
        wait = Preparation(self.since_s, self.now_s, math.inf)
        self.decoder.prepare(records, feed, wait)


def test_a_value_is_decoded_and_its_schema_is_asked_for_once() -> None:
    at = Asked()
    for _ in range(3):
        assert at.decode() == DecodedValue(at.asked[0], {"number": 7})
    found = at.decode(feed=AVROJSON)
    assert found == DecodedValue(at.asked[0], {"number": 7}, b'{"number":7}')
    assert len(at.asked) == 1
    at.decoder.close()
    at.decoder.close()
    assert at.closed == 1
    at.decode()
    assert len(at.asked) == 1, "what is known stays known"


def test_what_is_not_to_be_decoded_is_not() -> None:
    at = Asked()
    assert at.decode(feed=FeedAttributes(topic="orders", queue="Q")) is None
    assert at.decoder.decode(record(None), AVRO) is None
    at.prepare([record(None), record(b"text")])
    assert not at.asked


@pytest.mark.parametrize(
    ("value", "begins"),
    [
        (b"", "nothing"),
        (b"\x00\x00\x00\x01", "00000001"),
        (b"text of a page", "7465787420"),
        (b"\x01" + bytes(20), "0100000000"),
        (bytes(5), "0000000000"),
        (b"\x00\xff\xff\xff\xff", "00ffffffff"),
    ],
)
def test_a_value_in_no_frame(value: bytes, begins: str) -> None:
    found = Asked().decode(value)
    assert found is not None
    assert found.why == (
        f"its value is not Avro in the frame with a schema's number: it begins with {begins}"
    )


def test_a_value_that_is_damaged() -> None:
    at = Asked()
    found = at.decode(at.body + b"more")
    assert found is not None
    assert found.why.startswith("its value cannot be decoded by schema ")
    assert found.why.endswith("4 bytes stand behind it")


@pytest.mark.parametrize(
    "failure",
    [
        RegistryNotAvailable("the schema registry does not answer"),
        SchemaError("no rights", code=40_301),
        SchemaNotFound("a page was not found", code=codes.NOT_FOUND),
        InvalidOption("a package is missing"),
    ],
)
def test_a_feed_waits_while_the_registry_does_not_answer(failure: Exception) -> None:
    at = Asked(failure)
    for _ in range(3):
        with pytest.raises(FeedError, match=str(failure.args[0])):
            at.decode()
        at.now_s += 1000
    at.answers.clear()
    assert at.decode() == DecodedValue(at.asked[0], {"number": 7})


def test_a_schema_that_is_unknown_may_be_on_its_way() -> None:
    at = Asked(SchemaNotFound("no schema", code=codes.NO_SCHEMA))
    with pytest.raises(FeedError, match=r"schema \d of a value is not registered yet: no schema"):
        at.decode()
    at.now_s += module.SETTLE_S - 1
    with pytest.raises(FeedError, match="not registered yet"):
        at.decode()
    at.now_s += 0.5
    at.answers.clear()
    assert at.decode() == DecodedValue(at.asked[0], {"number": 7})


def test_a_schema_that_stays_unknown_is_asked_for_now_and_then() -> None:
    at = Asked(SchemaNotFound("no schema", code=codes.NO_SCHEMA))
    with pytest.raises(FeedError):
        at.decode()
    at.now_s += module.SETTLE_S
    for _ in range(3):
        found = at.decode()
        assert found is not None
        assert found.why.endswith("which is not registered: no schema")
    assert len(at.asked) == 2
    at.now_s += module.AGAIN_S
    at.since_s = at.now_s
    at.answers.clear()
    assert at.decode() == DecodedValue(at.asked[0], {"number": 7})


def test_all_unknown_schemas_settle_together() -> None:
    at = Asked(SchemaNotFound("no schema", code=codes.NO_SCHEMA))
    records = [record(b"\x00" + number.to_bytes(4, "big") + b"x") for number in range(1, 100)]
    with pytest.raises(FeedError, match="schema 1 of a value"):
        at.prepare(records)
    at.now_s += module.SETTLE_S
    at.prepare(records)
    assert len(at.asked) == 2 * len(records)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            '{"type": "record"}',
            "schema 1, which cannot be used: schema 1 is not a valid Avro schem",
        ),
        ("[" * 50_000, "schema 1 is nested too deep"),
    ],
)
def test_a_schema_that_cannot_be_used(text: str, says: str) -> None:
    at = Asked()
    at.text = text
    found = at.decode(b"\x00\x00\x00\x00\x01x")
    assert found is not None
    assert says in found.why


def test_schemas_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SCHEMAS_MAX", 3)
    at = Asked()
    at.text = '"null"'
    for number in range(1, 10):
        at.decode(b"\x00" + number.to_bytes(4, "big"))
    assert len(at.decoder._asked) == 3


def test_schemas_that_cannot_be_used_push_out_none_that_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "UNUSABLE_MAX", 5)
    at = Asked()
    at.decode()
    at.answers = [SchemaNotFound("no schema", code=codes.NO_SCHEMA)]
    strange = [record(b"\x00" + number.to_bytes(4, "big") + b"x") for number in range(50, 70)]
    with pytest.raises(UnsettledError):
        at.prepare(strange)
    assert len(at.decoder._unusable) == 5
    asked = len(at.asked)
    assert at.decode() is not None
    assert len(at.asked) == asked


def test_without_a_registry_a_feed_waits() -> None:
    with pytest.raises(FeedError, match="set schema_registry of the queue manager"):
        FeedSchemas().prepare([record(b"\x00\x00\x00\x00\x01x")], AVRO, NO_WAIT)


def test_a_registry_that_cannot_be_made_is_tried_again() -> None:
    def make() -> SchemaRegistry:
        raise InvalidOption("a package is missing")

    decoder = FeedSchemas(make)
    with pytest.raises(FeedError, match="a package is missing"):
        decoder.prepare([record(b"\x00\x00\x00\x00\x01x")], AVRO, NO_WAIT)
    decoder.close()


def test_a_schema_that_another_feed_has_pushed_out_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between the preparation and the decoding of a record; another attempt reads it."""
    monkeypatch.setattr(module, "SCHEMAS_MAX", 1)
    at = Asked()
    of_another = Values(at.registry).encode({}, {**ORDER, "fields": []}, "other", register=True)
    one = record(at.body)
    at.prepare([one])
    at.prepare([record(of_another)])
    with pytest.raises(FeedError, match="was forgotten"):
        at.decoder.decode(one, AVRO)
    assert at.decode() == DecodedValue(at.asked[0], {"number": 7})


@pytest.mark.parametrize("scale", [10**6, 10**15, 3 * 10**19])
def test_a_decimal_with_a_scale_beyond_all_is_a_dead_letter(scale: int) -> None:
    at = Asked()
    at.text = f'{{"type":"bytes","logicalType":"decimal","precision":{scale},"scale":{scale}}}'
    found = at.decode(b"\0\0\0\0\1\2\5")
    assert found is not None
    assert "too long" in found.why


def test_a_schema_that_fails_whatever_way_is_none_that_can_be_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(module, "ValueReader", fail)
    found = Asked().decode()
    assert found is not None
    assert "cannot be used: RecursionError()" in found.why


@pytest.mark.parametrize("later_s", [module.AGAIN_S, 3_600.0])
@pytest.mark.parametrize("asked_before", [1, 3])
def test_a_schema_that_is_met_again_much_later_may_be_on_its_way_again(
    later_s: float, asked_before: int
) -> None:
    """The feed was paused, or sought past it, before its time was over."""
    at = Asked(SchemaNotFound("no such schema", "7"))
    for _ in range(asked_before):
        with pytest.raises(FeedError, match="not registered yet"):
            at.decode()
        at.now_s += 0.5
    at.now_s += later_s
    at.since_s = at.now_s
    with pytest.raises(FeedError, match="not registered yet"):
        at.decode()
    at.now_s += module.SETTLE_S - 1
    at.answers = []
    found = at.decode()
    assert found is not None
    assert not found.why


def test_pauses_between_attempts_do_not_begin_it_anew() -> None:
    """A schema that is never registered is decided, however long the pauses of a feed get."""
    at = Asked(SchemaNotFound("no such schema", "7"))
    with pytest.raises(FeedError, match="not registered yet"):
        at.decode()
    at.now_s += max(PAUSES_S) + 5.0
    found = at.decode()
    assert found is not None
    assert "not registered" in found.why


@pytest.mark.parametrize("partitions", [1, 10])
@pytest.mark.parametrize("answer_s", [0.0, 0.06, 2.0])
@pytest.mark.parametrize("ids", [1, 10, 600])
def test_all_values_are_decided_however_long_answers_take(
    ids: int, answer_s: float, partitions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is asked for once after the time that it may be on its way, and a second time before.
    No turn takes longer than its time and one question.
    """
    at = Asked(SchemaNotFound("no schema", code=codes.NO_SCHEMA))
    monkeypatch.setattr(undecided, "time", SimpleNamespace(monotonic=lambda: at.now_s))
    answer = at.schema

    def answer_late(number: int) -> str:
        at.now_s += answer_s
        return answer(number)

    monkeypatch.setattr(at, "schema", answer_late)
    waits = UndecidedPartitions(
        lambda records, wait: at.decoder.prepare(records, AVRO, wait), lambda _why: None
    )
    records = [
        TopicRecord(n % partitions, n, None, b"\x00" + (n + 9).to_bytes(4, "big") + b"x")
        for n in range(ids)
    ]
    waits.add(records)
    until_s = at.now_s + 2 * (ids * answer_s + module.SETTLE_S + max(AGAIN_S)) * (1 + 0.02 / TURN_S)
    found: list[Read] = []
    while at.now_s < until_s and len(found) < ids:
        began_s = at.now_s
        found += waits.decide()
        assert at.now_s - began_s <= TURN_S + answer_s
        at.now_s += 0.02  # the others' turn
    assert len(found) == ids
    for one in records:
        decoded = at.decoder.decode(one, AVRO)
        assert decoded is not None
        assert "is not registered: no schema" in decoded.why
    assert len(at.asked) <= 2 * ids + len(AGAIN_S) * ids * (answer_s * ids < module.SETTLE_S)
