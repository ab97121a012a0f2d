"""Schemas held against each other: every kind of change, every level, and what is no schema."""

import pytest

from adapter.errors import InvalidSchema
from adapter.registry import avro_schema
from adapter.registry.avro_schema import RULES
from tests.contract.schema_changes import CHANGES, FAR, INT, field, record


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("level", RULES)
def test_a_level_judges_a_change_by_who_reads_whom(level: str, change: str) -> None:
    tried, rule = CHANGES[change], RULES[level]
    expected = (tried.backward or not rule.backward) and (tried.forward or not rule.forward)
    found = avro_schema.problems(level, tried.new, [(1, tried.old)])
    assert (not found) == expected, found


@pytest.mark.parametrize("level", RULES)
def test_only_a_transitive_level_looks_further_back(level: str) -> None:
    first, second, third = FAR
    fits_the_second = avro_schema.problems(level, third, [(2, second)])
    assert not fits_the_second
    found = avro_schema.problems(level, third, [(1, first), (2, second)])
    assert bool(found) == RULES[level].transitive
    assert all("version 1" in one for one in found)


def test_what_speaks_against_a_schema_names_field_and_kind() -> None:
    found = avro_schema.problems("BACKWARD", record(INT, field("int", "b")), [(7, record(INT))])
    assert found == [
        "it cannot read what version 7 wrote: reader field missing default value (b)",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[",
        "null",
        "5",
        '"nothing"',
        '{"type":"record","name":"R"}',
        '{"type":[]}',
        "{" * 9,
        '{"type":"record","name":"R","fields":[{"name":"f","type":"double","default":1e999}]}',
        '{"type":"record","name":"R","fields":[{"name":"f","type":"double","default":NaN}]}',
        '{"type":"int","x":-Infinity}',
        '{"type":"int","x":1e400}',
        '{"type":"record","name":"R","doc":"\\ud83d","fields":[]}',
        '{"type":"int","\\udfff":1}',
        '{"type":"int","doc":"\ud800"}',
    ],
)
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchema) as caught:
        avro_schema.canonical(text)
    assert str(caught.value).encode()


def test_a_schema_that_is_nested_too_deep_is_refused() -> None:
    with pytest.raises(InvalidSchema):
        avro_schema.canonical('{"type":"array","items":' * 20_000 + '"int"' + "}" * 20_000)


def test_a_schema_that_is_too_long_is_refused() -> None:
    with pytest.raises(InvalidSchema, match="at most"):
        avro_schema.canonical(" " * avro_schema.SCHEMA_BYTES_MAX + '"int"')


def test_a_schema_is_kept_without_blanks_and_with_its_docs_and_defaults() -> None:
    text = """{"type": "record", "name": "R", "doc": "of é", "fields": [
        {"name": "a", "type": {"type": "int"}, "default": 1},
        {"name": "b", "type": {"type": "string", "logicalType": "uuid"}}]}"""
    assert avro_schema.canonical(text) == (
        '{"type":"record","name":"R","doc":"of é","fields":[{"name":"a","type":"int","default":1},'
        '{"name":"b","type":{"type":"string","logicalType":"uuid"}}]}'
    )


INT_OF_A_PROPERTY = '{"type":"int","doc":"x","size":3}'
PROPERTY = f'"items":{INT_OF_A_PROPERTY},"p":{INT_OF_A_PROPERTY},"q":[{{"type":"string"}}]'
INNER = '{"type":"int"}'
WITH_PROPERTIES = (
    f'{{"type":"record","name":"R",{PROPERTY},"fields":[]}}',
    f'{{"type":"record","name":"R","fields":[{{"name":"f",{PROPERTY},"type":%s}}]}}',
    f'{{"type":"array","values":{INNER},"fields":[{INNER}],"p":{INT_OF_A_PROPERTY},"items":%s}}',
    f'{{"type":"map","p":{INT_OF_A_PROPERTY},"values":%s}}',
    f'{{"type":"enum","name":"E","symbols":["A"],"p":{INT_OF_A_PROPERTY}}}',
    f'{{"type":"int","p":{INT_OF_A_PROPERTY}}}',
    f'["null",{{"type":"map","p":{INT_OF_A_PROPERTY},"values":["null",%s]}}]',
)


@pytest.mark.parametrize("text", WITH_PROPERTIES)
def test_properties_stay_as_they_were_written(text: str) -> None:
    """Types become plain, at every place that has one; what only looks like a type does not."""
    written, plain = text.replace("%s", INNER), text.replace("%s", '"int"')
    assert avro_schema.canonical(written) == plain
    assert avro_schema.canonical(plain) == plain
    assert avro_schema.identity(written) == avro_schema.identity(plain)


def test_the_order_of_what_a_type_says_makes_no_other_schema() -> None:
    one, two = '{"type":"fixed","name":"F","size":4}', '{"size":4,"name":"F","type":"fixed"}'
    assert avro_schema.identity(one) == avro_schema.identity(two)
    assert avro_schema.identity('["int","null"]') != avro_schema.identity('["null","int"]')
