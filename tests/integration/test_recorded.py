"""What movers have recorded, read while Kafka has not decided their last transaction."""

from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from adapter.storage.format import progress as progress_format
from adapter.storage.format.progress import CopyProgress
from adapter.storage.movers.recorded import RecordedProgress, read_recorded
from adapter.storage.movers.settings import PARTITIONS, STREAM
from adapter.storage.topics.specs import progress_spec
from tests.support.mover_place import WAIT_S, MoverPlace

BEFORE, LAST = 7, 42


@pytest.mark.parametrize(
    "end",
    [
        lambda producer: producer.flush(WAIT_S),
        lambda producer: producer.abort_transaction(WAIT_S),
        lambda producer: producer.commit_transaction(WAIT_S),
    ],
    ids=["open", "aborted", "committed"],
)
def test_the_last_entry_is_known_whatever_became_of_its_copies(
    place: MoverPlace, end: Callable[[Producer], object]
) -> None:
    settings = place.settings
    place.topics.ensure([progress_spec(settings.progress_topic, len(PARTITIONS))])
    prepared = RecordedProgress(settings)
    prepared.prepare()
    producer = Producer(
        {
            "bootstrap.servers": settings.destination.bootstrap_servers,
            "transactional.id": settings.queue_manager,
        }
    )
    producer.init_transactions(WAIT_S)
    for offset, finish in (BEFORE, lambda one: one.commit_transaction(WAIT_S)), (LAST, end):
        producer.begin_transaction()
        value = progress_format.encode(CopyProgress(offset=offset))
        producer.produce(settings.progress_topic, value, STREAM, PARTITIONS[STREAM])
        producer.flush(WAIT_S)
        finish(producer)
    for known in (read_recorded(settings), prepared.read()):
        assert [one.position.offset for one in known] == [LAST]
        assert known[0].how == f"was copied up to offset {LAST} by the {STREAM} mover"
