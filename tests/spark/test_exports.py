"""Spark reads the topic of an export as it reads any topic."""

from contextlib import suppress
from typing import Any

from tests.support.exported import await_records
from tests.support.feed_site import OthersTopic
from tests.support.spark_site import Site, queues


def test_what_was_committed_is_read_once_with_keys_and_headers(site: Site) -> None:
    topic = OthersTopic(site.servers, f"{site.name}.results", partitions=3).name
    with queues(site, "RESULTS") as qm:
        qm.define_object("export", "RESULTS", queue="RESULTS", topic=topic)
        for number in range(20):
            properties: dict[str, Any] = {"KafkaKey": f"k{number % 5}", "number": number}
            with suppress(ZeroDivisionError), qm.unit():
                qm.put("RESULTS", b"%d" % number, properties=properties)
                assert 1 / (number % 2), "else the unit is backed out"
        await_records(qm, "RESULTS", 10)
        qm.delete_object("export", "RESULTS")
    reader = site.spark.read.format("kafka").option("kafka.bootstrap.servers", site.servers)
    reader = reader.option("subscribe", topic).option("includeHeaders", "true")
    rows = reader.option("kafka.isolation.level", "read_committed").load().collect()
    found = [
        (bytes(row.key), bytes(row.value), {one.key: bytes(one.value) for one in row.headers})
        for row in rows
    ]
    assert sorted(int(value) for _, value, _ in found) == list(range(1, 20, 2))
    for key, value, headers in found:
        assert key == b"k%d" % (int(value) % 5)
        assert headers["number"] == value
