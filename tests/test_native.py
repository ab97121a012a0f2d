"""Which modules are compiled: what mypyc refuses is found, and nowhere but where it is known."""

from pathlib import Path

import pytest

from native import modules

TOP = Path(__file__).parents[1]


def test_the_hot_modules_that_are_interpreted_are_known() -> None:
    found = {
        str(path)
        for path in modules.hot(TOP)
        if modules.refused((TOP / path).read_text(encoding="utf-8"))
    }
    assert found <= modules.INTERPRETED


def test_what_is_compiled_is_there() -> None:
    compiled = modules.compiled(TOP)
    assert Path("adapter/core/dispatch.py") in compiled
    assert all((TOP / path).is_file() for path in compiled)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("class A(Struct, frozen=True):\n    x: int", "1: class A has keywords"),
        ("class A(list[int]):\n    pass", "1: class A is a list[int]"),
        ("class A(Struct):\n    x: dict = field(default_factory=dict)", "1: class A has a field"),
        ("def f(a):\n    a._thread = 1", "2: the attribute _thread"),
    ],
)
def test_what_mypyc_refuses_is_found(text: str, why: str) -> None:
    (found,) = modules.refused(text)
    assert found.startswith(why)


@pytest.mark.parametrize(
    "text",
    [
        "class A(Struct):\n    x: int = 0",
        "class A(Generic[T]):\n    pass",
        "def f(a):\n    a._signed()",
    ],
)
def test_what_mypyc_compiles_is_not_refused(text: str) -> None:
    assert modules.refused(text) == []
