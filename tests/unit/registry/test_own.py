"""Our own schemas: all of them are registered, once, and each version can be read by the latest."""

from pathlib import Path

import pytest

from adapter.errors import SchemaIncompatible
from adapter.registry import own, topic
from adapter.storage.format import schemas

NAMES = [
    *("mqk.Descriptor", "mqk.Entry", "mqk.Event", "mqk.Export", "mqk.Progress", "mqk.Transfer"),
]


def test_every_schema_is_registered_in_all_its_versions() -> None:
    registry = topic.in_memory()
    files = list((Path(__file__).parents[3] / "schemas").glob("*.avsc"))
    assert own.register_own(registry) == len(files)
    assert registry.subjects() == NAMES
    assert len(registry.versions("mqk.Progress")) == len(schemas.history("progress"))
    assert {registry.level(one) for one in NAMES} == {"BACKWARD_TRANSITIVE"}


def test_a_second_start_writes_nothing() -> None:
    registry = topic.in_memory()
    own.register_own(registry)
    before = registry.statistics()
    assert own.register_own(registry) == 0
    assert registry.statistics()["changes"] == before["changes"]


def test_an_operators_level_stays() -> None:
    registry = topic.in_memory()
    own.register_own(registry)
    registry.set_level("FULL", "mqk.Event")
    own.register_own(registry)
    assert registry.level("mqk.Event") == "FULL"


def test_what_a_later_release_registered_is_not_gone_back_from() -> None:
    registry = topic.in_memory()
    own.register_own(registry)
    latest = registry.version("mqk.Event").schema
    text = latest.replace('"fields":[', '"fields":[{"name":"new","type":"int","default":0},', 1)
    registry.register("mqk.Event", text)
    assert own.register_own(registry) == 0
    assert len(registry.versions("mqk.Event")) == 2


def test_a_subject_of_another_program_is_an_error() -> None:
    registry = topic.in_memory()
    registry.register("mqk.Event", '"int"')
    with pytest.raises(SchemaIncompatible):
        own.register_own(registry)
