"""What copiers say happened, judged against what lies on the queues.

It shares no code with the queue manager.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from msgspec import Struct


class Story(Struct):
    """One unit as its copier saw it. end: "" if it never heard; counts: number -> backout count."""

    copier: str
    began_s: float
    counts: dict[int, int]
    end: str = ""
    end_s: float = 0.0
    in_doubt: bool = False
    refusing_s: float = 0.0

    def spans(self, moment_s: float) -> bool:
        """Whether it was open at a moment, as far as its copier can tell."""
        return self.began_s <= moment_s <= (self.end_s or float("inf"))


class Journal(Struct):
    """What all copiers wrote. broken: connections given up; resent: requests asked again."""

    units: dict[str, Story]
    broken: int = 0
    resent: int = 0
    ended: int = 0

    def ids(self, *ends: str) -> set[str]:
        """Units that ended so."""
        return {ident for ident, story in self.units.items() if story.end in ends}

    @property
    def in_doubt(self) -> dict[str, str]:
        """The in-doubt list: units whose commit was not answered in time, and their outcomes."""
        return {ident: one.end for ident, one in self.units.items() if one.in_doubt}


def read(files: list[Path]) -> Journal:
    """Read the journals."""
    journal = Journal({})
    for file in files:
        for text in file.read_text().splitlines():
            _take(journal, file.stem, json.loads(text))
    return journal


def _take(journal: Journal, copier: str, line: dict[str, Any]) -> None:
    what, ident, time_s = line["what"], line["unit"], line["time_s"]
    if what == "got":
        counts = {int(number): count for number, count in line["counts"].items()}
        journal.units[ident] = Story(copier, time_s, counts)
    elif what == "broken":
        journal.broken += 1
    elif what == "ended":
        journal.ended += 1
        journal.resent += line["resent"]
    elif ident in journal.units:
        _end(journal.units[ident], what, time_s, line.get("outcome", ""))


def _end(story: Story, what: str, time_s: float, outcome: str) -> None:
    if what == "in doubt":
        story.in_doubt = True
    elif what == "refusing":
        story.refusing_s = time_s
    else:
        assert not story.end, f"{story} ended twice"
        story.end = outcome or what
        story.end_s = time_s


def backouts(journal: Journal, kills_s: list[float]) -> tuple[Counter[int], set[int]]:
    """Count how often each number was backed out by a copier's own decision.

    Also the numbers for which that is not certain: the queue manager was killed at that moment.
    """
    counted: Counter[int] = Counter()
    uncertain: set[int] = set()
    for story in journal.units.values():
        if not story.refusing_s:
            continue
        end_s = story.end_s or float("inf")
        if any(story.refusing_s <= kill_s <= end_s for kill_s in kills_s):
            uncertain |= set(story.counts)
        else:
            counted.update(story.counts.keys())
    return counted, uncertain
