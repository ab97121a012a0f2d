"""Setting a message aside: what is raised, what is returned, and when the unit is backed out."""

import pytest

from adapter.client.unit_steps import UnitEnd, UnitSteps, commit_aside
from adapter.errors import BackedOut, ConnectionBroken, Error, InDoubt, QueueFull
from adapter.errors.root import UnitFailure


def nothing() -> UnitSteps[None]:
    """Put nothing: only the commit is a step."""
    yield from ()


def answered(error: Error) -> tuple[list[object], Error | None]:
    """Have the commit fail; return the steps that follow, and what they lead to."""
    steps = commit_aside(nothing())
    assert next(steps) is UnitEnd.COMMIT
    then: list[object] = []
    try:
        then.append(steps.throw(error))
        then.append(next(steps))
    except StopIteration as end:
        return then, end.value
    raise AssertionError(then)


def test_a_commit_that_succeeds_leads_to_none() -> None:
    steps = commit_aside(nothing())
    assert next(steps) is UnitEnd.COMMIT
    with pytest.raises(StopIteration) as end:
        steps.send(None)
    assert end.value.value is None


def test_a_refusal_backs_the_unit_out() -> None:
    refused = QueueFull("it is full", "Q")
    assert answered(refused) == ([UnitEnd.BACKOUT], refused)


def test_a_unit_lost_with_its_connection_is_not_backed_out() -> None:
    lost = BackedOut("it was lost", "1")
    assert answered(lost) == ([], lost)


@pytest.mark.parametrize("kind", [InDoubt, ConnectionBroken])
def test_what_the_unit_became_is_not_known(kind: type[Error]) -> None:
    with pytest.raises(kind):
        answered(kind("no answer", "1"))


def test_a_failure_of_commits_before_this_one_is_raised() -> None:
    before = QueueFull("it is full", "Q")
    before.units_failed = [UnitFailure(b"1", [], before)]
    with pytest.raises(QueueFull):
        answered(before)
