"""The attributes of a feed: which topic of Kafka is put on which queue, and how."""

from __future__ import annotations

from typing import Annotated, Literal

from adapter.core.attributes.table import (
    NAME_LENGTH_MAX,
    TOPIC_STRING_LENGTH_MAX,
    Attribute,
    Dated,
    description,
)

FEED = "feed"
KAFKA_NAME_LENGTH_MAX = 249
"""Kafka's own limit for names of topics."""
HEADERS_LENGTH_MAX = 4_096
HEADER_LENGTH_MAX = 255
"""Of the name of one header."""
RULES_LENGTH_MAX = 4_096
TENTHS_MAX = 999_999_999
"""Of a second: the longest expiry and the longest delay that a message may have, three years."""
HOPS_MAX = 255


class FeedAttributes(Dated, kw_only=True):
    """A feed: the records of a topic of Kafka are put on a queue, or published, each once."""

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
            "where its records are put: a local queue, an alias or a remote queue; empty: TOPICSTR",
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
    priority_header: Annotated[
        str,
        Attribute(
            "PRTYHDR",
            900_112,
            "the header whose text, a digit, is the priority; where it is missing or no digit, "
            "PRIORITY counts",
            length=HEADER_LENGTH_MAX,
        ),
    ] = ""
    priority_rules: Annotated[
        str,
        Attribute(
            "PRTYSEL",
            900_113,
            "conditions that decide the priority before all else, as 9: tier = 'gold'; "
            "1: channel = 'batch', of which the first that is true counts",
            length=RULES_LENGTH_MAX,
        ),
    ] = ""
    expiry: Annotated[
        int,
        Attribute(
            "EXPIRY",
            900_114,
            "how long the messages live, tenths of a second from the put; -1, 0: for ever",
            low=-1,
            high=TENTHS_MAX,
        ),
    ] = -1
    expiry_header: Annotated[
        str,
        Attribute(
            "EXPRYHDR",
            900_115,
            "the header whose text is the expiry, in the same unit; where it is missing or no such "
            "number, EXPIRY counts",
            length=HEADER_LENGTH_MAX,
        ),
    ] = ""
    delay: Annotated[
        int,
        Attribute(
            "DELAY",
            900_116,
            "when the messages are delivered, tenths of a second after the put; 0: at once",
            low=0,
            high=TENTHS_MAX,
        ),
    ] = 0
    delay_header: Annotated[
        str,
        Attribute(
            "DELAYHDR",
            900_117,
            "the header whose text is the delay, in the same unit; where it is missing or no such "
            "number, DELAY counts",
            length=HEADER_LENGTH_MAX,
        ),
    ] = ""
    descriptor: Annotated[
        Literal["NONE", "CONNECT"],
        Attribute(
            "DESCRIPTOR",
            900_118,
            "which headers say fields of the descriptor: none, or those that the source connector "
            "of IBM MQ for Kafka Connect writes",
        ),
    ] = "NONE"
    fields: Annotated[
        str,
        Attribute(
            "FIELDS",
            900_119,
            "which fields of the decoded value become properties: NONE, ALL, or paths separated by "
            "commas, as number, customer.tier",
            length=HEADERS_LENGTH_MAX,
        ),
    ] = "NONE"
    value: Annotated[
        Literal["ASIS", "AVRO", "AVROJSON"],
        Attribute(
            "VALUE",
            900_120,
            "what the value is and becomes: bytes, which are the body; Avro in the frame with a "
            "schema's number, which is decoded, and is the body too; or the body is its JSON",
        ),
    ] = "ASIS"
    topic_string: Annotated[
        str,
        Attribute(
            "TOPICSTR",
            900_135,
            "where its records are published, in place of a queue",
            length=TOPIC_STRING_LENGTH_MAX,
        ),
    ] = ""
    hops: Annotated[
        int,
        Attribute(
            "HOPS",
            900_136,
            "how many exports a record may have gone through: with more it is put on the "
            "dead-letter queue; 0: any number, and no export of this queue manager may write the "
            "topic",
            low=0,
            high=HOPS_MAX,
        ),
    ] = 0

    @property
    def target(self) -> str:
        """The queue or the topic string."""
        return self.queue or self.topic_string
