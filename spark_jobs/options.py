"""The options of the data source `mq`, checked; the errors name the option as it is written."""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec import Struct

from spark_jobs.errors import SparkJobError

ADDRESS = "127.0.0.1:1414"
MODES = ("browse", "get")
TIMEOUT_S = 3_600
"""A job that is started once an hour still has what it was given."""
BROKERS = "kafka.bootstrap.servers"
NAMES = (
    "queue", "address", "readMode", "consumer", "consumerTimeoutSeconds", "maxMessagesPerTrigger",
    "startingOffsets",
)  # fmt: skip


class Options(Struct, frozen=True):
    """What a reader is told.

    queue: its name. address: of its queue manager. read_mode: browse copies, get consumes.
    consumer: the durable name for get, and how long it keeps what it was given while nobody uses
    it. max_messages_per_trigger: 0 for no limit. starting: "earliest", "latest", or an offset for
    each lane. kafka: settings of librdkafka, among them where Kafka is if that is not what the
    queue manager says.
    """

    queue: str
    address: str = ADDRESS
    read_mode: str = "browse"
    consumer: str = ""
    consumer_timeout_s: int = TIMEOUT_S
    max_messages_per_trigger: int = 0
    starting: str | dict[int, int] = "earliest"
    kafka: dict[str, str] = {}

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Options:
        """Check options as Spark hands them over, with whatever case their names have there."""
        known = {name.lower(): name for name in NAMES}
        found: dict[str, str] = {}
        kafka: dict[str, str] = {}
        for key, value in given.items():
            if key.lower().startswith("kafka."):
                kafka[key.lower().removeprefix("kafka.")] = value
            elif key.lower() in known:
                found[known[key.lower()]] = value
            else:
                raise _wrong(f"there is no option {key}; there are {', '.join(NAMES)}, and kafka.*")
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
            _count(found, "consumerTimeoutSeconds") or TIMEOUT_S,
            _count(found, "maxMessagesPerTrigger"),
            _starting(found.get("startingOffsets", "earliest")),
            kafka,
        )


def _wrong(text: str) -> SparkJobError:
    return SparkJobError(f'mqk: format("mq"): {text}')


def _count(found: Mapping[str, str], name: str) -> int:
    """Read a number; 0 if it is not given."""
    text = found.get(name)
    if text is None:
        return 0
    if not text.isdecimal() or not int(text):
        raise _wrong(f"option {name} is a number from 1 on, not {text!r}")
    return int(text)


def _starting(text: str) -> str | dict[int, int]:
    if text in ("earliest", "latest"):
        return text
    try:
        return {int(lane): int(offset) for lane, offset in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError):
        raise _wrong(
            'option startingOffsets is earliest, latest, or an offset for each lane as in {"5": 70}'
        ) from None
