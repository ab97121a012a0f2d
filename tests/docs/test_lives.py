"""docs/internals and ARCHITECTURE.md name files that exist, and draw the states of the code."""

import re
from typing import Any

import pytest

from adapter.runtime.owner.lifecycle import OwnerState
from tests.docs.lives import BEGIN, LIVES, OWNER, Life, NotDescribed
from tests.pages.blocks import TOP

PAGES = sorted((TOP / "docs" / "internals").glob("*.md"))
FOLDERS = (TOP, TOP / "adapter", TOP / "adapter" / "core", TOP / "adapter" / "administration")
"""Where the path of a file that a page names may begin."""
NAMED = re.compile(r"`((?:\w+/)+(?:\w+\.py)?)`")


def test_every_file_and_folder_that_is_named_exists() -> None:
    missing = [
        f"{page.name}: {name}"
        for page in [*PAGES, TOP / "ARCHITECTURE.md"]
        for name in NAMED.findall(page.read_text())
        if not any((folder / name).exists() for folder in FOLDERS)
    ]
    assert not missing, f"these were moved or renamed: {missing}"


@pytest.mark.parametrize("life", LIVES)
def test_states_are_drawn_as_they_are(life: Life[Any]) -> None:
    page, module = life.page.read_text(), life.module.read_text()
    assert page.count(BEGIN) == 1
    assert page == life.page_written(page), "write it again: python -m tests.docs.lives"
    assert module == life.module_written(module), "write it again: python -m tests.docs.lives"


@pytest.mark.parametrize("life", LIVES)
def test_each_step_of_the_table_is_in_both_drawings(life: Life[Any]) -> None:
    """By another reader than the one that writes them."""
    steps = {(state.name, after.name) for state in life.table for after in life.table[state]}
    assert steps == set(re.findall(r"^    (\w+) --> (\w+)$", life.page.read_text(), re.MULTILINE))
    drawn, state, names = set(), "", {state.name for state in life.table}
    for line in life.module.read_text().split('"""')[1].splitlines():
        state = line.split()[0] if line.partition(" ")[0].isupper() else state
        if line.lstrip().startswith("-> ") and state in names:
            drawn |= {(state, after) for after in line.replace("->", "").replace(",", "").split()}
    assert drawn == steps


def test_a_table_that_has_changed_is_noticed() -> None:
    shorter = {**OWNER.table, OwnerState.DEPOSED: frozenset[OwnerState]()}
    life = Life(shorter, OWNER.first, [OWNER.page, OWNER.module])
    page, module = life.page.read_text(), life.module.read_text()
    assert life.page_written(page) == page.replace("DEPOSED --> STOPPING", "DEPOSED --> [*]")
    written = life.module_written(module)
    assert len(written.splitlines()) == len(module.splitlines()) - 1
    assert OWNER.module_written(written) == module


def test_a_state_that_the_text_leaves_out_is_noticed() -> None:
    module = OWNER.module.read_text().replace("\nDEPOSED   ", "\nReplaced  ")
    with pytest.raises(NotDescribed, match="DEPOSED"):
        OWNER.module_written(module)
