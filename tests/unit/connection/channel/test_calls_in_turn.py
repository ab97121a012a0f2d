"""Calls in a thread of their own: in order, until it is ended."""

import threading

import pytest

from adapter.connection.channel.calls_in_turn import CallsInTurn


def test_calls_are_made_in_order_in_one_thread_that_ends() -> None:
    calls, called = CallsInTurn("turns"), threading.Event()
    made: list[tuple[int, str, bool]] = []
    for number in range(3):
        calls.add(
            lambda number=number: made.append(  # type: ignore[misc]
                (number, threading.current_thread().name, calls.is_this_thread)
            )
        )
    calls.add(called.set)
    calls.begin()
    calls.begin()
    assert called.wait(10)
    assert made == [(number, "turns", True) for number in range(3)]
    assert not calls.is_this_thread
    calls.end()
    assert calls._thread is not None
    calls._thread.join(10)
    assert not calls._thread.is_alive()


def test_nothing_is_called_behind_the_end() -> None:
    calls, made = CallsInTurn("turns"), []
    calls.end()
    calls.add(lambda: made.append(1))
    calls.begin()
    assert calls._thread is not None
    calls._thread.join(10)
    assert not calls._thread.is_alive()
    assert made == []


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt])
def test_finding_client_29_what_a_call_raises_is_logged_and_the_next_is_made(
    error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    calls, called = CallsInTurn("turns"), threading.Event()

    def fail() -> None:
        raise error

    calls.add(fail)
    calls.add(called.set)
    calls.begin()
    assert called.wait(10)
    calls.end()
    assert "a call in thread turns failed" in caplog.text
