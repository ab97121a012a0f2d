"""Whose a topic is: of a queue that there is, or of one that was deleted."""

import pytest

from adapter.cli.queue_topics import QueueTopic, _show, examine
from tests.unit.cli.conftest import Mqk


def test_topics_of_queues_that_are_gone_are_orphaned() -> None:
    there = ["mq.QM.q.A", "mq.QM.q.A-1", "mq.QM.q.B", "mq.QM.q.C-2", "mq.QM.q.-Z"]
    found = examine(there, {"A": 1, "C": 2}, {"mq.QM.q.B": "no room"})
    assert found == [
        QueueTopic("mq.QM.q.A", "A", 0, orphaned=True, parked=False),
        QueueTopic("mq.QM.q.A-1", "A", 1, orphaned=False, parked=False),
        QueueTopic("mq.QM.q.B", "B", 0, orphaned=True, parked=True),
        QueueTopic("mq.QM.q.C-2", "C", 2, orphaned=False, parked=False),
    ]


def test_a_queue_manager_in_memory_has_none(at: Mqk) -> None:
    said = at("queue", "topics")
    assert (said.status, said.err) == (
        1,
        "mqk: queue manager QM1 runs in memory: it has no topics\n",
    )


def test_deleting_goes_with_naming_which(at: Mqk) -> None:
    said = at("queue", "topics", "--delete")
    assert said.status == 2
    assert "--delete goes with --orphaned" in said.err


def test_finding_users_6_a_parked_topic_is_deleted_too_and_named_with_the_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = [
        QueueTopic("mq.QM.q.A", "A", 0, orphaned=True, parked=False),
        QueueTopic("mq.QM.q.B", "B", 0, orphaned=True, parked=True),
    ]
    _show(found, {"mq.QM.q.B": "no right to write"}, deleted=True, as_json=False)
    first, second = capsys.readouterr().out.splitlines()
    assert first == "2 topics of deleted queues deleted"
    assert second.startswith("mq.QM.q.B was parked (no right to write): ")
