"""No stranger's input costs more than a constant, and so much for each byte.

`python -m tests.costs` searches for minutes.
"""

from random import Random

import pytest

from tests.costs.climbing import Target, climb
from tests.costs.targets import TARGETS

BUDGET_S = 1.0
SEED = 20261129


@pytest.mark.parametrize("name", TARGETS)
def test_the_costliest_input_that_is_found(name: str) -> None:
    found = climb(TARGETS[name], BUDGET_S, Random(SEED))
    said = f"{len(found.given)} bytes take {found.cost_s:.3f} s: {found.given[:300]!r}"
    assert not found.is_too_costly, said


def test_the_square_of_a_length_is_found() -> None:
    def square(given: bytes) -> None:
        for _ in range(given.count(b"a")):
            bytes(reversed(given))

    found = climb(Target((b"a", b"b"), (b"ab",), square), 20.0, Random(SEED))
    assert found.is_too_costly
