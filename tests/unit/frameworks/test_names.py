"""Names of frameworks' queues are valid names of queues, and different ones stay different."""

import pytest

from adapter.errors import InvalidOption
from adapter.frameworks.names import QUEUE_NAME_MAX, queue_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("celery", "celery"),
        ("shop.orders/new_1", "shop.orders/new_1"),
        ("high-priority", "high%2Dpriority"),
        ("celery@host", "celery%40host"),
        ("100%", "100%25"),
        ("größe", "gr%C3%B6%C3%9Fe"),
    ],
)
def test_what_a_queue_name_must_not_have_is_escaped(name: str, expected: str) -> None:
    assert queue_name(name) == expected


def test_long_names_keep_their_beginning_and_stay_different() -> None:
    first, second = queue_name("a" * 60 + "1"), queue_name("a" * 60 + "2")
    assert first != second
    assert first.startswith("a" * 36 + "%_")
    assert len(first) == len(second) == QUEUE_NAME_MAX


def test_the_longest_name_is_kept() -> None:
    assert queue_name("a" * QUEUE_NAME_MAX) == "a" * QUEUE_NAME_MAX


def test_a_name_that_no_bytes_stand_for_is_refused() -> None:
    with pytest.raises(InvalidOption, match="surrogate"):
        queue_name("a\ud800")
