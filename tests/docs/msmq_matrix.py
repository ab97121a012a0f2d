"""Writes the table in docs/from-msmq.md: `python -m tests.docs.msmq_matrix`, from the top.

It is the table that tests/spec/test_seed1_matrix.py tries.
"""

from collections.abc import Iterator
from pathlib import Path

from tests.support.msmq_matrix import (
    KINDS,
    LEVELS,
    OPERATIONS,
    PLACES,
    TRANSACTIONS,
    Case,
    expected,
)

PAGE = Path(__file__).parents[2] / "docs" / "from-msmq.md"
BEGIN = "<!-- Written by `python -m tests.docs.msmq_matrix` from the table that a test tries. -->\n"
END = "<!-- Written by hand again. -->\n"


def table() -> str:
    """A row for each operation, queue, place and transaction; a column for each level."""
    return "\n".join([*_rows(), ""])


def _rows() -> Iterator[str]:
    levels = " | ".join(f"level {level}" for level in LEVELS)
    yield f"| operation | queue | place | transaction | {levels} |"
    yield "|---" * (4 + len(LEVELS)) + "|"
    for operation in OPERATIONS:
        for kind in KINDS:
            for place in PLACES:
                for transaction in TRANSACTIONS:
                    found = [
                        expected(Case(kind, place, operation, transaction, level))
                        for level in LEVELS
                    ]
                    cells = " | ".join((operation, kind, place, transaction, *found))
                    yield f"| {cells} |"


def written(text: str) -> str:
    """The page with the table in its place."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + table() + "\n" + END + after


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
