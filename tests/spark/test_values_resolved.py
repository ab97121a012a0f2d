"""with_value() against Java itself: the same values, and a reason for each that Spark refuses."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.avro.functions import from_avro

from adapter.errors import InvalidSchema, SchemaIncompatible
from adapter.registry import topic
from adapter.registry.frame import FRAME, MAGIC
from adapter.registry.http import RegistryServer
from adapter.registry.resolution import Resolution
from adapter.registry.rest import RestRegistry
from adapter.storage.format import avro
from spark_jobs import sources
from tests.support.avro_cases import CASES, REFUSED, A, B, Case, aliased, record, written
from tests.support.avro_pairs import Pair
from tests.support.examples import few

ENDLESS = "a type that contains itself"
"""Spark has no such types."""


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    server = RegistryServer(topic.in_memory())
    with server:
        yield server.start(port=0)


def read_by_java(data: bytes, writer: Any, reader: Any, mode: str) -> Column:
    """Return the column that Java's resolution makes, in a record, which may then be null."""
    schemas = (json.dumps(record("Around", it=one)) for one in (writer, reader))
    first, second = schemas
    return from_avro(F.lit(bytearray(data)), first, {"mode": mode, "avroSchema": second})


@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE"])
def test_java_resolves_the_cases_alike(spark: SparkSession, mode: str) -> None:
    """What it reads, it reads as the resolution's bytes; what it refuses, that refuses."""
    is_fit = mode == "FAILFAST"
    cases = [one for one in (CASES if is_fit else REFUSED) if one.name != ENDLESS]
    columns = []
    for case in cases:
        for value, _ in case.values:
            data = written(case.writer, value)
            columns.append(read_by_java(data, case.writer, case.reader, mode))
            if is_fit:
                ours = Resolution(json.dumps(case.writer), json.dumps(case.reader)).rewrite(data)
                columns.append(read_by_java(ours, case.reader, case.reader, mode))
    row = spark.range(1).select(*(one.alias(f"c{n}") for n, one in enumerate(columns))).collect()[0]
    if is_fit:
        pairs = list(zip(row[::2], row[1::2], strict=True))
        assert [theirs for theirs, _ in pairs] == [ours for _, ours in pairs]
    else:
        assert [one.it for one in row] == [None] * len(columns)


PAIRS = 40
"""So many of random schemas in one query: Spark compiles each of them."""


@pytest.mark.parametrize("first", few(range(0, 1000, PAIRS), 2))
def test_java_resolves_random_schemas_alike(spark: SparkSession, first: int) -> None:
    pairs = [Pair(seed) for seed in range(first, first + PAIRS)]
    columns, is_fit = [], []
    for pair in pairs:
        columns.append(read_by_java(pair.data, pair.writer, pair.reader, "PERMISSIVE"))
        resolution = Resolution(json.dumps(pair.writer), json.dumps(pair.reader))
        try:
            ours = resolution.rewrite(pair.data)
        except SchemaIncompatible:
            is_fit.append(False)
            columns.append(F.lit(None))
        else:
            is_fit.append(True)
            columns.append(read_by_java(ours, pair.reader, pair.reader, "PERMISSIVE"))
    row = spark.range(1).select(*(one.alias(f"c{n}") for n, one in enumerate(columns))).collect()[0]
    for number, fits in enumerate(is_fit):
        theirs, ours_read = row[2 * number], row[2 * number + 1]
        where = f"seed {first + number}"
        assert (theirs.it is not None) == fits, where
        assert not fits or theirs == ours_read, where


def with_value(spark: SparkSession, url: str, case: Case) -> list[Row]:
    """Read bodies that name their schema, with the reader's."""
    subject = f"{case.name}-value"
    client = RestRegistry(url)
    client.set_level("NONE", subject)
    number = client.register(subject, json.dumps(case.writer))
    bodies = [FRAME.pack(MAGIC, number) + written(case.writer, value) for value, _ in case.values]
    frame = bodies_of(spark, bodies)
    return sources.with_value(frame, registry_url=url, schema=json.dumps(case.reader)).collect()


def bodies_of(spark: SparkSession, bodies: list[bytes]) -> DataFrame:
    rows = [(bytearray(one),) for one in bodies]
    return spark.createDataFrame(rows, "body binary").coalesce(1)


UNION = record("R", u=[A, B])


def test_a_record_of_a_union_keeps_its_type(spark: SparkSession, registry: str) -> None:
    case = Case("same", UNION, UNION, [({"u": (n, {"x": 1})}, None) for n in "ABA"])
    found = with_value(spark, registry, case)
    assert [row.value_error for row in found] == [None] * 3
    assert [[one is not None for one in row.value.u] for row in found] == [
        [True, False],
        [False, True],
        [True, False],
    ]
    number = record("R", u=["double", "long"])
    (row,) = with_value(
        spark, registry, Case("long", number, number, [({"u": ("long", 2**60 + 1)}, None)])
    )
    assert row.value.u.asDict() == {"member0": None, "member1": 2**60 + 1}


def test_new_fields_get_defaults_of_bytes_and_decimals(spark: SparkSession, registry: str) -> None:
    money = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
    reader = record("R", id="int", b=("bytes", "\u00ff"), d=(money, "\u0004\u00d2"))
    (row,) = with_value(
        spark, registry, Case("new", record("R", id="int"), reader, [({"id": 1}, None)])
    )
    assert (row.value.id, bytes(row.value.b), str(row.value.d)) == (1, b"\xff", "12.34")


def test_doubles_of_an_array_keep_their_digits(spark: SparkSession, registry: str) -> None:
    """Avro 1.12.0, which Spark 4.0 brings, keeps 32 bits of each."""
    doubles = {"type": "array", "items": "double"}
    schema = record("R", d=doubles, e=["null", doubles], f={"type": "map", "values": doubles})
    value = {"d": [1.1], "e": [2.2], "f": {"k": [3.3]}}
    (row,) = with_value(spark, registry, Case("doubles", schema, schema, [(value, None)]))
    assert row.value.asDict() == value


def test_what_spark_refuses_has_a_reason(spark: SparkSession, registry: str) -> None:
    money = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}
    case = Case(
        "large", record("R", t="bytes"), record("R", t=money), [({"t": b"\x12\xd6\x87"}, None)]
    )
    (row,) = with_value(spark, registry, case)
    assert row.value is None
    assert "Spark refuses the value" in row.value_error
    for case in REFUSED:
        for row in with_value(spark, registry, case):
            assert row.value is None
            assert "cannot be read with the reader's schema" in row.value_error


def test_a_union_and_a_number_are_values_too(spark: SparkSession, registry: str) -> None:
    maybe = ["null", A]
    case = Case("top", maybe, maybe, [(("A", {"x": 5}), None), (None, None)])
    first, second = with_value(spark, registry, case)
    assert (first.value.x, first.value_error) == (5, None)
    assert (second.value, second.value_error) == (None, None)
    (row,) = with_value(spark, registry, Case("number", "int", "long", [(7, None)]))
    assert (row.value, row.value_error) == (7, None)
    (row,) = with_value(spark, registry, Case("empty", record("E"), record("E"), [({}, None)]))
    assert (row.value, row.value_error) == (Row(), None)


def test_bodies_without_a_registry(spark: SparkSession) -> None:
    nothing = record("R", a=["null", "int"], b=["null", "string"])
    endless = b"\x00\x02" + avro.long(2**31 - 9)
    bodies = [written(nothing, {"a": None, "b": None}), b"\x02", b"", endless, b"\x00\x00, chairs"]
    read = sources.with_value(bodies_of(spark, bodies), schema=json.dumps(nothing)).collect()
    assert read[0].value == Row(a=None, b=None)
    damaged = "the body is not a value of the schema"
    assert [row.value_error for row in read] == [None, *[damaged] * 4]
    assert [row.value for row in read[1:]] == [None] * 4


def test_a_schema_that_spark_has_no_type_for(spark: SparkSession) -> None:
    line = record("Line", next=["null", "Line"])
    with pytest.raises(InvalidSchema, match="recursive"):
        sources.with_value(bodies_of(spark, [b"\0"]), schema=json.dumps(line))


def test_names_stay_in_their_namespaces(spark: SparkSession, registry: str) -> None:
    writer = {**record("Old", a="int"), "namespace": "com.acme"}
    reader = aliased({**record("New", a="long"), "namespace": "org.acme"}, "com.acme.Old")
    (row,) = with_value(
        spark, registry, Case("renamed", writer, ["null", reader], [({"a": 5}, None)])
    )
    assert (row.value.a, row.value_error) == (5, None)
