"""Positions of feeds are of one term: what came into doubt is shown to no one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from adapter.core.attributes.feed import FeedAttributes
from adapter.runtime.owner import feeds
from tests.unit.runtime.owner.test_owner import until


class Readers:
    """Reads nothing, and notes what is shown."""

    def __init__(self) -> None:
        self.shown: list[int] = []

    def read(self, *_: object) -> None:
        pass

    def show(self, positions: Mapping[str, Mapping[int, int]]) -> None:
        self.shown += [one[0] for one in positions.values()]


def term(position: int, entry_n: int, durable_n: int) -> Any:
    """A term that has put what a feed has read up to a position."""
    state = SimpleNamespace(
        offsets={0: position}, version=1, begin=None, topic_id="t", blocked=dict[int, str]()
    )
    return SimpleNamespace(
        qm=SimpleNamespace(feeds=SimpleNamespace(by_name={"F": state}, version=1)),
        loop=SimpleNamespace(entry_n=entry_n, appends=SimpleNamespace(durable_n=durable_n)),
    )


def test_what_a_term_noted_that_came_into_doubt_is_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feeds, "LOOK_S", 0.001)
    monkeypatch.setattr(feeds, "_attributes", lambda _qm, _name: FeedAttributes())

    async def main() -> None:
        current = [term(100, 3, 2)]  # entry 3 puts up to 100, and is in flight
        readers = Readers()
        feeding = feeds.Feeding(lambda: current[0], readers, print)  # type: ignore[arg-type]
        feeding.start()
        await until(lambda: bool(feeding._noted[1]))
        current[0] = term(50, 6, 5)  # entry 3 was lost
        await until(lambda: feeding._noted[0] == 6)
        current[0].loop.appends.durable_n = 6
        await until(lambda: bool(readers.shown))
        feeding.stop()
        assert set(readers.shown) == {50}

    asyncio.run(main())
