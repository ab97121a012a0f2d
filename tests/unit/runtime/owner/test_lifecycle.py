"""The owner's states: what is not in the table cannot happen."""

import itertools

import pytest

from adapter.runtime.owner import lifecycle
from adapter.runtime.owner.lifecycle import NEXT, IllegalTransition, Lifecycle, OwnerState
from tests.support.each import each


def test_every_state_is_in_the_table_and_in_the_text() -> None:
    assert set(NEXT) == set(OwnerState)
    assert lifecycle.__doc__ is not None
    for state in OwnerState:
        assert f"\n{state.name} " in lifecycle.__doc__


@each(itertools.product(OwnerState, OwnerState))
def test_only_what_is_in_the_table(before: OwnerState, after: OwnerState) -> None:
    life = Lifecycle()
    life.state = before
    if after in NEXT[before]:
        life.to(after)
        assert life.state is after
    else:
        with pytest.raises(IllegalTransition, match=before.value):
            life.to(after)
        assert life.state is before


def test_every_state_can_be_reached_and_every_life_can_end() -> None:
    reached = {OwnerState.TAKING_OVER}
    while more := {after for state in reached for after in NEXT[state]} - reached:
        reached |= more
    assert reached == set(OwnerState)
    for state in OwnerState:
        assert state is OwnerState.STOPPED or OwnerState.STOPPING in NEXT[state] | {state}
