"""The code blocks of a Markdown page, and what its author says about those that are not run as is.

A comment before a block says how it is treated; nothing else can take a block out of the test:

    <!-- not run: REASON -->                the block is for another place, and why
    <!-- run by tests/x/test_y.py: WHAT --> another test runs what the block shows
    <!-- file: NAME -->                     the reader saves the block under this name
    <!-- until stopped -->                  the program runs until the reader has read the page
    <!-- where there is: PROGRAM -->        the block needs one of MAY_BE_MISSING

`python -m tests.pages.blocks` lists the blocks that are not run, with the reasons. This module
knows Markdown; it must not know how a block is run.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

TOP = Path(__file__).parents[2]
GENERATED = TOP / "docs" / "reference"
"""What is written from the code is compared with the code: tests/docs/test_reference.py."""
PROGRAMS = frozenset({"sh", "console", "python", "mqsc", "toml"})
OUTPUT = "output"
MAY_BE_MISSING = frozenset({"go"})
"""Programs that mqk does not need. What mqk needs is on every machine that runs its tests."""
PICTURES = frozenset({"mermaid"})
"""Languages of drawings; everything else that is not run has a comment."""

FENCE = re.compile(r"^( *)(```+|~~~+) *([^`]*)$")
COMMENT = re.compile(
    r"^ *<!-- (not run|run by|file|until stopped|where there is)(?:: | |: *)?(.*?) *-->$"
)
LISTED = re.compile(r"^ *([-*]|\d+\.) ")
REASON_LETTERS_MIN = 15


class Block(Struct, frozen=True):
    """One block. line: of its first line of text, from 1. said: what the comment before it says."""

    page: Path
    line: int
    language: str
    text: str
    treatment: str = ""
    said: str = ""

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return f"{self.page.relative_to(TOP)}:{self.line}"

    @property
    def is_run(self) -> bool:
        """Whether the page test runs it, or compares it with what was printed."""
        if self.treatment == "where there is":
            return shutil.which(self.said) is not None
        shown = self.language in PROGRAMS or self.language == OUTPUT
        return shown and self.treatment in ("", "until stopped")


def pages() -> list[Path]:
    """Every page that people wrote, README first, then in the order of the index docs/README.md."""
    index = TOP / "docs" / "README.md"
    order = [TOP / "README.md", index, *links(index)]
    every = [*TOP.glob("*.md"), *TOP.glob("docs/**/*.md"), *TOP.glob("examples/**/*.md")]
    every += TOP.glob("benchmarks/*.md")
    every = [one for one in every if not one.is_relative_to(GENERATED)]
    return sorted(set(every), key=lambda one: (_rank(one, order), one))


def links(page: Path) -> list[Path]:
    """The pages that a page links to, in its order."""
    named = re.findall(r"\]\(([\w/.-]+\.md)[)#]", page.read_text())
    return [(page.parent / one).resolve() for one in named]


def _rank(page: Path, order: list[Path]) -> int:
    return order.index(page) if page in order else len(order)


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page, from its top."""
    lines = page.read_text().splitlines()
    fence = ""
    begun, indent, language = 0, 0, ""
    for number, line in enumerate(lines, 1):
        match = FENCE.match(line)
        if match and not fence:
            indent, fence, language = len(match[1]), match[2], match[3].strip()
            begun = number
        elif fence and line.strip() == fence:
            text = "".join(f"{one[indent:]}\n" for one in lines[begun : number - 1])
            treatment, said = _comment(lines[: begun - 1])
            yield Block(page, begun + 1, language, text, treatment, said)
            fence = ""


def _comment(before: list[str]) -> tuple[str, str]:
    """What the comment right before a block says."""
    above = next((line for line in reversed(before) if line.strip()), "")
    match = COMMENT.match(above)
    return (match[1], match[2]) if match else ("", "")


def indented(page: Path) -> Iterator[str]:
    """Code that is set off by blanks only, and so has no language."""
    outside, before, fence = "", "", ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        match = FENCE.match(line)
        if match and fence in ("", match[2]):
            fence = "" if fence else match[2]
        elif not fence and line.startswith("    ") and not before and not LISTED.match(outside):
            yield f"{page.relative_to(TOP)}:{number}: put code between fences"
        if line.strip() and not line.startswith("    "):
            outside = line
        before = line.strip()


def problems(block: Block) -> Iterator[str]:
    """What is wrong with how a block is marked."""
    if not block.language:
        yield f"{block.place}: name the language after the fence (sh, python, output, text ...)"
    elif block.treatment == "not run" and len(block.said) < REASON_LETTERS_MIN:
        yield f"{block.place}: say why the block is not run"
    elif block.treatment == "run by":
        named, _, what = block.said.partition(": ")
        if not (TOP / named).is_file() or not what:
            yield f"{block.place}: name the test that runs the block, and what it runs"
    elif block.treatment == "where there is" and block.said not in MAY_BE_MISSING:
        yield f"{block.place}: every machine that runs the tests has {block.said!r}"
    elif block.treatment == "file" and not block.said:
        yield f"{block.place}: name the file"
    elif not (block.is_run or block.treatment or block.language in PICTURES):
        yield f"{block.place}: nothing runs {block.language!r}: say why, in a comment before it"


if __name__ == "__main__":
    for each in pages():
        for one in blocks(each):
            if not one.is_run and one.treatment != "file":
                print(f"{one.place} ({one.language}): {one.treatment} {one.said}")
