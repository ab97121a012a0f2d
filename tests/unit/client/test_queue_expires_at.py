"""A message that is put on expires when it would have, by the queue manager's clock."""

from datetime import UTC, datetime, timedelta

import pytest

import adapter
from adapter import testing
from adapter.errors import InvalidOption


def test_a_message_that_is_put_on_keeps_its_end() -> None:
    with testing.queue_manager("QM1", clock="manual") as manager, manager.connect() as qm:
        qm.define_queue("A")
        qm.define_queue("B")
        first = qm.put("A", "x", expiry_s=10)
        manager.clock.advance(4)
        got = qm.get("A")
        assert got is not None
        qm.put("B", got, expires_at=got.expires_at)
        (moved,) = qm.queue("B").browse()
        assert moved.expires_at == first.put_time + timedelta(seconds=10)
        assert moved.expiry_s == 6
        with qm.subscribe("news") as subscription:
            qm.publish("news", got, expires_at=got.expires_at)
            published = subscription.get()
        assert published is not None
        assert published.expires_at == got.expires_at
        manager.clock.advance(6)
        assert qm.get("B") is None


def test_without_an_end_it_is_as_expiry_s_says(qm: adapter.Connection) -> None:
    qm.put("Q", adapter.Message("x", expiry_s=10), expires_at=None)
    qm.put("Q", "y", expires_at=None)
    first, second = qm.queue("Q").browse()
    assert (first.expiry_s, second.expiry_s) == (10, None)


def test_an_end_that_is_over_is_no_life(qm: adapter.Connection) -> None:
    qm.put("Q", "x", expires_at=datetime(2020, 1, 1, tzinfo=UTC))
    qm.put("Q", "y")
    assert [one.expiry_s for one in qm.queue("Q").browse()] in ([0.001, None], [None])


def test_an_end_before_1970_is_over_and_one_beyond_all_expiries_is_none(
    qm: adapter.Connection,
) -> None:
    qm.put("Q", "late", expires_at=datetime(2999, 1, 1, tzinfo=UTC))
    late = qm.get("Q")
    assert late is not None
    assert late.expires_at is None
    qm.put("Q", "over", expires_at=datetime(1960, 1, 1, tzinfo=UTC))
    assert all(one.expires_at for one in qm.queue("Q").browse())


def test_one_of_both_is_given(qm: adapter.Connection) -> None:
    with pytest.raises(InvalidOption, match="expiry_s or expires_at"):
        qm.put("Q", "x", expiry_s=1, expires_at=datetime(2099, 1, 1, tzinfo=UTC))
    with pytest.raises(InvalidOption, match="expires_at has a time zone"):
        qm.put("Q", "x", expires_at=datetime(2099, 1, 1))  # noqa: DTZ001
