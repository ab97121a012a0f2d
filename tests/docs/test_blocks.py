"""No code block of a page is left out of tests/pages without a reason that everybody can read."""

import re

from tests.pages.blocks import TOP, Block, blocks, indented, pages, problems


def of(text: str) -> Block:
    """The block of a page with this text."""
    page = TOP / "README.md"
    return Block(page, 1, *text.split("|"))


def test_every_block_is_run_or_says_why_not() -> None:
    found = [text for page in pages() for block in blocks(page) for text in problems(block)]
    assert not found, "\n".join(found)


def test_code_is_between_fences() -> None:
    found = [text for page in pages() for text in indented(page)]
    assert not found, "\n".join(found)


def test_a_block_cannot_be_left_out_silently() -> None:
    assert list(problems(of("|x")))
    assert list(problems(of("text|x")))
    assert list(problems(of("sh|x|not run|no")))
    assert list(problems(of("sh|x|run by|tests/none.py: all")))
    assert list(problems(of("sh|x|where there is|java")))
    assert not list(problems(of("sh|x|where there is|go")))
    assert not list(problems(of("sh|x")))
    assert not list(problems(of("text|x|not run|a line of another program's log")))


def test_what_a_page_quotes_of_an_example_is_in_it() -> None:
    """A block "run by" a test that names a program of examples/ consists of parts of it."""
    quotes = [
        (block, named[0])
        for page in pages()
        for block in blocks(page)
        if (named := re.search(r"\bexamples/[\w/]+\.py\b", block.said))
    ]
    assert len(quotes) > 1
    for block, program in quotes:
        whole = (TOP / program).read_text()
        for part in block.text.split("\n\n\n"):
            assert part.strip() in whole, f"{block.place}: not as in {program}:\n{part}"


def test_readme_is_read_first() -> None:
    assert pages()[0] == TOP / "README.md"
    assert TOP / "docs" / "spark.md" in pages()
