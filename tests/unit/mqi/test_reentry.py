"""Calls in the midst of others are put off."""

import asyncio
import threading

from adapter.connection.channel.link.in_process import ServingThread
from adapter.mqi.reentry import PutOff, Reentry


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


def test_a_function_of_the_program_is_outside() -> None:
    reentry = Reentry()
    with reentry.inside():
        with reentry.outside():
            assert not reentry.must_not_wait()
            assert reentry.is_in_function
        assert reentry.must_not_wait()
        assert not reentry.is_in_function


def test_an_event_loop_of_the_program_may_wait() -> None:
    reentry = Reentry()

    async def call() -> bool:
        return reentry.must_not_wait()

    assert not asyncio.run(call())


def test_a_thread_that_serves_a_queue_manager_must_not_wait() -> None:
    reentry = Reentry()
    found: list[bool] = []
    thread = ServingThread(target=lambda: found.append(reentry.must_not_wait()))
    thread.start()
    thread.join()
    assert found == [True]


def test_what_was_put_off_is_taken_once() -> None:
    reentry = Reentry()
    both = [PutOff(1, 2, 64), PutOff(1)]
    for one in both:
        reentry.put_off(one)
    assert list(reentry.take()) == both
    assert list(reentry.take()) == []
