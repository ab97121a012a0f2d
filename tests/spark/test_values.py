"""Bodies with schemas from a registry: three versions at once, what cannot be read, an outage."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

import adapter
from adapter.errors import InvalidOption
from adapter.registry import topic
from adapter.registry.http import RegistryServer
from adapter.registry.rest import RestRegistry
from spark_jobs import errors, sinks, sources, transforms
from tests.support.spark_site import Site, collecting, drain, queues


def order(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "Order", "fields": list(fields)})


ID = {"name": "id", "type": "int"}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
AMOUNT = {"name": "amount", "type": "double", "default": 1.5}
V1 = order(ID, NOTE)
V2 = order(ID, NOTE, AMOUNT)
V3 = order(ID, AMOUNT)
OTHER = json.dumps(
    {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}]}
)
BODIES = 5


@pytest.fixture(scope="module")
def registry() -> Iterator[tuple[RegistryServer, str]]:
    server = RegistryServer(topic.in_memory())
    with server:
        yield server, server.start(port=0)


@pytest.fixture(scope="module")
def filled(site: Site, registry: tuple[RegistryServer, str]) -> str:
    """Queue ORDERS, with bodies of three versions and two that cannot be read; the URL."""
    _, url = registry
    client = RestRegistry(url)
    client.set_level("NONE", "ORDERS-value")
    with queues(site, "ORDERS"), adapter.connect(site.address, registry=url) as qm:
        values = (
            (V1, {"id": 1, "note": "a"}),
            (V2, {"id": 2, "note": None, "amount": 2.5}),
            (V3, {"id": 3, "amount": 3.5}),
            (OTHER, {"id": "four"}),
        )
        for schema, value in values:
            qm.queue("ORDERS").put_value(value, schema=schema, register=True)
        qm.put("ORDERS", "no Avro")
    site.wait_copied("ORDERS", BODIES)
    return url


def test_three_versions_are_read_by_one_pinned_schema(
    site: Site, filled: str, tmp_path: Path
) -> None:
    """v1, v2 with a default added and v3 with a field removed; what is incompatible goes to the
    dead letters with its reason."""
    messages = sources.with_value(site.stream("ORDERS"), registry_url=filled, schema=V2)
    good: list[Any] = []
    dead: list[Any] = []
    drain(messages, sinks.with_dead_letters(collecting(good), collecting(dead)), tmp_path)
    assert [tuple(row["value"]) for _, row in good] == [
        (1, "a", 1.5),
        (2, None, 2.5),
        (3, None, 3.5),
    ]
    reasons = [row["reason"] for _, row in dead]
    assert len(reasons) == 2
    assert "cannot be read with" in reasons[0]
    assert bytes(dead[1][1]["body"]) == b"no Avro"
    assert reasons[1]


def test_the_newest_schema_is_the_reader_unless_one_is_named(site: Site, filled: str) -> None:
    RestRegistry(filled).register("ORDERS-value", V3)
    read = sources.with_value(site.batch("ORDERS"), registry_url=filled)
    newest = RestRegistry(filled).version("ORDERS-value").schema
    names = [field["name"] for field in json.loads(newest)["fields"]]
    assert read.schema["value"].dataType.fieldNames() == names  # type: ignore[attr-defined]
    assert transforms.readable(read).count() + transforms.dead_letters(read).count() == BODIES


def test_an_outage_ends_the_batch_and_loses_nothing(
    site: Site, filled: str, registry: tuple[RegistryServer, str], tmp_path: Path
) -> None:
    """The registry is away when the job starts to read: the batch fails; later it is done."""
    server, url = registry
    port = int(url.rpartition(":")[2])
    server.stop()
    rows: list[Any] = []
    # Another text of the same schema, and another URL of the same registry: nothing is kept of it.
    away = f"http://localhost:{port}"
    messages = sources.with_value(site.stream("ORDERS"), registry_url=away, schema=V2 + " ")
    sink = sinks.with_dead_letters(collecting(rows), collecting(rows))
    with pytest.raises(StreamingQueryException) as refused:
        drain(messages, sink, tmp_path)
    assert "registry" in errors.explain(refused.value)
    assert rows == []
    server.start(port=port)
    drain(messages, sink, tmp_path)
    assert len(rows) == BODIES


def test_a_body_without_a_frame_is_read_by_the_schema_given(site: Site) -> None:
    with queues(site, "BARE") as qm:
        qm.put("BARE", b"\x0e\x02\x06abc")
        qm.put("BARE", b"\xff")
    site.wait_copied("BARE", 2)
    read = sources.with_value(site.batch("BARE"), schema=V1)
    assert [tuple(row["value"]) for row in transforms.readable(read).collect()] == [(7, "abc")]
    assert [row["offset"] for row in transforms.dead_letters(read).collect()] != []


def test_what_to_read_with_has_to_be_known(site: Site) -> None:
    with queues(site, "KNOWN"):
        pass
    messages = site.batch("KNOWN")
    with pytest.raises(InvalidOption, match="needs a schema, a registry_url, or both"):
        sources.with_value(messages)
    with pytest.raises(InvalidOption, match="which queue these messages are of is not known"):
        sources.with_value(messages.drop("queue"), registry_url="http://127.0.0.1:1")
    with pytest.raises(InvalidOption, match="cannot be read"):
        sources.with_value(messages, schema=Path("/nowhere/order.avsc"))
