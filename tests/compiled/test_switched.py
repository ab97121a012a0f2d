"""Bugs that are switched on by name: each changes what it changes, and nothing else."""

import types
from collections.abc import Iterator

import pytest

from tests.compiled.switched import Unswitchable, switched

TEXT = '''"""A module."""

from __future__ import annotations

import os


def doubled(number: int, *, times: int = 2) -> int:
    """Return it, so many times."""
    return number * times


def counted(most: int) -> Iterator[int]:
    yield from range(most)


class Sum:
    """A sum."""

    def __init__(self) -> None:
        self._parts: list[int] = []

    def add(self, number: int) -> None:
        self._parts.append(number)

    @property
    def whole(self) -> int:
        return sum(self._parts)
'''
CHANGES = {
    "thrice": ("number * times", "number * times * 3"),
    "none": ("    return number * times", "    if number:\n        return 0\n    return 1"),
    "short": ("range(most)", "range(most - 1)"),
    "deaf": ("        self._parts.append(number)", "        pass"),
    "rich": ("sum(self._parts)", "sum(self._parts) + 1"),
}


def made(planted: str) -> types.SimpleNamespace:
    """Run the module while a bug is switched on; what is left of it."""
    text = switched(TEXT, {name: TEXT.replace(*change) for name, change in CHANGES.items()})
    text = text.replace("from adapter.planted import PLANTED", f"PLANTED = {planted!r}")
    space = {"Iterator": Iterator}
    exec(compile(text, "module", "exec"), space)
    return types.SimpleNamespace(**space)


def figures(module: types.SimpleNamespace) -> tuple[int, list[int], int]:
    one = module.Sum()
    one.add(5)
    return module.doubled(4, times=2), list(module.counted(3)), one.whole


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("", (8, [0, 1, 2], 5)),
        ("thrice", (24, [0, 1, 2], 5)),
        ("none", (0, [0, 1, 2], 5)),
        ("short", (8, [0, 1], 5)),
        ("deaf", (8, [0, 1, 2], 0)),
        ("rich", (8, [0, 1, 2], 6)),
    ],
)
def test_a_bug_does_what_it_does_while_it_is_switched_on(
    planted: str, found: tuple[int, list[int], int]
) -> None:
    assert figures(made(planted)) == found


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("", "", "changes no function"),
        ("import os", "import sys", "changes no function"),
        ("self._parts", "self._other", "is to change one"),
        ("times: int = 2", "times: int = 3", "changes the parameters of doubled"),
    ],
)
def test_what_is_not_the_change_of_one_function_is_refused(old: str, new: str, why: str) -> None:
    with pytest.raises(Unswitchable, match=why):
        switched(TEXT, {"bug": TEXT.replace(old, new)})
