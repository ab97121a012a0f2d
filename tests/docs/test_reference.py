"""docs/reference says what the code says."""

import pytest

from tests.docs.reference import FOLDER, cli, pages


@pytest.mark.parametrize("page", ["cli.md", "mqi-coverage.md", "sdk.md"])
def test_a_page_is_what_the_code_says(page: str) -> None:
    written = (FOLDER / page).read_text()
    assert written == pages()[page], "write it again: python -m tests.docs.reference"


def test_every_command_is_there() -> None:
    assert "## mqk ledger restore\n" in cli()
    assert "--delete-topics" in cli()
