"""Calls in the midst of others are put off."""

import asyncio
import threading

from adapter.mqi.reentry import Reentry


def test_a_call_inside_a_call_must_not_wait() -> None:
    reentry = Reentry()
    assert not reentry.must_not_wait()
    with reentry.inside():
        assert reentry.must_not_wait()
        with reentry.inside():
            assert reentry.must_not_wait()
        assert reentry.must_not_wait(), "the outer call goes on"
    assert not reentry.must_not_wait()


def test_other_threads_may_wait() -> None:
    reentry = Reentry()
    found: list[bool] = []
    with reentry.inside():
        thread = threading.Thread(target=lambda: found.append(reentry.must_not_wait()))
        thread.start()
        thread.join()
    assert found == [False]


def test_an_event_loop_must_not_wait() -> None:
    reentry = Reentry()

    async def call() -> bool:
        return reentry.must_not_wait()

    assert asyncio.run(call())


def test_what_was_put_off_is_taken_once() -> None:
    reentry = Reentry()
    reentry.put_off(1, 2)
    reentry.put_off(1, None)
    assert list(reentry.take()) == [(1, 2), (1, None)]
    assert list(reentry.take()) == []
