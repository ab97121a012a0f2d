"""Every code block of every page works as it is written, in the order of the page.

README is read first: it installs mqk and starts Kafka and the queue manager that all pages use.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages.blocks import TOP, blocks, pages
from tests.pages.reader import Home, Reader
from tests.support.examples import chosen

pytestmark = pytest.mark.timeout(600)  # whichever is first installs mqk; one compiles in Go
README = TOP / "README.md"
WITH_BLOCKS = [
    page
    for page in pages()
    if page != README and any(one.is_run or one.treatment == "file" for one in blocks(page))
]
LONG = {
    *("docs/topic-format.md", "docs/kafka-topics.md", "docs/schema-registry.md"),
    *("docs/faststream.md", "docs/dramatiq.md", "docs/from-python-queues.md"),
    *("docs/fast-programs.md", "docs/operations/two-hosts.md", "examples/secured/README.md"),
}
"""Pages that only a long run reads: they compile, install or start what other tests have, too."""


def name_of(page: Path) -> str:
    return str(page.relative_to(TOP))


def is_short(page: Path) -> bool:
    """Whether every run reads the page."""
    return name_of(page) not in LONG


READ = chosen(WITH_BLOCKS, is_short)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Someone who has read README; whatever it has started is stopped at the end."""
    home = Home(tmp_path_factory.mktemp("reader"))
    reader = Reader(home)
    try:
        read(reader, README)
        yield reader
    finally:
        home.stop()
        reader.close()


def read(reader: Reader, page: Path) -> None:
    """Type a page from its top."""
    for block in blocks(page):
        if block.is_run or block.treatment == "file":
            reader.read(block)


def test_readme(first: Reader) -> None:
    """All was run when the fixture was made."""


@pytest.mark.parametrize("page", READ, ids=name_of)
def test_a_page(page: Path, first: Reader) -> None:
    reader = Reader(first.home, first)
    try:
        read(reader, page)
    finally:
        reader.close()
