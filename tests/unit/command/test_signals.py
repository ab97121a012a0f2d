"""What works until it is told to end: told by a signal, it ends in its own way."""

import os
import signal
import threading

import pytest

from adapter.command.signals import ending

WAIT_S = 10.0


def test_sigterm_stops_from_another_thread_and_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    stopped = threading.Event()
    with ending(stopped.set):
        os.kill(os.getpid(), signal.SIGTERM)
        assert stopped.wait(WAIT_S)
    assert signal.getsignal(signal.SIGTERM) is before


def test_ctrl_c_stops_too_and_is_told_afterwards() -> None:
    stopped = threading.Event()
    context = ending(stopped.set)
    context.__enter__()
    os.kill(os.getpid(), signal.SIGINT)
    assert stopped.wait(WAIT_S)
    with pytest.raises(KeyboardInterrupt):
        context.__exit__(None, None, None)


def test_nothing_is_stopped_without_a_signal() -> None:
    stopped = threading.Event()
    with ending(stopped.set):
        pass
    assert not stopped.is_set()
