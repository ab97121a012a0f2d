"""The modes of a mover: what follows what, and what is reported in each."""

import pytest

from adapter.storage.movers.lifecycle import NEXT, MoverLifecycle, MoverMode


def test_a_mover_is_ready_while_it_copies() -> None:
    one = MoverLifecycle()
    assert (one.mode, one.is_ready) == (MoverMode.STARTING, False)
    one.copies()
    assert (one.mode, one.is_ready) == (MoverMode.COPYING, True)
    one.ended()
    assert (one.mode, one.is_ready) == (MoverMode.ENDED, False)


def test_what_failed_is_reported_until_something_was_read() -> None:
    one = MoverLifecycle()
    one.holds("no broker answers")
    assert (one.mode, one.holding, one.is_ready) == (MoverMode.HOLDING, "no broker answers", False)
    one.copies()
    assert (one.mode, one.holding, one.is_ready) == (MoverMode.RESUMED, "no broker answers", True)
    one.holds("a broker is full")
    one.holds("a broker is full")
    one.copies()
    one.goes_on()
    assert (one.mode, one.holding) == (MoverMode.COPYING, "")
    one.goes_on()
    assert one.mode is MoverMode.COPYING


def test_a_topic_that_refuses_holds_nothing() -> None:
    one = MoverLifecycle()
    one.copies()
    one.begins_again()
    assert (one.mode, one.holding) == (MoverMode.STARTING, "")
    one.begins_again()
    one.copies()
    assert one.mode is MoverMode.COPYING


def test_a_topic_that_refuses_hides_no_other_failure() -> None:
    one = MoverLifecycle()
    one.holds("no broker answers")
    one.begins_again()
    one.copies()
    one.begins_again()
    assert (one.mode, one.holding) == (MoverMode.HOLDING, "no broker answers")


def test_from_every_mode_it_can_end_and_from_its_end_nothing_follows() -> None:
    for mode, following in NEXT.items():
        assert (MoverMode.ENDED in following) is (mode is not MoverMode.ENDED)
    one = MoverLifecycle()
    one.ended()
    one.ended()
    with pytest.raises(AssertionError, match="ended does not become holding"):
        one.holds("too late")
