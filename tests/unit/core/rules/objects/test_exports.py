"""Definitions of exports: what is refused, what may be altered, and loops of feeds and exports."""

from typing import Any

import pytest

from adapter.core import inputs
from adapter.core.attributes.export import EXPORT, ExportAttributes
from adapter.core.attributes.feed import FEED
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Refused
from tests.support.core import Client, client_on
from tests.support.hard_state import check_snapshots

GIVEN = {"topic": "results", "queue": "Q"}
FED = {"topic": "results", "queue": "OTHER"}


def refusal(client: Client, command: c.Command) -> str:
    answer = client.do(command)
    assert isinstance(answer, Refused)
    assert answer.reason == Reason.ATTRIBUTE_ERROR
    return answer.detail


def define(client: Client, kind: str, name: str, given: dict[str, Any]) -> None:
    assert isinstance(client.do(c.DefineObject(kind, name, given)), Done)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"topic": ""}, "topic '' is not a valid name of a Kafka topic"),
        ({"topic": "a b"}, "topic 'a b' is not a valid name of a Kafka topic"),
        ({"topic": "a/b"}, "topic 'a/b' is not a valid name of a Kafka topic"),
        ({"topic": "caf\xe9"}, "is not a valid name of a Kafka topic"),
        ({"topic": "results\n"}, "is not a valid name of a Kafka topic"),
        ({"topic": "."}, "topic '.' is not a valid name of a Kafka topic"),
        ({"topic": ".."}, "topic '..' is not a valid name of a Kafka topic"),
        ({"topic": "x" * 250}, "topic takes at most 249"),
        ({"topic": "mq.QM1.ledger"}, "is one that queue managers write; use another topic"),
        ({"topic": "mq.directory"}, "is one that queue managers write; use another topic"),
        ({"queue": ""}, "queue '' is not a valid name of a queue"),
        ({"queue": "a b"}, "queue 'a b' is not a valid name of a queue"),
        ({"headers": ""}, "has an empty name; use ALL, NONE or a list of names"),
        ({"headers": "a,,b"}, "has an empty name; use ALL, NONE or a list of names"),
        ({"headers": "a, "}, "has an empty name; use ALL, NONE or a list of names"),
        ({"key": "VALUE"}, "key takes one of PROPERTY, CORRELID, GROUPID, MSGID, NONE"),
        ({"refused": "SKIP"}, "refused takes one of DEADLETTER, WAIT"),
        ({"state": "STOPPED"}, "state takes one of RUNNING, PAUSED"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_what_is_no_export_is_refused(given: dict[str, Any], says: str) -> None:
    client = client_on("Q")
    assert says in refusal(client, c.DefineObject(EXPORT, "E", GIVEN | given))
    assert not client.core.qm.exports
    define(client, EXPORT, "E", GIVEN)
    assert says in refusal(client, c.AlterObject(EXPORT, "E", given))
    assert client.core.qm.exports["E"] == client.core.qm.objects[EXPORT, "E"]


@pytest.mark.parametrize("topic", ["x" * 249, "mq", "mqs.x", "A-b_c.1", "..."])
def test_names_of_topics(topic: str) -> None:
    define(client_on("Q"), EXPORT, "E", GIVEN | {"topic": topic})


def test_the_queue_need_not_exist_yet() -> None:
    define(client_on(), EXPORT, "E", GIVEN | {"queue": "LATER"})


def test_an_export_is_altered_and_deleted_durably() -> None:
    client = client_on("Q")
    define(client, EXPORT, "E", GIVEN)
    client.do(c.AlterObject(EXPORT, "E", {"key": "MSGID", "state": "PAUSED"}))
    client.core.crash()
    export = client.core.qm.exports["E"]
    assert (export.topic, export.queue, export.key, export.state) == (
        *("results", "Q", "MSGID", "PAUSED"),
    )
    client.core.snapshot()
    client.core.crash()
    assert client.core.qm.exports["E"] == export
    client = client.core.connect()
    assert isinstance(client.do(c.DeleteObject(EXPORT, "E")), Done)
    assert "E" not in client.core.qm.exports
    client.core.crash()
    assert (EXPORT, "E") not in client.core.qm.objects
    check_snapshots(client.core.qm, client.core.replayed())


def test_exports_are_bounded() -> None:
    client = client_on("Q", limits=Limits(exports=2))
    for name in ("A", "B"):
        define(client, EXPORT, name, GIVEN | {"queue": name})
    assert client.refused(c.DefineObject(EXPORT, "C", GIVEN)) == Reason.LIMIT_REACHED
    client.do(c.DeleteObject(EXPORT, "A"))
    define(client, EXPORT, "C", GIVEN)


# Loops.


def test_an_export_may_not_write_what_a_feed_reads() -> None:
    client = client_on("Q")
    define(client, FEED, "F", FED)
    says = refusal(client, c.DefineObject(EXPORT, "E", GIVEN))
    assert says.startswith("feed F reads topic results: what is written there would come back")
    define(client, EXPORT, "E", GIVEN | {"topic": "other"})
    assert "feed F reads" in refusal(client, c.AlterObject(EXPORT, "E", {"topic": "results"}))
    client.do(c.DeleteObject(FEED, "F"))
    assert isinstance(client.do(c.AlterObject(EXPORT, "E", {"topic": "results"})), Done)


def test_a_feed_may_not_read_what_an_export_writes() -> None:
    client = client_on("Q")
    define(client, EXPORT, "E", GIVEN)
    says = refusal(client, c.DefineObject(FEED, "F", FED))
    assert says.startswith("export E writes topic results: what is read there would be written")
    define(client, FEED, "F", FED | {"topic": "other"})
    assert "export E writes" in refusal(client, c.AlterObject(FEED, "F", {"topic": "results"}))
    client.do(c.AlterObject(EXPORT, "E", {"topic": "third"}))
    assert isinstance(client.do(c.AlterObject(FEED, "F", {"topic": "results"})), Done)


def test_a_feed_that_bounds_its_hops_may_be_part_of_a_loop() -> None:
    client = client_on("Q")
    define(client, EXPORT, "E", GIVEN)
    define(client, FEED, "F", FED | {"hops": 1})
    assert "export E writes" in refusal(client, c.AlterObject(FEED, "F", {"hops": 0}))
    assert isinstance(client.do(c.AlterObject(FEED, "F", {"hops": 255})), Done)
    define(client, EXPORT, "SECOND", GIVEN | {"queue": "OTHER"})
    assert isinstance(client.do(c.AlterObject(EXPORT, "E", {"topic": "results"})), Done)


def test_one_feed_without_a_bound_is_enough_to_refuse() -> None:
    client = client_on("Q")
    define(client, FEED, "F", FED | {"hops": 1})
    define(client, FEED, "G", FED)
    assert refusal(client, c.DefineObject(EXPORT, "E", GIVEN)).startswith("feed G reads")


@pytest.mark.parametrize("hops", [-1, 256, True, "1", 2**63])
def test_hops_that_are_none(hops: object) -> None:
    client = client_on("Q")
    assert "hops takes" in refusal(client, c.DefineObject(FEED, "F", FED | {"hops": hops}))


def test_a_feed_may_not_read_what_queue_managers_write() -> None:
    client = client_on("Q")
    for topic in ("mq.QM1.ledger", "mq.QM1.q.Q", "mq.QM1.export.E", "mq.directory", "mq."):
        given = FED | {"topic": topic, "hops": 3}
        assert "is one that queue managers write" in refusal(
            client, c.DefineObject(FEED, "F", given)
        )


def test_the_defaults() -> None:
    export = ExportAttributes()
    assert (export.key, export.headers, export.refused, export.state) == (
        *("PROPERTY", "ALL", "DEADLETTER", "RUNNING"),
    )


def test_no_export_writes_a_topic_of_the_schema_registry() -> None:
    """Whatever it writes there, all registries on this Kafka would have to believe."""
    client = client_on("Q")
    client.core.give(inputs.Configured({}, registry_topic="avro"))
    for topic in ("_schemas", "avro"):
        expected = f"topic {topic} is the schema registry's; use another topic"
        given = {"topic": topic, "queue": "Q"}
        assert refusal(client, c.DefineObject(EXPORT, "E", given)) == expected
        assert refusal(client, c.Open(2, "", c.OUTPUT, kafka_topic=topic)) == expected
        feed = c.DefineObject(FEED, "F", given)
        assert "the schema registry's; feed from another topic" in refusal(client, feed)
    define(client, EXPORT, "E", {"topic": "results", "queue": "Q"})
    assert "registry" in refusal(client, c.AlterObject(EXPORT, "E", {"topic": "avro"}))
