"""Reading back how far a mover has come: the last committed record of its partition."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from adapter.format import progress as progress_format
from adapter.format.progress import Progress
from adapter.ledger.failures import describe
from adapter.movers.errors import Doubtful
from adapter.movers.settings import MoverSettings, consumer_settings

READ_TIMEOUT_S = 20.0
POLL_S = 0.2
TAIL_RECORDS = 64
"""Where the last committed record is looked for first; behind it there are markers and what was
aborted. Each further look goes back so many times further."""


def read_last(settings: MoverSettings, partition: int) -> Progress | None:
    """Return the progress that was committed last; None if there never was one.

    To be called when no transaction of this mover is open: then all it ever committed is visible.
    """
    place = TopicPartition(settings.progress_topic, partition)
    errors: list[str] = []
    deadline_s = time.monotonic() + READ_TIMEOUT_S
    consumer = Consumer(consumer_settings(settings, lambda error: errors.append(describe(error))))
    try:
        bounds = consumer.get_watermark_offsets(place, READ_TIMEOUT_S)
        if bounds is None:
            raise _unread(place, errors)
        first, end = bounds
        back = TAIL_RECORDS
        while first < end:
            start = max(first, end - back)
            place.offset = start
            consumer.assign([place])
            last = _last_before(consumer, end, deadline_s)
            if last is not None:
                return progress_format.decode(last.value() or b"")
            if start == first:
                break
            back *= TAIL_RECORDS
        return None
    except KafkaException as error:
        raise Doubtful(f"reading {place.topic}[{place.partition}]: {describe(error)}") from error
    except TimeoutError:
        raise _unread(place, errors) from None
    finally:
        consumer.close()


def _last_before(consumer: Consumer, end: int, deadline_s: float) -> Message | None:
    """Read up to an offset, and return the last record on the way."""
    last = None
    while time.monotonic() < deadline_s:
        message = consumer.poll(POLL_S)
        if message is None:
            continue
        error = message.error()
        if error is None:
            last = message
        elif error.code() != KafkaError._PARTITION_EOF:
            raise KafkaException(error)
        elif (message.offset() or 0) >= end:
            return last
    raise TimeoutError


def _unread(place: TopicPartition, errors: list[str]) -> Doubtful:
    why = errors[-1] if errors else "no answer"
    return Doubtful(
        f"{place.topic}[{place.partition}] was not read within {READ_TIMEOUT_S:g} s: {why}"
    )
