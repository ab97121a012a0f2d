"""docs/README.md leads to every page, directly or by the README of a folder."""

from tests.pages.blocks import GENERATED, TOP, links, pages

INDEX = TOP / "docs" / "README.md"
PARTS = ["Start", "How-to", "Concepts", "Reference"]


def test_every_page_is_in_the_index() -> None:
    direct = links(INDEX)
    found = {INDEX, *direct}
    for page in direct:
        if page.name == "README.md":
            found.update(links(page))
    missing = {*pages(), *GENERATED.glob("*.md")} - found
    assert not missing, f"link these pages in docs/README.md: {sorted(map(str, missing))}"


def test_the_index_has_its_parts() -> None:
    lines = INDEX.read_text().splitlines()
    assert [line.removeprefix("## ") for line in lines if line.startswith("## ")] == PARTS


def test_readme_leads_to_the_index() -> None:
    assert INDEX in links(TOP / "README.md")
