"""Every code block of every page works as it is written, in the order of the page.

README is read first: it installs mqk and starts Kafka and the queue manager that all pages use.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages.blocks import TOP, blocks, pages
from tests.pages.reader import Home, Reader

README = TOP / "README.md"
WITH_BLOCKS = [
    page
    for page in pages()
    if page != README and any(one.is_run or one.treatment == "file" for one in blocks(page))
]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Someone who has read README; whatever it has started is stopped at the end."""
    reader = Reader(Home(tmp_path_factory.mktemp("reader")))
    try:
        read(reader, README)
        yield reader
    finally:
        environment, folder = reader.state()
        for command in ("mqk qmgr stop --immediate", "mqk kafka stop"):
            subprocess.run(["bash", "-c", command], env=environment, cwd=folder, check=False)
        reader.close()


def read(reader: Reader, page: Path) -> None:
    """Type a page from its top."""
    for block in blocks(page):
        if block.is_run or block.treatment == "file":
            reader.read(block)


@pytest.mark.timeout(300)
def test_readme(first: Reader) -> None:
    """All was run when the fixture was made."""


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda page: str(page.relative_to(TOP)))
def test_a_page(page: Path, first: Reader) -> None:
    reader = Reader(first.home, first)
    try:
        read(reader, page)
    finally:
        reader.close()
