"""Which topic holds a queue's messages: asked of Kafka through the JVM that reads it afterwards.

A queue that was deleted and defined again has a topic for each time; the last one is the queue's.
This module knows names; it must not know what is in the records.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from adapter.storage.format import names
from spark_jobs.errors import SparkJobError
from spark_jobs.kafka_clients import for_java

ANSWER_MS = 20_000
"""For Kafka's answer: a wrong address must not look like a slow one for minutes."""
NEW_QUEUE_S = 3.0
"""The topic is made behind the definition of the queue, by the mover."""
NEW_QUEUE_POLL_S = 0.2
LISTED_MAX = 8
CAUSES_MAX = 5


def topic_of(
    spark: SparkSession,
    queue: str,
    bootstrap_servers: str,
    queue_manager: str,
    kafka_options: Mapping[str, str],
) -> str:
    """Name the topic of a queue as it is now; SparkJobError if it has none.

    That of a queue that has just been defined is waited for.
    """
    deadline_s = time.monotonic() + NEW_QUEUE_S
    while True:
        topics = list_topics(spark, bootstrap_servers, kafka_options)
        try:
            return choose(topics, queue, queue_manager)
        except SparkJobError:
            if time.monotonic() > deadline_s:
                raise
        time.sleep(NEW_QUEUE_POLL_S)


def choose(topics: Iterable[str], queue: str, queue_manager: str) -> str:
    """Pick the topic of a queue from all that there are."""
    known: dict[str, list[tuple[int, str]]] = {}
    for topic in topics:
        try:
            manager, name, incarnation = names.parse_queue_topic(topic)
        except names.NotAQueueTopic:
            continue
        if manager == queue_manager:
            known.setdefault(name, []).append((incarnation, topic))
    if queue in known:
        return max(known[queue])[1]
    raise SparkJobError(_missing(sorted(known), queue, queue_manager), queue)


def _missing(known: list[str], queue: str, queue_manager: str) -> str:
    if not known:
        return (
            f"Kafka has no topic of any queue of queue manager {queue_manager}: is that its name, "
            "and is this its Kafka?"
        )
    some = ", ".join(known[:LISTED_MAX]) + (", ..." if len(known) > LISTED_MAX else "")
    return (
        f"queue {queue} of queue manager {queue_manager} has no topic: define the queue, or take "
        f"one of those that are there: {some}"
    )


def check_topic(
    spark: SparkSession,
    queue: str,
    topic: str,
    bootstrap_servers: str,
    queue_manager: str,
    kafka_options: Mapping[str, str],
) -> None:
    """Raise SparkJobError if the queue has another topic now: it was deleted and defined again.

    Spark's Kafka source would wait for records of the earlier topic, and no more come. Whether
    Kafka answers is not this function's question: the query itself ends if it does not.
    """
    try:
        now = choose(list_topics(spark, bootstrap_servers, kafka_options), queue, queue_manager)
    except SparkJobError:
        return
    if now != topic:
        raise SparkJobError(deletion(queue, topic, now), queue)


def deletion(queue: str, before: str, now: str) -> str:
    """Say why a query ends whose queue is no longer the one that it began with."""
    return (
        f"queue {queue} has been deleted since this query began, and perhaps defined again: "
        f"the query read topic {before}, and the queue's topic is {now}. Begin with a new "
        "checkpoint"
    )


def list_topics(
    spark: SparkSession, bootstrap_servers: str, kafka_options: Mapping[str, str]
) -> list[str]:
    """Ask Kafka for the names of its topics, with Spark's own client; SparkJobError."""
    jvm = spark._jvm
    assert jvm is not None, "a session of this program has a JVM"
    settings = jvm.java.util.Properties()
    for key, value in {
        "bootstrap.servers": bootstrap_servers,
        "default.api.timeout.ms": str(ANSWER_MS),
        "request.timeout.ms": str(ANSWER_MS),
        **for_java(kafka_options),
    }.items():
        settings.put(key, value)
    try:
        admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(settings)
        try:
            return [str(name) for name in admin.listTopics().names().get()]
        finally:
            admin.close()
    except Py4JJavaError as problem:
        words = ": ".join(_causes(problem.java_exception))
        raise SparkJobError(
            f"Kafka at {bootstrap_servers} does not say which topics it has ({words}): is the "
            "address right, does it run, and are the settings of the client right?"
        ) from None


def _causes(thrown: Any) -> list[str]:
    """What a JVM's exception says, and what caused it; of each sentence once."""
    found: list[str] = []
    while thrown is not None and len(found) < CAUSES_MAX:
        words = str(thrown.toString()).rpartition("Exception: ")[2]
        if not any(words in said for said in found):
            found.append(words)
        thrown = thrown.getCause()
    return found
