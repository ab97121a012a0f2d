"""ARCHITECTURE.md shows the arrows between rooms as the imports draw them."""

import pytest

from tests.docs.rooms import (
    BEGIN,
    END,
    PAGE,
    Cycle,
    between_rooms,
    levels,
    sources,
    within_core,
    written,
)
from tests.tidy_layers import MAY_IMPORT
from tests.tidy_rules import Source, parse


@pytest.fixture(scope="module")
def files() -> list[Source]:
    """Parsed once for all."""
    return parse(sources())


def test_the_page_shows_the_arrows_of_the_code(files: list[Source]) -> None:
    text = PAGE.read_text()
    assert text.count(BEGIN) == text.count(END) == 1
    assert text == written(text, files), "if the new arrows are meant: python -m tests.docs.rooms"


def test_every_room_is_in_the_table_and_in_the_list(files: list[Source]) -> None:
    text = PAGE.read_text()
    rooms = between_rooms(files)
    assert rooms.keys() <= MAY_IMPORT.keys()
    named = text[text.index("## Rooms") : text.index("## Arrows")]
    paths = [room.replace(".", "/") for room in rooms if room != "adapter"]
    missing = [path for path in paths if f"`{path}" not in named]
    assert not missing, "say in ARCHITECTURE.md what they know and must not know"


def test_there_is_no_cycle(files: list[Source]) -> None:
    assert levels(between_rooms(files))
    assert levels(within_core(files))


def test_a_cycle_is_found() -> None:
    files = [
        Source("adapter/core/contract/records.py", "from adapter.core.model.claims import Span"),
        Source("adapter/core/model/claims.py", "from adapter.core.contract.message import Place"),
    ]
    with pytest.raises(Cycle, match="contract"):
        levels(within_core(files))


def test_what_the_front_door_loads_on_demand_is_no_arrow() -> None:
    text = "import adapter.client\ndef demand():\n    import adapter.cli\n"
    files = [
        Source("adapter/__init__.py", text),
        Source("adapter/client/queue.py", ""),
        Source("adapter/cli/main.py", ""),
    ]
    assert between_rooms(files)["adapter"] == {"client"}
