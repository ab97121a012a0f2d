"""Pages say what is wrong, and who does what, in words of the field; quoted texts are code."""

import re
from pathlib import Path

import pytest

from tests.pages.blocks import TOP, pages
from tests.tidy_pages import FENCED
from tests.tidy_words import PRONOUNS, RIDDLES

CODE = re.compile(r"`[^`]*`|<!--.*?-->", re.DOTALL)
EXEMPT = frozenset({TOP / "CHANGELOG.md", TOP / "CONTRIBUTING.md"})
"""One keeps the words of earlier releases; the other names the words to avoid."""


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(TOP)))
def test_a_page_is_in_plain_words(page: Path) -> None:
    prose = CODE.sub("", FENCED.sub("", page.read_text()))
    found = [match[0] for rule in (RIDDLES, PRONOUNS) for match in rule.finditer(prose)]
    assert page in EXEMPT or not found, "name the client, the owner, the operator"
