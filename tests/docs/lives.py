"""Draws the states of the owner and of the mover: `python -m tests.docs.lives`, from the top.

What follows each state is drawn twice: on a page, and in the docstring of the module that has the
table, behind what is done in the state. Both are made from the table. What is done in a state is
written by hand.
"""

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Generic, TypeVar

from adapter.runtime.owner import lifecycle as owner
from adapter.storage.movers import lifecycle as movers

TOP = Path(__file__).parents[2]
PAGES = TOP / "docs" / "internals"
BEGIN = """<!-- Written by `python -m tests.docs.lives` from the table of states. -->
```mermaid
stateDiagram-v2
"""
END = "```\n"
ARROWS = re.compile(r"^ +-> .*\n", re.MULTILINE)

StateT = TypeVar("StateT", bound=Enum)


class Life(Generic[StateT]):
    """One table of states, its first state, and where it is drawn."""

    def __init__(
        self, table: Mapping[StateT, frozenset[StateT]], first: StateT, paths: list[Path]
    ) -> None:
        self.table = table
        self.first = first
        self.page, self.module = paths

    def following(self, state: StateT) -> list[str]:
        """The names of the states that may follow, in the order of their definition."""
        return [after.name for after in type(state) if after in self.table[state]]

    def drawing(self) -> str:
        """The diagram of the page."""
        return "".join(f"    {arrow}\n" for arrow in self._arrows())

    def _arrows(self) -> Iterator[str]:
        yield f"[*] --> {self.first.name}"
        for state in self.table:
            following = self.following(state) or ["[*]"]
            yield from (f"{state.name} --> {after}" for after in following)

    def page_written(self, text: str) -> str:
        """The page with the diagram in its place."""
        before, _, rest = text.partition(BEGIN)
        _, _, after = rest.partition(END)
        return before + BEGIN + self.drawing() + END + after

    def module_written(self, text: str) -> str:
        """The module with what follows each state behind what its docstring says of it."""
        quotes = '"""'
        before, docstring, after = text.split(quotes, 2)
        for state in self.table:
            docstring = self._with_arrows(docstring, state)
        return quotes.join([before, docstring, after])

    def _with_arrows(self, docstring: str, state: StateT) -> str:
        block = re.search(rf"^{state.name}( +)\S.*\n(?: .*\n)*", docstring, re.MULTILINE)
        if block is None:
            raise NotDescribed(state.name)
        said = ARROWS.sub("", block[0])
        following = ", ".join(self.following(state))
        indent = " " * (len(state.name) + len(block[1]))
        arrows = f"{indent}-> {following}\n" if following else ""
        return docstring[: block.start()] + said + arrows + docstring[block.end() :]


class NotDescribed(Exception):  # noqa: N818 -- it is a finding
    """The docstring does not say what is done in this state."""


def _paths(page: str, room: str) -> list[Path]:
    return [PAGES / page, TOP / "adapter" / room / "lifecycle.py"]


OWNER = Life(owner.NEXT, owner.Lifecycle().state, _paths("life-of-a-take-over.md", "runtime/owner"))
MOVER = Life(
    movers.NEXT, movers.MoverLifecycle().mode, _paths("life-of-a-parked-topic.md", "storage/movers")
)
LIVES: tuple[Life[Any], ...] = (OWNER, MOVER)


if __name__ == "__main__":
    for life in LIVES:
        life.page.write_text(life.page_written(life.page.read_text()))
        life.module.write_text(life.module_written(life.module.read_text()))
