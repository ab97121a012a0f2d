"""docs/asyncio.md says of every verb whether adapter.aio has it, and what its code has."""

import inspect
import re
from pathlib import Path

import pytest

import adapter
from adapter import aio
from adapter.client.unit import ProducingUnit

PAGE = Path(__file__).parents[2] / "docs" / "asyncio.md"
INTERNAL = {
    *("await_outcome", "belongs_to", "check_open", "commit_among", "give_up", "perform"),
    *("put_later", "send_kept", "settle", "submit"),
}
FACES: dict[str, tuple[type, type]] = {
    "qm": (adapter.Connection, aio.Connection),
    "queue": (adapter.Queue, aio.Queue),
    "topic": (adapter.KafkaTopic, aio.KafkaTopic),
    "unit": (ProducingUnit, aio.Unit),
    "subscription": (adapter.Subscription, aio.Subscription),
    "consumer": (adapter.Consumer, aio.Consumer),
}


def said() -> dict[str, str]:
    """Each verb in the table, and what the table says of it: "yes", "no", and more."""
    rows = re.findall(r"^\| (`\w+\.\w+.*?) \| ((?:yes|no)\b.*) \|$", PAGE.read_text(), re.MULTILINE)
    return {verb: answer for row, answer in rows for verb in re.findall(r"`(.*?)`", row)}


def verbs(kind: type) -> set[str]:
    """The public methods of a class, but those that it has as a queue."""
    of_queues = kind.__mro__[1] if kind.__mro__[1] in FACES["queue"] else object
    found = inspect.getmembers(kind, inspect.isfunction)
    return {
        name
        for name, method in found
        if not name.startswith("_") and getattr(of_queues, name, None) is not method
    } - INTERNAL


@pytest.mark.parametrize("word", FACES)
def test_the_table_has_every_verb_and_is_right(word: str) -> None:
    threaded, tasks = FACES[word]
    table = {
        verb.removeprefix(f"{word}."): answer
        for verb, answer in said().items()
        if verb.startswith(f"{word}.")
    }
    assert set(table) == verbs(threaded)
    has = {name for name, answer in table.items() if answer.startswith("yes")}
    assert has == verbs(threaded) & verbs(tasks)


@pytest.mark.parametrize("word", FACES)
def test_arguments_have_the_names_of_the_threaded_sdk(word: str) -> None:
    threaded, tasks = FACES[word]
    for name in verbs(threaded) & verbs(tasks):
        mine = list(inspect.signature(getattr(tasks, name)).parameters)
        theirs = list(inspect.signature(getattr(threaded, name)).parameters)
        assert mine == [one for one in theirs if one in mine], f"{word}.{name}"
        without = said()[f"{word}.{name}"].partition("without ")[2].partition(":")[0]
        missing = [one for one in theirs if one not in mine]
        assert sorted(re.findall(r"`(.*?)`", without)) == sorted(missing), f"{word}.{name}"
