"""Details: who has to have the right to put what a message causes."""

import pytest

from adapter.core.contract.details import (
    AND_CONTEXT,
    NO_USER,
    THE_QUEUE_MANAGER,
    Details,
    putters_of,
)

USER = "ada"


def test_without_details_it_is_the_user_of_the_context() -> None:
    assert putters_of(USER, None) == (USER,)
    assert putters_of("", None) == ("",)


@pytest.mark.parametrize(
    ("putter", "users"),
    [("", (USER,)), ("bob", ("bob",)), (NO_USER, ("",)), (THE_QUEUE_MANAGER, ())],
)
def test_a_putter_counts_instead_of_the_user_or_with_it(
    putter: str, users: tuple[str, ...]
) -> None:
    assert putters_of(USER, Details(putter=putter)) == users
    if putter:
        assert putters_of(USER, Details(putter=AND_CONTEXT + putter)) == (*users, USER)
        assert putters_of("", Details(putter=AND_CONTEXT + putter)) == (*users, "")
