"""Putting by the authorities of another user."""

from functools import partial
from pathlib import Path

import pytest

import adapter
import adapter.testing
from adapter.client.acting import ResolvedQueue, comes_back, local_source, put_for, resolve_queue
from adapter.client.connection import Connection, connect_in_process
from adapter.core.contract.parties import Principal, Proof
from adapter.errors import NotAuthorized, OptionNotValidForType, QueueNotFound
from tests.drivers import Threads
from tests.support.few_rights import as_ann
from tests.support.ways_back import TOPIC_COPY, WAYS, define_ways, way


def connect_own(manager: adapter.testing.TestQueueManager) -> Connection:
    """Connect as a part of the queue manager."""
    accept = partial(manager._running().accept, Principal(manager.name, Proof.OWN))
    return connect_in_process(manager._loop, accept)


def test_all_messages_are_put_where_the_user_may_put_and_none_elsewhere() -> None:
    made = adapter.testing.queue_manager("QM1", authorities=True)
    with made as manager, connect_own(manager) as own:
        own.define_queue("Q")
        two = [adapter.Message(b"a"), adapter.Message(b"b")]
        with pytest.raises(NotAuthorized):
            put_for(own, "ada", "Q", two)
        own.set_authority("Q", users=["ada"], add=["put"])
        put_for(own, "ada", "Q", two)
        found = [own.get("Q"), own.get("Q"), own.get("Q")]
        assert [one and one.body for one in found] == [b"a", b"b", None]
        assert not own.queue_status("Q")[0].open_output_count


def test_a_model_queue_makes_none() -> None:
    made = adapter.testing.queue_manager("QM1")
    with made as manager, manager.connect() as qm, pytest.raises(adapter.Error):
        put_for(qm, "ada", "SYSTEM.DEFAULT.MODEL.QUEUE", [adapter.Message(b"a")])


@pytest.mark.parametrize("label", WAYS)
def test_a_message_comes_back_by_every_name_that_leads_to_its_queue(label: str) -> None:
    with adapter.testing.queue_manager("QM1") as manager, manager.connect() as qm:
        qm.define_queue("Q")
        define_ways(qm, "Q")
        qm.put("Q", "a")
        message = qm.get("Q")
        assert message is not None
        name, queue_manager, is_reached = way(label, "Q", "QM1")
        assert comes_back(qm, "Q", name, message, queue_manager) == is_reached
        assert qm.queue("Q").status().uncommitted == 0
        qm.put(name, message, queue_manager=queue_manager or None)
        assert qm.queue("Q").depth() == is_reached  # as asked, so done


def test_a_put_of_another_program_is_not_taken_for_a_copy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with adapter.testing.queue_manager("QM1") as manager, manager.connect() as qm:
        qm.define_queue("Q")
        define_ways(qm, "WAYS.OTHER")
        other = manager.connect()
        unit = other.unit()
        put = adapter.Connection.put

        def put_beside(self: adapter.Connection, *args: object, **fields: object) -> object:
            if not unit.is_open:
                unit.begin()
                put(other, "Q", "b", unit=unit)
            return put(self, *args, **fields)  # type: ignore[arg-type]

        monkeypatch.setattr(adapter.Connection, "put", put_beside)
        assert not comes_back(qm, "Q", TOPIC_COPY, adapter.Message(b"a"))
        unit.backout()
        other.close()


def test_where_a_name_leads_to() -> None:
    with adapter.testing.queue_manager("QM1") as manager, manager.connect() as qm:
        qm.define_queue("Q")
        define_ways(qm, "Q")
        assert resolve_queue(qm, "Q") == ResolvedQueue("Q")
        assert resolve_queue(qm, "WAYS.REMOTE") == ResolvedQueue("Q", "WAYS.FAR")
        assert resolve_queue(qm, "WAYS.FAR").is_transmission
        assert resolve_queue(qm, TOPIC_COPY).is_topic
        with pytest.raises(QueueNotFound):
            resolve_queue(qm, "NONE")
        with pytest.raises(OptionNotValidForType):
            resolve_queue(qm, "SYSTEM.DEFAULT.MODEL.QUEUE")


@pytest.mark.parametrize(
    ("granted", "source"), [(["get"], "Q"), (["put"], "Q"), (["dsp"], "WAYS.ALIAS")]
)
def test_which_queue_a_name_means_is_asked_by_the_rights_that_are_there(
    tmp_path: Path, granted: list[str], source: str
) -> None:
    with as_ann(Threads(), tmp_path) as (operator, ann):
        define_ways(operator, "Q")
        operator.set_authority("WAYS.ALIAS", users=["ann"], add=granted)
        assert local_source(ann, "WAYS.ALIAS") == source
