"""The attributes of an export: the messages of which queue are written to which topic of Kafka."""

from __future__ import annotations

from typing import Annotated, Literal

from adapter.core.attributes.feed import HEADERS_LENGTH_MAX, KAFKA_NAME_LENGTH_MAX
from adapter.core.attributes.table import NAME_LENGTH_MAX, Attribute, Dated, description

EXPORT = "export"


class ExportAttributes(Dated, kw_only=True):
    """An export: the messages of a queue are written to a topic of Kafka, each once."""

    description: Annotated[str, description(900_201)] = ""
    queue: Annotated[
        str,
        Attribute(
            "QUEUE",
            900_202,
            "the local queue whose messages are written, and then gone from it",
            length=NAME_LENGTH_MAX,
        ),
    ] = ""
    topic: Annotated[
        str,
        Attribute(
            "TOPIC", 900_203, "the topic of Kafka that they go to", length=KAFKA_NAME_LENGTH_MAX
        ),
    ] = ""
    key: Annotated[
        Literal["PROPERTY", "CORRELID", "GROUPID", "MSGID", "NONE"],
        Attribute(
            "KEYFROM",
            900_204,
            "what the key of a record is: the property KafkaKey, or the correlation id, group id "
            "or message id without the zeros at its end; or it has no key",
        ),
    ] = "PROPERTY"
    headers: Annotated[
        str,
        Attribute(
            "HEADERS",
            900_205,
            "which properties become headers: ALL, NONE, or names separated by commas, of which "
            "one that ends in * is a prefix",
            length=HEADERS_LENGTH_MAX,
        ),
    ] = "ALL"
    refused: Annotated[
        Literal["DEADLETTER", "WAIT"],
        Attribute(
            "REFUSED",
            900_206,
            "what becomes of a message that the topic never takes as it is: it is put on the "
            "dead-letter queue, or the export waits",
        ),
    ] = "DEADLETTER"
    state: Annotated[
        Literal["RUNNING", "PAUSED"],
        Attribute("STATE", 900_207, "whether messages are written"),
    ] = "RUNNING"
