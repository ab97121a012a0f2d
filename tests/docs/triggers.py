"""Writes the conditions in docs/triggers.md: `python -m tests.docs.triggers`, from the top.

The diagram, the list and the table are made from core's own table of conditions.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path

from adapter.core.rules.drive.trigger_conditions import CONDITIONS, WAYS

PAGE = Path(__file__).parents[2] / "docs" / "triggers.md"
BEGIN = "<!-- Written by `python -m tests.docs.triggers` from the table of conditions. -->\n"
END = "<!-- Written by hand again. -->\n"
LINE_LETTERS = 44
"""Of a box in the diagram."""


def conditions() -> str:
    """The diagram, the list of the conditions, and which of them each way needs."""
    return "\n".join([*_diagram(), "", *_list(), "", *_table(), ""])


def _diagram() -> Iterator[str]:
    """A graph of all ways: an arrow bears the names of the ways that go along it."""
    yield "```mermaid"
    yield "flowchart TD"
    events = {way.conditions[0].number for way in WAYS}
    for condition in CONDITIONS:
        text = "<br>".join(_wrapped(f"{condition.number}: {condition.text}"))
        shape = f'(["{text}"])' if condition.number in events else f'["{text}"]'
        yield f"    {_node(condition.number)}{shape}"
    yield '    T[/"a trigger message"/]'
    for (start, end), ways in _arrows().items():
        label = "" if len(ways) == len(WAYS) else f"|{', '.join(ways)}|"
        yield f"    {start} -->{label} {end}"
    yield "```"


def _arrows() -> dict[tuple[str, str], list[str]]:
    arrows: dict[tuple[str, str], list[str]] = {}
    for way in WAYS:
        nodes = [*(_node(each.number) for each in way.conditions), "T"]
        for arrow in itertools.pairwise(nodes):
            arrows.setdefault(arrow, []).append(way.name)
    return arrows


def _node(number: str) -> str:
    return f"c{number}"


def _wrapped(text: str) -> Iterator[str]:
    line = ""
    for word in text.split():
        if line and len(line) + len(word) >= LINE_LETTERS:
            yield line
            line = word
        else:
            line = f"{line} {word}".lstrip()
    yield line


def _list() -> Iterator[str]:
    yield "| | condition |"
    yield "|---|---|"
    for condition in CONDITIONS:
        yield f"| **{condition.number}** | {condition.text} |"


def _table() -> Iterator[str]:
    numbers = [condition.number for condition in CONDITIONS]
    yield f"| way | {' | '.join(numbers)} |"
    yield "|---" * (len(numbers) + 1) + "|"
    for way in WAYS:
        needed = {each.number for each in way.conditions}
        marks = ["x" if number in needed else " " for number in numbers]
        yield f"| **{way.name}** | {' | '.join(marks)} |"


def written(text: str) -> str:
    """The page with what is made from the code in its place."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + conditions() + "\n" + END + after


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
