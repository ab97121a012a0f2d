"""docs/asyncio.md says of every verb whether adapter.aio has it, and what its code has."""

import inspect
import re
from pathlib import Path

import pytest

import adapter
from adapter import aio
from adapter.channel.unit import AnyUnit

PAGE = Path(__file__).parents[2] / "docs" / "asyncio.md"
INTERNAL = {"belongs_to", "check_open", "commit_among", "perform", "put_later", "settle", "submit"}
FACES: dict[str, tuple[type, type]] = {
    "qm": (adapter.Connection, aio.Connection),
    "queue": (adapter.Queue, aio.Queue),
    "unit": (AnyUnit, aio.Unit),
}


def said() -> dict[str, bool]:
    """Each verb in the table, and whether the table says that adapter.aio has it."""
    rows = re.findall(r"^\| (`\w+\.\w+.*?) \| (yes|no)\b", PAGE.read_text(), re.MULTILINE)
    return {verb: answer == "yes" for row, answer in rows for verb in re.findall(r"`(.*?)`", row)}


def verbs(kind: type) -> set[str]:
    """The public methods of a class."""
    found = inspect.getmembers(kind, inspect.isfunction)
    return {name for name, _ in found if not name.startswith("_")} - INTERNAL


@pytest.mark.parametrize("word", FACES)
def test_the_table_has_every_verb_and_is_right(word: str) -> None:
    threaded, tasks = FACES[word]
    table = {verb.partition(".")[2]: has for verb, has in said().items() if verb.startswith(word)}
    assert set(table) == verbs(threaded)
    assert {name for name, has in table.items() if has} == verbs(threaded) & verbs(tasks)


@pytest.mark.parametrize("word", FACES)
def test_arguments_have_the_names_of_the_threaded_sdk(word: str) -> None:
    threaded, tasks = FACES[word]
    for name in verbs(threaded) & verbs(tasks):
        mine = list(inspect.signature(getattr(tasks, name)).parameters)
        theirs = list(inspect.signature(getattr(threaded, name)).parameters)
        assert mine == [one for one in theirs if one in mine], f"{word}.{name}"
