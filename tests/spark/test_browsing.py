"""What a query in mode browse asks Kafka: a stand-in for Kafka's client gives bad answers."""

from collections.abc import Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

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
