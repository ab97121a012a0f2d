"""The attributes of a feed: which topic of Kafka is put on which queue, and how."""

from __future__ import annotations

from typing import Annotated, Literal

from adapter.core.attributes.table import NAME_LENGTH_MAX, Attribute, Dated, description

FEED = "feed"
KAFKA_NAME_LENGTH_MAX = 249
"""Kafka's own limit for names of topics."""
HEADERS_LENGTH_MAX = 4_096
HOPS_MAX = 255


class FeedAttributes(Dated, kw_only=True):
    """A feed: the records of a topic of Kafka are put on a queue, each once."""

    description: Annotated[str, description(900_101)] = ""
    topic: Annotated[
        str,
        Attribute("TOPIC", 900_102, "the topic of Kafka", length=KAFKA_NAME_LENGTH_MAX),
    ] = ""
    queue: Annotated[
        str,
        Attribute(
            "QUEUE",
            900_103,
            "where its records are put: a local queue, an alias or a remote queue",
            length=NAME_LENGTH_MAX,
        ),
    ] = ""
    begin: Annotated[
        str,
        Attribute(
            "BEGIN",
            900_104,
            "which records are put, as of the definition: EARLIEST, all that are there; LATEST, "
            "those that come; or those from a time on, as 2026-03-01T08:30:00Z",
            length=32,
        ),
    ] = "EARLIEST"
    key: Annotated[
        Literal["PROPERTY", "CORRELID", "GROUPID", "NONE"],
        Attribute(
            "KEYTO",
            900_105,
            "what the key of a record becomes: the property KafkaKey, the correlation id, the "
            "group id, or nothing",
        ),
    ] = "PROPERTY"
    headers: Annotated[
        str,
        Attribute(
            "HEADERS",
            900_106,
            "which headers become properties: ALL, NONE, or names separated by commas, of which "
            "one that ends in * is a prefix",
            length=HEADERS_LENGTH_MAX,
        ),
    ] = "ALL"
    priority: Annotated[
        int,
        Attribute(
            "PRIORITY",
            900_107,
            "priority of the messages; -1: the default of the queue",
            low=-1,
            high=9,
        ),
    ] = -1
    tombstones: Annotated[
        Literal["SKIP", "EMPTY", "DEADLETTER"],
        Attribute(
            "NULLVAL",
            900_108,
            "what becomes of a record without a value: it is left out, put as an empty message, "
            "or put on the dead-letter queue",
        ),
    ] = "SKIP"
    refused: Annotated[
        Literal["DEADLETTER", "WAIT"],
        Attribute(
            "REFUSED",
            900_109,
            "what becomes of a record that cannot be put as it is, or whose queue does not exist: "
            "it is put on the dead-letter queue, or its partition waits",
        ),
    ] = "DEADLETTER"
    state: Annotated[
        Literal["RUNNING", "PAUSED"],
        Attribute("STATE", 900_110, "whether records are put"),
    ] = "RUNNING"
    origin: Annotated[
        bool,
        Attribute(
            "ORIGIN",
            900_111,
            "messages have the properties KafkaTopic, KafkaPartition, KafkaOffset and "
            "KafkaTimestamp",
            words=("NO", "YES"),
        ),
    ] = True
    hops: Annotated[
        int,
        Attribute(
            "HOPS",
            900_120,
            "how many exports a record may have gone through: with more it is put on the "
            "dead-letter queue; 0: any number, and no export of this queue manager may write the "
            "topic",
            low=0,
            high=HOPS_MAX,
        ),
    ] = 0
