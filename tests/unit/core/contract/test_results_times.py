"""Answers with messages that have an end say what time it is at the queue manager."""

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.core.contract.results import Messages, at_time
from tests.support.core import client_on


@pytest.mark.parametrize("expiry_ms", [-1, 60_000])
def test_what_has_an_end_comes_with_the_time(expiry_ms: int) -> None:
    """So a client whose clock is another knows the rest of life."""
    client = client_on()
    put = c.Put(1, [MessageData(b"a", expiry_ms=expiry_ms)])
    client.do(put)
    client.core.advance(1)
    answer = client.do(c.Browse(1))
    assert isinstance(answer, Messages)
    ends_ms = answer.messages[0].message.expires_at_ms
    assert bool(answer.now_ms) == (expiry_ms > 0)
    if answer.now_ms:
        assert 0 < ends_ms - answer.now_ms < expiry_ms


def test_an_answer_that_is_kept_stays_as_it_is() -> None:
    client = client_on()
    client.put("a", expiry_ms=60_000)
    kept = client.do(c.Browse(1))
    assert isinstance(kept, Messages)
    before = kept.now_ms
    assert at_time(kept, before + 17).now_ms == before + 17
    assert kept.now_ms == before
