"""Events: read as they were written."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.core.contract.records import EventRaised
from adapter.storage.format import events
from adapter.storage.format.schemas import UnreadableError
from tests.support.examples import examples
from tests.support.made_up import QUEUES, TIME_MAX_MS, texts

EVENTS = st.builds(
    EventRaised,
    kind=texts(30),
    name=QUEUES,
    time_ms=st.integers(0, TIME_MAX_MS),
    details=st.dictionaries(texts(20), texts(50), max_size=3),
)


@settings(max_examples=examples(50))
@given(QUEUES, EVENTS)
def test_what_is_written_is_read(queue_manager: str, event: EventRaised) -> None:
    assert events.decode(events.encode(queue_manager, event)) == (queue_manager, event)


def test_damaged_bytes_are_told() -> None:
    whole = events.encode("QM1", EventRaised("queue_full", "Q", 1, {"max_depth": "5"}))
    with pytest.raises(UnreadableError, match=r"event: [0-9]+ damaged"):
        events.decode(whole[:-3])
