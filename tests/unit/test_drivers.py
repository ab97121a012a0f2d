"""Tests run with threads and with tasks: the blocking face of tasks, and what only threads have."""

import ast
import asyncio
import contextvars
import threading
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests import drivers
from tests.drivers import OF_THREADS, ONLY_THREADS, Tasks, Threads
from tests.support.blocking import Face, TaskLoop

TESTS = Path(__file__).parents[1]
LISTED = sorted(ONLY_THREADS)
NAMED = sorted({*ONLY_THREADS, *OF_THREADS})


def called(listed: str, driver: Threads | Tasks, error: BaseException | None) -> object:
    """Call a test that passes, or fails with this error; return what the call says."""
    file, name = listed.split("::")
    item = SimpleNamespace(
        path=TESTS / f"{file}.py", originalname=name, funcargs={"driver": driver}
    )
    calling = drivers.pytest_pyfunc_call(cast("pytest.Function", item))
    next(calling)
    try:
        if error is None:
            calling.send("passed")
        else:
            calling.throw(error)
    except StopIteration as stopped:
        return stopped.value
    raise AssertionError("it yields twice")


@pytest.fixture
def tasks() -> Generator[Tasks]:
    made = Tasks()
    yield made
    made.end()


@pytest.mark.parametrize("named", NAMED)
def test_what_is_named_is_there(named: str) -> None:
    file, _, name = named.partition("::")
    tree = ast.parse((TESTS / f"{file}.py").read_text())
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert not name or name in functions


def test_a_listed_test_that_passes_with_tasks_is_refused(tasks: Tasks) -> None:
    with pytest.raises(pytest.fail.Exception, match="take it out of ONLY_THREADS"):
        called(LISTED[0], tasks, None)


def test_a_listed_test_fails_for_its_reason_and_for_no_other(tasks: Tasks) -> None:
    listed = "unit/client/test_work::test_finding_users_2_a_token_ends_units"
    assert called(listed, tasks, TypeError("got an unexpected keyword argument 'cancel'"))
    with pytest.raises(TypeError, match="prefetch"):
        called(listed, tasks, TypeError("got an unexpected keyword argument 'prefetch'"))


def test_with_threads_a_listed_test_is_like_all_others() -> None:
    assert called(LISTED[0], Threads(), None) == "passed"
    with pytest.raises(KeyError):
        called(LISTED[0], Threads(), KeyError())
    assert called("unit/client/test_work::test_of_no_list", Threads(), None) == "passed"


AROUND = contextvars.ContextVar("around", default="nothing")


class Verbs:
    """Something like a connection."""

    __module__ = "adapter.aio.verbs"

    async def set(self, value: str) -> None:
        AROUND.set(value)

    async def get(self) -> str:
        return AROUND.get()

    async def interrupt(self) -> None:
        raise KeyboardInterrupt

    def itself(self) -> "Verbs":
        return self

    async def call(self, call: object) -> object:
        assert callable(call)
        return call()


def test_calls_of_a_thread_share_a_context_and_threads_do_not() -> None:
    loop = TaskLoop()
    face = Face(loop, Verbs())
    face.set("mine")
    seen = [face.get()]
    other = threading.Thread(target=lambda: seen.append(face.get()))
    other.start()
    other.join()
    assert seen == ["mine", "nothing"]
    assert loop.end() == []


def test_a_face_hands_out_faces_and_takes_them() -> None:
    loop = TaskLoop()
    verbs = Verbs()
    face = Face(loop, verbs)
    inner = face.itself()
    assert isinstance(inner, Face)
    assert inner == face == verbs
    assert hash(inner) == hash(verbs)
    with pytest.raises(AttributeError, match="shows no _private"):
        _ = face._private
    with pytest.raises(KeyboardInterrupt):
        face.interrupt()
    with pytest.raises(RuntimeError, match="would wait for itself"):
        face.call(face.get)
    assert loop.end() == []


def test_what_is_left_in_the_loop_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.blocking.END_S", 0.05)
    loop = TaskLoop()
    never = asyncio.Event()  # kept, else the task that waits for it may be collected as garbage
    asyncio.run_coroutine_threadsafe(never.wait(), loop.loop)
    loop.loop.call_soon_threadsafe(lambda: 1 / 0)
    complaint, left = loop.end()
    assert "ZeroDivisionError" in complaint
    assert "Event.wait" in left
    assert not never.is_set()
