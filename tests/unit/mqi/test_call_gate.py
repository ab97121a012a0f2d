"""Who may begin a call on a connection, and what a disconnection changes of that."""

import threading
from collections.abc import Callable

import pytest

from adapter import mq_constants as mq
from adapter.mqi.call_gate import CallGate
from adapter.mqi.reasons import MqiFailure

NONE, BLOCK = mq.MQCNO_HANDLE_SHARE_NONE, mq.MQCNO_HANDLE_SHARE_BLOCK
NO_BLOCK = mq.MQCNO_HANDLE_SHARE_NO_BLOCK


def elsewhere(call: Callable[[], object]) -> int:
    """Call in another thread; return the reason code for which it was refused, or 0."""
    reasons: list[int] = []

    def do() -> None:
        try:
            call()
        except MqiFailure as failure:
            reasons.append(failure.reason)
        else:
            reasons.append(mq.MQRC_NONE)

    thread = threading.Thread(target=do)
    thread.start()
    thread.join()
    return reasons[0]


@pytest.mark.parametrize(
    ("share", "reason"),
    [(NONE, mq.MQRC_HCONN_ERROR), (BLOCK, mq.MQRC_NONE), (NO_BLOCK, mq.MQRC_NONE)],
)
def test_which_threads_are_let_in(share: int, reason: int) -> None:
    gate = CallGate(share)

    def call() -> None:
        gate.enter()
        gate.leave()

    assert elsewhere(call) == reason
    assert elsewhere(gate.check_thread) == reason
    assert elsewhere(lambda: gate.check_thread(from_consumer=True)) == mq.MQRC_NONE


def test_a_call_in_progress_is_not_waited_for_if_so_asked() -> None:
    gate = CallGate(NO_BLOCK)
    gate.enter()
    assert elsewhere(gate.enter) == mq.MQRC_CALL_IN_PROGRESS
    assert elsewhere(lambda: gate.begin_end(by_force=False)) == mq.MQRC_CALL_IN_PROGRESS
    gate.leave()
    assert elsewhere(lambda: gate.begin_end(by_force=False)) == mq.MQRC_NONE


def test_a_function_of_the_connection_does_not_keep_a_disconnection_away() -> None:
    gate = CallGate(NO_BLOCK)
    gate.enter(from_consumer=True)
    assert elsewhere(lambda: gate.begin_end(by_force=False)) == mq.MQRC_NONE


@pytest.mark.parametrize("share", [NONE, BLOCK, NO_BLOCK])
def test_behind_the_beginning_of_the_end_only_functions_are_let_in(share: int) -> None:
    gate = CallGate(share)
    gate.begin_end(by_force=False)
    calls: list[Callable[[], None]] = [gate.enter, lambda: gate.begin_end(by_force=False)]
    for refused in calls:
        with pytest.raises(MqiFailure) as failure:
            refused()
        assert failure.value.reason == mq.MQRC_HCONN_ERROR
    gate.enter(from_consumer=True)
    gate.leave()
    gate.abort_end()
    gate.enter()
    gate.leave()


def test_an_end_by_force_asks_nothing() -> None:
    gate = CallGate(NONE)
    gate.enter()
    assert elsewhere(lambda: gate.begin_end(by_force=True)) == mq.MQRC_NONE


def test_a_gate_is_tried_without_a_wait() -> None:
    gate = CallGate(BLOCK)
    gate.enter()
    found: list[bool] = []
    elsewhere(lambda: found.append(gate.try_enter()))
    gate.leave()
    assert found == [False]
    assert gate.try_enter()
