"""docs/internals and ARCHITECTURE.md name files that exist, and draw the states of the code."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from adapter.movers import lifecycle as movers
from adapter.owner import lifecycle as owner
from tests.pages.blocks import TOP

LIVES = sorted((TOP / "docs" / "internals").glob("*.md"))
FOLDERS = (TOP, TOP / "adapter", TOP / "adapter" / "core", TOP / "adapter" / "administration")
"""Where the path of a file that a page names may begin."""
NAMED = re.compile(r"`((?:\w+/)+(?:\w+\.py)?)`")


def test_every_file_and_folder_that_is_named_exists() -> None:
    missing = [
        f"{page.name}: {name}"
        for page in [*LIVES, TOP / "ARCHITECTURE.md"]
        for name in NAMED.findall(page.read_text())
        if not any((folder / name).exists() for folder in FOLDERS)
    ]
    assert not missing, f"these were moved or renamed: {missing}"


@pytest.mark.parametrize(
    ("page", "following"),
    [("life-of-a-take-over.md", owner.NEXT), ("life-of-a-parked-topic.md", movers.NEXT)],
)
def test_states_are_drawn_as_they_are(page: str, following: Mapping[Any, frozenset[Any]]) -> None:
    text = (TOP / "docs" / "internals" / page).read_text()
    drawn = set(re.findall(r"^    (\w+) --> (\w+)$", text, re.MULTILINE))
    assert drawn == {(state.name, after.name) for state in following for after in following[state]}
