"""What a supervisor knows of its processes: when the next one begins, and what they have said."""

import errno
import os
import signal
import time
from typing import NoReturn

import msgspec
import pytest

from adapter.workers.child import Loaded, PipeLine, Unloadable
from adapter.workers.figures import WorkFigures
from adapter.workers.processes import BLOCKED, SILENT_S, ForkedProcess, Place, fork, how_it_ended


def process() -> tuple[ForkedProcess, int]:
    """Return a process that is none, and where it says something."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    return ForkedProcess(0, reader), writer


def say(writer: int, what: Loaded | Unloadable | WorkFigures) -> None:
    os.write(writer, msgspec.json.encode(PipeLine(what)) + b"\n")


def test_pauses_grow_while_processes_die_at_once() -> None:
    place = Place()
    pauses = [place.note_end(process()[0]) for _ in range(9)]
    assert pauses == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]


@pytest.mark.parametrize("loading_s", [0, 60])
@pytest.mark.parametrize(
    ("said", "connected_s", "is_replaced_at_once"),
    [
        ([], 5, False),
        ([WorkFigures(is_connected=False)], 5, False),
        ([WorkFigures()], 0.1, False),
        ([WorkFigures()], 1.1, True),
        ([WorkFigures(), WorkFigures(is_connected=False)], 1.1, True),
    ],
)
def test_what_was_connected_for_a_second_is_replaced_at_once(
    monkeypatch: pytest.MonkeyPatch,
    said: list[WorkFigures],
    connected_s: float,
    loading_s: float,
    is_replaced_at_once: bool,
) -> None:
    now_s = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    place = Place()
    for _ in range(4):
        place.note_end(process()[0])
    one, writer = process()
    now_s[0] += loading_s
    say(writer, Loaded({}))
    for figures in said:
        say(writer, figures)
        one.hear()
    now_s[0] += connected_s
    pause_s = place.note_end(one)
    assert (pause_s, place.due_s - now_s[0]) == ((0, 0) if is_replaced_at_once else (8, 8))


def test_a_fork_that_fails_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = os.pipe()

    def refuse() -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    with monkeypatch.context() as failing:
        failing.setattr(os, "pipe", lambda: ends)
        failing.setattr(os, "fork", refuse)
        with pytest.raises(BlockingIOError):
            fork(_exit, lambda: None)
    for end in ends:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(end)
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & {*BLOCKED}


def _exit(_pipe: int) -> NoReturn:
    os._exit(0)


def test_a_process_is_heard_in_pieces() -> None:
    one, writer = process()
    assert one.hear()
    say(writer, Loaded({"a.py": 1}))
    line = msgspec.json.encode(PipeLine(WorkFigures(done=5))) + b"\n"
    os.write(writer, line[:10])
    assert one.hear()
    assert (one.files, one.figures, one.is_well) == ({"a.py": 1}, None, False)
    os.write(writer, line[10:])
    assert one.hear()
    assert (one.figures, one.is_well) == (WorkFigures(done=5), True)
    one.heard_s -= SILENT_S + 1
    assert [one.is_well] == [False]
    say(writer, Unloadable("no", {"b.py": 0}))
    os.close(writer)
    one.hear_all()
    assert one.unloadable == "no"
    assert not one.hear()


def test_how_a_process_has_ended_is_said() -> None:
    assert how_it_ended(3) == "has ended with status 3"
    assert how_it_ended(-signal.SIGKILL) == "was ended by SIGKILL"
    assert how_it_ended(-99) == "was ended by signal 99"
