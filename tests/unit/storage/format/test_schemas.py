"""The schemas: documented, in step with core's structs, and in the package."""

import json
import re
from collections.abc import Iterator
from importlib import resources
from typing import Any

import pytest

from adapter.core.contract import records as r
from adapter.core.contract.message import MessageData
from adapter.storage.format import schemas
from adapter.storage.format.descriptor import UnitPosition
from adapter.storage.format.schemas import NAMES, VERSION, Codec, UnreadableError


def schema(name: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(schemas.schema_text(name))
    return parsed


def records_in(node: Any) -> Iterator[dict[str, Any]]:
    """Every record, enum and fixed of a schema."""
    if isinstance(node, list):
        for each in node:
            yield from records_in(each)
    elif isinstance(node, dict):
        if node.get("type") in ("record", "enum", "fixed"):
            yield node
        for value in node.values():
            yield from records_in(value)


@pytest.mark.parametrize("name", NAMES)
def test_everything_says_what_it_is(name: str) -> None:
    for each in records_in(schema(name)):
        assert len(each.get("doc", "")) > 5, each["name"]
        for field in each.get("fields", []):
            assert len(field.get("doc", "")) > 2, f"{each['name']}.{field['name']}"


UNIT = r.UnitCommitted(b"", 0, [], [], "commit", None)


def test_the_entry_has_every_record_of_core() -> None:
    (records,) = schema("entry")["fields"]
    known = {each["name"]: each for each in records["type"]["items"]}
    assert set(known) == {kind.__name__ for kind in r.Record.__args__}
    for kind in r.Record.__args__:
        fields = [field["name"] for field in known[kind.__name__]["fields"]]
        names = UNIT.by_name() if kind is r.UnitCommitted else kind.__struct_fields__
        own = [name for name in names if name not in ("logged", "taken", "made")]
        assert fields == own, kind.__name__


def test_the_first_record_of_the_union_is_the_unit() -> None:
    """The fast encoder and the movers rely on it."""
    (records,) = schema("entry")["fields"]
    assert records["type"]["items"][0]["name"] == "UnitCommitted"


def test_the_descriptor_has_every_field_of_a_message() -> None:
    fields = {field["name"] for field in schema("descriptor")["fields"]}
    message = set(MessageData.__struct_fields__) - {"body", "persistence", "delay_ms"} | {
        "persistent"
    }
    assert fields == message | set(UnitPosition.__struct_fields__)


def test_names_are_mqks_own() -> None:
    for name in NAMES:
        top = schema(name)
        assert top["namespace"] == "mqk"
        assert re.fullmatch(r"[A-Z][A-Za-z]+", top["name"])


@pytest.mark.parametrize("name", NAMES)
def test_the_package_carries_its_schemas_or_stands_beside_them(name: str) -> None:
    packaged = resources.files("adapter").joinpath("schemas", f"{name}.avsc")
    if packaged.is_file():
        assert packaged.read_text() == schemas.schema_text(name)
    else:
        assert schema(name)["type"] == "record"


def test_a_later_release_is_told_from_other_bytes() -> None:
    later = "a later release wrote it; use that one"
    with pytest.raises(UnreadableError, match=later):
        Codec("event").decode(bytes((VERSION + 1,)))
    for other in (b"", b"text", bytes((0,))):
        with pytest.raises(UnreadableError) as refused:
            Codec("event").decode(other)
        assert later not in str(refused.value)


@pytest.mark.parametrize("data", [b"", bytes((VERSION + 1,)), bytes((0,))])
def test_another_version_is_told(data: bytes) -> None:
    with pytest.raises(UnreadableError, match=f"this release reads version {VERSION}"):
        Codec("event").decode(data)
