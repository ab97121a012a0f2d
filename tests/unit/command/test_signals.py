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


def test_a_stop_that_fails_ends_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = threading.Event()
    statuses: list[int] = []

    def leave(status: int) -> None:
        statuses.append(status)
        ended.set()

    monkeypatch.setattr(os, "_exit", leave)

    def stop() -> None:
        raise ZeroDivisionError

    with ending(stop):
        os.kill(os.getpid(), signal.SIGTERM)
        assert ended.wait(WAIT_S)
    assert statuses == [1]
    assert "cannot end in its own way" in capsys.readouterr().err


def test_nothing_is_stopped_without_a_signal() -> None:
    stopped = threading.Event()
    with ending(stopped.set):
        pass
    assert not stopped.is_set()
