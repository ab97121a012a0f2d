"""docs/reference says what the code says."""

import pytest

import adapter
from tests.docs.reference import FOLDER, cli, pages
from tests.docs.sdk_reference import CLASSES, INTERNAL, OURS
from tests.spec.test_index import required


@pytest.mark.parametrize("page", ["cli.md", "mqi-coverage.md", "requirements.md", "sdk.md"])
def test_a_page_is_what_the_code_says(page: str) -> None:
    written = (FOLDER / page).read_text()
    assert written == pages()[page], "write it again: python -m tests.docs.reference"


def test_every_requirement_is_stated() -> None:
    rows = [line for line in (FOLDER / "requirements.md").read_text().splitlines() if "| S" in line]
    numbers = [row.split()[1] for row in rows]
    assert len(numbers) == len(set(numbers)) == len(required())
    assert set(numbers) == required()
    assert [row for row in rows if "*pending*" not in row and "| [`test_s" not in row] == []


def test_every_command_is_there() -> None:
    assert "## mqk ledger restore\n" in cli()
    assert "--delete-topics" in cli()
    assert "-h, --help" in cli()


@pytest.mark.parametrize("title", CLASSES)
def test_every_public_member_is_there(title: str) -> None:
    """What dir() finds and ours defines: inherited members too."""
    page = (FOLDER / "sdk.md").read_text().replace("### `await ", "### `")
    kind = CLASSES[title]
    assert f"## {title}\n" in page
    lacking = [
        name
        for name in dir(kind)
        if not name.startswith("_")
        and name not in INTERNAL
        and any(name in vars(base) for base in kind.__mro__ if base.__module__.startswith(OURS))
        and not any(form in page for form in (f"### `{name}(", f"**`{name}`**", f"`{name}`"))
    ]
    assert not lacking


def test_every_public_name_is_there() -> None:
    page = (FOLDER / "sdk.md").read_text()
    for name in adapter.__all__:
        assert name.startswith("_") or f"adapter.{name}" in page, name


def test_defaults_are_shown_as_python_writes_them() -> None:
    page = (FOLDER / "sdk.md").read_text()
    assert "address: str = '127.0.0.1:1414'" in page
    assert "selection: str = ''" in page
