"""A spare unit serves many gets that find nothing, and is replaced when it has been lost."""

from collections.abc import Iterator

import pytest

import adapter
from adapter import testing
from adapter.errors import BackedOut, GetInhibited
from adapter.frameworks.units import SpareUnit, give_back


@pytest.fixture
def qm() -> Iterator[adapter.Connection]:
    with testing.queue_manager() as manager, manager.connect() as connection:
        connection.define_queue("Q")
        yield connection


def test_a_get_that_finds_nothing_leaves_the_unit_to_the_next(qm: adapter.Connection) -> None:
    spare = SpareUnit(qm)
    with spare.lent() as first:
        assert qm.get("Q", unit=first) is None
    with spare.lent() as second:
        assert second is first
    spare.close()
    assert not first.is_open


def test_a_unit_that_was_taken_is_not_lent_again(qm: adapter.Connection) -> None:
    spare = SpareUnit(qm)
    with spare.lent() as first:
        taken = spare.take()
    with spare.lent() as second:
        assert taken is first is not second
    spare.close()
    assert taken.is_open
    give_back(taken, counted=True)
    assert not taken.is_open


def test_a_unit_that_met_an_error_is_not_lent_again(qm: adapter.Connection) -> None:
    spare = SpareUnit(qm)
    with pytest.raises(BackedOut), spare.lent() as first:
        raise BackedOut("the connection was lost")
    with spare.lent() as second:
        assert second is not first


class Interrupted(BaseException):
    """What a signal handler raises."""


@pytest.mark.parametrize("error", [GetInhibited, ValueError, Interrupted, KeyboardInterrupt])
def test_a_unit_that_met_any_exception_is_not_lent_again(
    qm: adapter.Connection, error: type[BaseException]
) -> None:
    """And one that is open still, as after a refusal, is ended: none are left behind."""
    spare = SpareUnit(qm)
    units: list[adapter.Unit] = []

    def meet() -> None:
        with spare.lent() as unit:
            units.append(unit)
            qm.get("Q", unit=unit)
            raise error("it was met")

    with pytest.raises(error):
        meet()
    assert not units[0].is_open
    with spare.lent() as second:
        assert second is not units[0]
    assert len(qm.open_units()) == 0


@pytest.mark.parametrize("counted", [False, True])
def test_giving_back_returns_the_message_to_its_place(
    qm: adapter.Connection, counted: bool
) -> None:
    for body in ("one", "two"):
        qm.put("Q", body)
    unit = qm.unit()
    unit.begin()
    qm.get("Q", unit=unit)
    give_back(unit, counted=counted)
    give_back(unit, counted=counted)
    give_back(None, counted=counted)
    found = [qm.get("Q"), qm.get("Q")]
    assert [(one.text, one.backout_count) for one in found if one is not None] == [
        ("one", int(counted)),
        ("two", 0),
    ]
