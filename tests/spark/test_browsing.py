"""What a query in mode browse asks Kafka: a stand-in for Kafka's client gives bad answers."""

import json
from collections.abc import Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from spark_jobs import browsing
from spark_jobs.browsing import BrowsedTopic
from spark_jobs.errors import SparkJobError
from spark_jobs.options import SourceOptions

LANES = [0, 1]


class BadAdmin:
    """Answers each question with the next answer: an offset, or an error of Kafka for lane 1."""

    def __init__(self, answers: Sequence[int]) -> None:
        self._answers = list(answers)

    def list_offsets(
        self, wanted: dict[TopicPartition, Any], **_options: Any
    ) -> dict[TopicPartition, "Future[Any]"]:
        asked: dict[TopicPartition, Future[Any]] = {place: Future() for place in wanted}
        answer = self._answers.pop(0)
        for place, future in asked.items():
            if answer > 0 and place.partition == 1:
                future.set_exception(KafkaException(KafkaError(answer)))
            else:
                future.set_result(SimpleNamespace(offset=min(answer, 7)))
        return asked


class Lanes:
    """Each lane has the records from 3 to before 7."""

    def list_offsets(
        self, wanted: dict[TopicPartition, Any], **_options: Any
    ) -> dict[TopicPartition, "Future[Any]"]:
        asked: dict[TopicPartition, Future[Any]] = {place: Future() for place in wanted}
        for place, future in asked.items():
            earliest = wanted[place] == OffsetSpec.earliest()  # type: ignore[no-untyped-call]
            future.set_result(SimpleNamespace(offset=3 if earliest else 7))
        return asked


def topic_of(*answers: int) -> BrowsedTopic:
    options = SourceOptions.read({"queue": "Q", "address": "127.0.0.1:1"})
    admin = cast("AdminClient", BadAdmin(answers))
    return BrowsedTopic(options, "127.0.0.1:2", admin, "QM", "mq.QM.q.Q", LANES)


@pytest.mark.parametrize(
    "passing", [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE, -1]
)
def test_a_lane_without_a_leader_is_asked_for_again(passing: int) -> None:
    """-1 is what librdkafka has for a connection that was lost."""
    assert topic_of(passing, passing, 0).ends() == {"0": 0, "1": 0}


def starting(lanes: dict[int, int]) -> dict[str, int]:
    options = SourceOptions.read({"queue": "Q", "startingOffsets": json.dumps(lanes)})
    admin = cast("AdminClient", Lanes())
    return BrowsedTopic(options, "127.0.0.1:2", admin, "QM", "mq.QM.q.Q", LANES).beginning(options)


def test_it_begins_where_it_is_told() -> None:
    assert starting({}) == {"0": 3, "1": 3}
    assert starting({0: 5, 1: 7}) == {"0": 5, "1": 7}
    assert starting({0: -1, 1: -2}) == {"0": 7, "1": 3}


@pytest.mark.parametrize(
    ("lanes", "why"),
    [
        ({77: 5}, "names lane 77: mq.QM.q.Q has 2, from 0 on"),
        ({1: 8}, "begins lane 1 at 8: mq.QM.q.Q ends there at 7"),
    ],
)
def test_a_place_that_is_not_there_is_refused(lanes: dict[int, int], why: str) -> None:
    with pytest.raises(SparkJobError, match=why):
        starting(lanes)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "Kafka denies Read on topic mq.QM.q.Q"),
        (-1, "no answer"),
    ],
)
def test_what_does_not_pass_is_an_error(
    answer: int, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browsing, "ANSWER_S", 0.0)
    with pytest.raises(SparkJobError, match=f"how far mq.QM.q.Q goes: .*{why}"):
        topic_of(answer, answer).ends()
