"""Indexes and watches: what is found is the same however few of them a store keeps."""

import random
from typing import Any

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.model import indexes
from tests.support.core import IN_OUT, Client, client_on
from tests.support.examples import examples

SELECTIONS = ("colour = 'red'", "colour = 'blue'", "n > 3", "n < 7 AND colour <> 'red'")
IDS = ("correlation_id", "group_id", "message_id")
STEPS = 120
FEW, MANY = 3, 10_000
PAGED = Limits(window_messages=16, window_total=160)


def some_id(chance: random.Random) -> bytes:
    return bytes([chance.randrange(1, 3)]) * 24


def put_some(client: Client, chance: random.Random, step: int) -> None:
    for number in range(chance.randrange(1, 6)):
        ids: dict[str, Any] = {name: some_id(chance) for name in IDS}
        client.put(
            f"{step}.{number}",
            priority=chance.choice((0, 3)),
            persistence=chance.choice((0, 1, 1)),
            group_seq=chance.randrange(1, 3),
            properties={"colour": chance.choice(("red", "blue")), "n": chance.randrange(10)},
            **ids,
        )


def answers(seed: int) -> list[Any]:
    """Do random gets and browses by ids, numbers and selections; return what they are answered."""
    chance, found = random.Random(seed), list[Any]()
    client = client_on(limits=PAGED)
    for handle, selection in enumerate(SELECTIONS, 2):
        client.do(c.Open(handle, "Q", IN_OUT, selection=selection))
    for step in range(STEPS):
        kind, handle = chance.random(), chance.randrange(1, len(SELECTIONS) + 2)
        options: dict[str, Any] = {
            name: some_id(chance) for name in IDS if chance.random() < 0.3
        } | {"group_seq": chance.randrange(1, 3)}
        options["options"] = c.MATCH_GROUP_SEQ if chance.random() < 0.3 else 0
        if kind < 0.5:
            put_some(client, chance, step)
        elif kind < 0.6:
            client.core.evict()
        elif kind < 0.8:
            found.append(client.browse(handle=handle, restart=chance.random() < 0.5, **options))
        else:
            found.append(client.get(handle=handle, **options))
    return found


def test_answers_are_the_same_however_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(examples(20)):
        monkeypatch.setattr(indexes, "USED_MAX", MANY)
        expected = answers(seed)
        monkeypatch.setattr(indexes, "USED_MAX", FEW)
        assert answers(seed) == expected, seed


def test_a_watch_that_another_one_asks_stays_as_long_as_that_one() -> None:
    """Of all that is kept the selection was asked for first, and each number asks it again."""
    client = client_on(limits=PAGED)
    client.do(c.Open(2, "Q", IN_OUT, selection="colour = 'red'"))
    for number in range(1, indexes.USED_MAX + 50):
        red = {"colour": "red"}
        client.put(
            f"a{number}", group_seq=number, group_id=b"a" * 24, properties=red, persistence=1
        )
    client.core.evict()
    client.browse(handle=2, restart=True)
    by_number: dict[str, Any] = {"handle": 2, "options": c.MATCH_GROUP_SEQ}
    for number in range(1, indexes.USED_MAX):
        assert client.browse(restart=True, group_seq=number, **by_number) == [f"a{number}"]
    later = indexes.USED_MAX + 40
    client.put("later", group_seq=later, group_id=b"b" * 24, properties={"colour": "red"})
    assert client.get(group_seq=later, **by_number) == [f"a{later}"]
