"""What a get of whole groups may be given, as the auditor knows it: it imports nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol


class Numbered(Protocol):
    """A message of a group, or of none."""

    group: str
    number: int
    last: bool


def begins_whole(items: Iterable[tuple[Any, ...]], message: Numbered) -> bool:
    """Whether it is in no group, or the first of one of which every message is among these items.

    items: the third of each is a message.
    """
    if not message.group:
        return True
    if message.number != 1:
        return False
    group = [item[2] for item in items if item[2].group == message.group]
    lasts = [one.number for one in group if one.last]
    return bool(lasts) and {one.number for one in group} >= set(range(1, lasts[0] + 1))
