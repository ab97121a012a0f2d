"""What comparing two schemas costs at most; by which rules is in test_avro_schema."""

import io
import json
import time
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.errors import InvalidSchema, SchemaIncompatible
from adapter.registry import avro_schema, compatibility
from adapter.registry.compatibility import JudgedPairs
from adapter.registry.resolution import Resolution
from tests.support.examples import examples


def union(letter: str, count: int) -> str:
    return json.dumps([fixed(f"{letter}{n}", n + 1) for n in range(count)])


def fixed(name: str, size: int) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size}


def record(count: int) -> str:
    fields = [{"name": f"f{n}", "type": "int"} for n in range(count)]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


def test_unions_of_very_many_types_are_not_compared_to_the_end() -> None:
    began_s = time.thread_time()
    with pytest.raises(InvalidSchema, match="too large to be compared"):
        avro_schema.problems("FULL", union("A", 400), [(1, union("B", 400))])
    assert time.thread_time() - began_s < 4  # mostly half a second; it was more than a minute


def test_the_pairs_of_all_versions_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compatibility, "STEPS_OF_ALL_MAX", 40_000)
    earlier = [(number, union("B", 60)) for number in range(12)]
    assert avro_schema.problems("FULL", union("A", 60), earlier)
    began_s = time.thread_time()
    with pytest.raises(InvalidSchema, match="with all earlier versions"):
        avro_schema.problems("FULL_TRANSITIVE", union("A", 60), earlier)
    assert time.thread_time() - began_s < 10  # mostly one second


def test_what_is_parsed_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions may be long where the new schema, and what is compared, is short."""
    monkeypatch.setattr(compatibility, "STEPS_OF_ALL_MAX", 1_000)
    long = json.dumps({"type": "record", "name": "R", "doc": "x" * 15_000, "fields": []})
    assert avro_schema.problems("BACKWARD_TRANSITIVE", record(0), [(1, long)]) == []
    with pytest.raises(InvalidSchema, match="with all earlier versions"):
        avro_schema.problems("BACKWARD_TRANSITIVE", record(0), [(1, long), (2, long + " ")])


def test_what_was_found_compatible_costs_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = JudgedPairs(most=2)
    earlier = [(1, record(3) + " ")]
    assert avro_schema.problems("FULL", record(2), earlier, judged)
    assert avro_schema.problems("FULL", record(3), earlier, judged) == []
    monkeypatch.setattr(compatibility, "STEPS_OF_ALL_MAX", 0)
    assert avro_schema.problems("FULL_TRANSITIVE", record(3), earlier, judged) == []
    with pytest.raises(InvalidSchema, match="too large"):
        avro_schema.problems("FULL", record(2), earlier, judged)
    judged.add(b"a", b"b")
    judged.add(b"c", b"d")
    with pytest.raises(InvalidSchema, match="too large"):
        avro_schema.problems("FULL", record(3), earlier, judged)


@pytest.mark.parametrize("level", ["BACKWARD_TRANSITIVE", "FULL_TRANSITIVE"])
def test_a_table_of_ordinary_columns_evolves_for_long(level: str) -> None:
    kinds = ("int", "string", "long", "double")

    def table(number: int) -> str:
        fields = [
            {"name": f"c{n}", "type": ["null", kinds[n % 4]], "default": None} for n in range(200)
        ]
        return json.dumps({"type": "record", "name": "R", "doc": f"{number}", "fields": fields})

    assert avro_schema.problems(level, table(0), [(n, table(n)) for n in range(1, 151)]) == []


def test_each_field_of_a_type_of_its_own_is_one_step() -> None:
    fields = [{"name": f"f{n}", "type": fixed(f"F{n}", 4)} for n in range(500)]
    text = json.dumps({"type": "record", "name": "R", "fields": fields})
    effort = compatibility.Effort()
    assert compatibility.unreadable(avro_schema.parse(text), avro_schema.parse(text), effort) == []
    assert effort.steps == 501


def test_what_speaks_against_a_schema_is_said_to_some_length() -> None:
    first, second = avro_schema.parse(record(0)), avro_schema.parse(record(300))
    (why,) = compatibility.unreadable(second, first)
    assert why.count(",") < compatibility.REASONS_MAX


def test_a_record_within_itself_is_compared_once() -> None:
    text = json.dumps(
        {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}
    )
    assert compatibility.unreadable(avro_schema.parse(text), avro_schema.parse(text)) == []


def test_what_rests_on_a_refuted_assumption_is_not_remembered() -> None:
    """A type is judged within another one, which turns out not to be read, and is met again."""
    inner = {"type": "record", "name": "X", "fields": [{"name": "w", "type": ["null", "W"]}]}
    within = {"type": "record", "name": "W", "fields": [{"name": "b", "type": inner}]}
    written = {
        "type": "record",
        "name": "Top",
        "namespace": "w",
        "fields": [{"name": "u", "type": within}, {"name": "v", "type": "X"}],
    }
    wanted_more = within | {
        "namespace": "p",
        "fields": [*within["fields"], {"name": "z", "type": "int"}],
    }
    other = {"type": "record", "name": "W", "namespace": "q", "fields": []}
    read = written | {
        "fields": [{"name": "u", "type": [wanted_more, other]}, {"name": "v", "type": "p.X"}]
    }
    reader, writer = (avro_schema.parse(json.dumps(one)) for one in (read, written))
    assert compatibility.unreadable(reader, writer)


def _resolves(writer: dict[str, Any], reader: dict[str, Any]) -> bool:
    """Whether values of a writer's record of ints become values of a reader's."""
    values = {name: n for n, name in enumerate(one["name"] for one in writer["fields"])}
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(writer, {}), values)
    try:
        Resolution(json.dumps(writer), json.dumps(reader)).rewrite(out.getvalue())
    except SchemaIncompatible:
        return False
    return True


NAMES = st.sampled_from("abc")
RECORDS = st.builds(
    lambda fields, space, alias: {
        "type": "record",
        "name": "R",
        **({"namespace": "n"} if space else {}),
        **({"aliases": ["n.R"]} if alias else {}),
        "fields": fields,
    },
    st.lists(
        st.builds(
            lambda name, aliases, default: {
                "name": name,
                "type": "int",
                **({"aliases": aliases} if aliases else {}),
                **({"default": 0} if default else {}),
            },
            NAMES,
            st.lists(NAMES, max_size=2, unique=True),
            st.booleans(),
        ),
        max_size=3,
        unique_by=lambda field: str(field["name"]),
    ),
    st.booleans(),
    st.booleans(),
)


@settings(max_examples=examples(500))
@given(RECORDS, RECORDS)
def test_what_is_found_readable_is_read(writer: dict[str, Any], reader: dict[str, Any]) -> None:
    """Whatever aliases there are: one judge says so, and another one reads."""
    first, second = (avro_schema.parse(json.dumps(one)) for one in (reader, writer))
    assert avro_schema.unreadable(second, second) == []
    assert avro_schema.problems("FULL", json.dumps(writer), [(1, json.dumps(writer))]) == []
    assert (compatibility.unreadable(first, second) == []) == _resolves(writer, reader)
