"""docs/topic-format.md and its readers know the version of the descriptor that is written."""

from adapter.storage.format.descriptor import VERSION
from tests.pages.blocks import TOP

READERS = TOP / "examples" / "topic-readers"


def test_the_page_names_every_version() -> None:
    page = (TOP / "docs" / "topic-format.md").read_text()
    for version in range(1, VERSION):
        assert f"| {version} | [schemas/descriptor.{version}.avsc](" in page
    assert f"| {VERSION} | [schemas/descriptor.avsc](" in page


def test_the_readers_know_the_newest() -> None:
    assert f"NEWEST = {VERSION};" in (READERS / "java" / "TopicReader.java").read_text()
    assert f"newest = {VERSION} " in (READERS / "go" / "main.go").read_text()
