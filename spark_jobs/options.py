"""The options of the data source `mq`, checked; the errors name the option as it is written."""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec import Struct

from spark_jobs.errors import SparkJobError
from spark_jobs.kafka_clients import for_librdkafka

ADDRESS = "127.0.0.1:1414"
MODES = ("browse", "get")
TIMEOUT_S = 7 * 86_400
"""A job that runs once a day, and not on some days, still has what it was given."""
BROKERS = "kafka.bootstrap.servers"
NAMES = (
    "queue", "address", "readMode", "consumer", "consumerTimeoutSeconds", "maxMessagesPerBatch",
    "startingOffsets", "failOnDataLoss",
)  # fmt: skip
LATEST, EARLIEST = -1, -2
"""As offsets, what Spark's own source of Kafka means by them."""
ALIASES = {
    "maxMessagesPerTrigger": "maxMessagesPerBatch",
    "max_messages_per_batch": "maxMessagesPerBatch",
    "starting": "startingOffsets",
}
"""As Spark's own sources, and queue_stream(), call the same."""


class SourceOptions(Struct, frozen=True):
    """What a reader is told.

    queue: its name. address: of its queue manager. read_mode: browse copies, get consumes.
    consumer: the durable name for get, and how long it keeps what it was given while no program
    uses it. max_messages_per_batch: 0 for no limit. starting: "earliest", "latest", or an offset
    for each lane, LATEST and EARLIEST among them. fail_on_data_loss: whether to end when records
    that were to be read are gone. kafka: settings of librdkafka, among them where Kafka is if that
    is not what the queue manager says.
    """

    queue: str
    address: str = ADDRESS
    read_mode: str = "browse"
    consumer: str = ""
    consumer_timeout_s: int = TIMEOUT_S
    max_messages_per_batch: int = 0
    starting: str | dict[int, int] = "earliest"
    fail_on_data_loss: bool = True
    kafka: dict[str, str] = {}

    @classmethod
    def read(cls, given: Mapping[str, str]) -> SourceOptions:
        """Check options as Spark hands them over, with whatever case their names have there."""
        known = {name.lower(): (name, ALIASES.get(name, name)) for name in (*NAMES, *ALIASES)}
        found: dict[str, str] = {}
        words: dict[str, str] = {}
        kafka: dict[str, str] = {}
        for key, value in given.items():
            if key.lower().startswith("kafka."):
                kafka[key.lower().removeprefix("kafka.")] = value
            elif key.lower() in known:
                word, name = known[key.lower()]
                if found.setdefault(name, value) != value:
                    raise _wrong(f"options {words[name]} and {word} are two names of one option")
                words[name] = word
            else:
                raise _wrong(
                    f"unknown option {key}; the options are {', '.join(NAMES)}, and kafka.*"
                )
        if not found.get("queue"):
            raise _wrong('option queue is missing: .option("queue", "ORDERS")')
        mode = found.get("readMode", "browse").lower()
        if mode not in MODES:
            raise _wrong(f"option readMode is {' or '.join(MODES)}, not {mode!r}")
        if mode == "get" and not found.get("consumer"):
            raise _wrong("readMode get needs option consumer: a durable name for this job")
        if mode == "get" and "startingOffsets" in found:
            raise _wrong("readMode get begins where its consumer stands: leave out startingOffsets")
        return cls(
            found["queue"],
            found.get("address", ADDRESS),
            mode,
            found.get("consumer", ""),
            _count(found, "consumerTimeoutSeconds", words) or TIMEOUT_S,
            _count(found, "maxMessagesPerBatch", words),
            _starting(found.get("startingOffsets", "earliest")),
            _flag(found, "failOnDataLoss"),
            _client(kafka),
        )


def _wrong(text: str) -> SparkJobError:
    return SparkJobError(f'mqk: format("mq"): {text}')


def _client(kafka: Mapping[str, str]) -> dict[str, str]:
    try:
        return for_librdkafka(kafka)
    except SparkJobError as problem:
        raise _wrong(problem.text) from None


def _count(found: Mapping[str, str], name: str, words: Mapping[str, str]) -> int:
    """Read a number; 0 if it is not given. words: how options are called that have more names."""
    text = found.get(name)
    if text is None:
        return 0
    if not text.isdecimal() or not int(text):
        raise _wrong(f"option {words[name]} is a number from 1 on, not {text!r}")
    return int(text)


def _flag(found: Mapping[str, str], name: str) -> bool:
    """Read true or false; true if it is not given."""
    text = found.get(name, "true").lower()
    if text not in ("true", "false"):
        raise _wrong(f"option {name} is true or false, not {text!r}")
    return text == "true"


def _starting(text: str) -> str | dict[int, int]:
    if text in ("earliest", "latest"):
        return text
    try:
        found = {int(lane): offset for lane, offset in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError):
        found = {-1: None}
    if all(lane >= 0 and type(at) is int and at >= EARLIEST for lane, at in found.items()):
        return found
    raise _wrong(
        'option startingOffsets is earliest, latest, or an offset for each lane as in {"5": 70}, '
        f"{LATEST} for latest and {EARLIEST} for earliest"
    )
