"""The function that a worker calls: how it is found, and with what it is called."""

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import adapter
from adapter.errors import InvalidOption
from adapter.workers.handlers import Calls, check, is_coroutine_function, load, takes_unit
from tests.support import worker_functions


class Service:
    """Methods and objects are called like functions."""

    def handle(self, message: object, unit: object) -> None:
        """Take both."""

    def __call__(self, message: object) -> None:
        """Take the message."""


class Awaited:
    """Methods and objects are awaited like coroutine functions."""

    async def handle(self, message: object) -> None:
        """Take the message."""

    async def __call__(self, message: object) -> None:
        """Take the message."""


def test_it_is_named_by_module_and_function() -> None:
    assert load("tests.support.worker_functions:copy") is worker_functions.copy
    assert load("pathlib:Path.exists") is Path.exists


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("shop", "is not MODULE:FUNCTION"),
        (":handle", "is not MODULE:FUNCTION"),
        ("no_such_module:x", "module no_such_module cannot be imported: ModuleNotFoundError"),
        ("tests.support.worker_functions:nope", "has no function nope"),
        ("tests.support.worker_functions:not_callable", "is not a function, but a int"),
        ("tests.support.worker_process:WorkerProcess", "it cannot be, as it takes"),
    ],
)
def test_what_is_not_there_is_told_in_a_sentence(named: str, says: str) -> None:
    with pytest.raises(InvalidOption, match=says):
        load(named)


def test_the_current_folder_comes_first_and_its_mistakes_are_located(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "worker_test_good.py").write_text("def handle(message): return 'called'")
    (tmp_path / "worker_test_bad.py").write_text("\n\nimport worker_test_missing")
    (tmp_path / "worker_test_exit.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["/somewhere"])
    assert load("worker_test_good:handle")(None) == "called"
    with pytest.raises(InvalidOption, match=r"worker_test_bad\.py, line 3"):
        load("worker_test_bad:handle")
    with pytest.raises(InvalidOption, match="SystemExit: 3"):
        load("worker_test_exit:handle")
    (tmp_path / "worker_test_mute.py").write_text(
        "from tests.support.unprintable import Unprintable\nraise Unprintable"
    )
    with pytest.raises(InvalidOption, match=r"Unprintable, whose text cannot be made.* line 2"):
        load("worker_test_mute:handle")


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda _message: None, False),
        (lambda _message, _unit: None, True),
        (lambda _message, _retries=3: None, False),
        (lambda _message, unit=None: unit, True),
        (lambda *_arguments: None, False),
        (Service().handle, True),
        (Service(), False),
        (functools.partial(Service().handle, unit=None), False),
        (worker_functions.copy_in_loop, True),
        (print, False),
    ],
    ids=[
        *("message", "message and unit", "message and a setting", "message and unit by name"),
        *("any arguments", "method", "object", "partial", "function", "built in"),
    ],
)
def test_the_unit_is_for_who_takes_two(function: Callable[..., Any], expected: bool) -> None:
    assert takes_unit(function) is expected


@pytest.mark.parametrize(
    "function",
    [lambda: None, lambda _a, _b, _c: None, lambda _message, *, name: name],
    ids=["of nothing", "of three", "with a name"],
)
def test_what_cannot_be_called_so_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(InvalidOption, match="it cannot be, as it takes"):
        check(function, "the function")


def test_generator_functions_are_refused() -> None:
    def generate(_message: object) -> Iterator[None]:
        yield

    async def generate_in_loop(_message: object) -> AsyncIterator[None]:
        yield

    for function in (generate, generate_in_loop):
        with pytest.raises(InvalidOption, match="a generator function, which a call does not run"):
            check(function, "the function")


def test_the_connection_is_known_only_where_a_worker_calls() -> None:
    with pytest.raises(InvalidOption, match="for functions that a worker calls"):
        adapter.worker_connection()


def test_what_a_function_puts_is_in_the_unit(qm: adapter.Connection) -> None:
    queue = qm.queue("Q")
    queue.put_many([b"1", b"poison", b"2"])
    calls = Calls(worker_functions.copy, qm)
    for unit in queue.units(timeout=0, retry=adapter.Retry(0, then="FAILED")):
        with unit:
            calls.call(unit.messages[0], unit)
    assert [message.body for message in qm.queue("OUT").browse()] == [b"1", b"2"]
    assert [message.body for message in qm.queue("FAILED").browse()] == [b"poison"]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (worker_functions.copy_in_loop, True),
        (functools.partial(worker_functions.copy_in_loop, unit=None), True),
        (Awaited().handle, True),
        (Awaited(), True),
        (worker_functions.copy, False),
        (Service(), False),
        (print, False),
    ],
    ids=["coroutine", "partial", "method", "object", "function", "other object", "built in"],
)
def test_coroutine_functions_are_known_in_every_form(
    function: Callable[..., Any], expected: bool
) -> None:
    assert is_coroutine_function(function) is expected
