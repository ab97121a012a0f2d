"""docs/internals and ARCHITECTURE.md name files that exist, and the owner's states as they are."""

import re

from adapter.owner.lifecycle import NEXT
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


def test_the_states_of_the_owner_are_drawn_as_they_are() -> None:
    page = (TOP / "docs" / "internals" / "life-of-a-take-over.md").read_text()
    drawn = set(re.findall(r"^    (\w+) --> (\w+)$", page, re.MULTILINE))
    assert drawn == {(state.name, after.name) for state in NEXT for after in NEXT[state]}
