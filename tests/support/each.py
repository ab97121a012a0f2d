"""One test for a whole table: the rows that fail are named, each with what is wrong.

For tables of dozens of rows and more, where a test for each would be more work for pytest than for
the code under test. It knows nothing of what the tables hold.
"""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

Check = Callable[..., None]


def each(rows: Iterable[Any], name: Callable[[Any], str] = str) -> Callable[[Check], Check]:
    """Make a check of one row a test of all. rows: an argument each, or a tuple of arguments."""
    listed = [row if type(row) is tuple else (row,) for row in rows]
    assert listed, "a table without rows proves nothing"

    def over_all(check: Check) -> Check:
        def test() -> None:
            found = ((row, _problem(check, row)) for row in listed)
            wrong = [
                f"{', '.join(name(one) for one in row)}: {said}" for row, said in found if said
            ]
            if wrong:
                said = "\n".join(wrong)
                pytest.fail(f"{len(wrong)} of {len(listed)} rows fail\n{said}", pytrace=False)

        test.__name__ = check.__name__
        test.__doc__ = check.__doc__
        test.__module__ = check.__module__
        return test

    return over_all


def _problem(check: Check, row: tuple[Any, ...]) -> str:
    try:
        check(*row)
    except (Exception, pytest.fail.Exception) as problem:  # noqa: BLE001 -- it is told
        return f"{type(problem).__name__}: {problem}"
    return ""
