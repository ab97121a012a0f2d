"""What comparing two schemas costs at most; by which rules is in test_avro_schema."""

import json
import time
from typing import Any

import pytest

from adapter.errors import InvalidSchema
from adapter.registry import avro_schema, compatibility


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


def test_the_pairs_of_all_versions_count_together() -> None:
    earlier = [(number, union("B", 60)) for number in range(10)]
    assert avro_schema.problems("FULL", union("A", 60), earlier)
    with pytest.raises(InvalidSchema, match="too large"):
        avro_schema.problems("FULL_TRANSITIVE", union("A", 60), earlier)


def test_each_field_of_a_record_is_one_step() -> None:
    first, second = avro_schema.parse(record(500)), avro_schema.parse(record(500))
    assert compatibility.unreadable(first, second) == ([], 501)


def test_what_speaks_against_a_schema_is_said_to_some_length() -> None:
    first, second = avro_schema.parse(record(0)), avro_schema.parse(record(300))
    (why,), _ = compatibility.unreadable(second, first)
    assert why.count(",") < compatibility.REASONS_MAX


def test_a_record_within_itself_is_compared_once() -> None:
    text = json.dumps(
        {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}
    )
    assert compatibility.unreadable(avro_schema.parse(text), avro_schema.parse(text))[0] == []
