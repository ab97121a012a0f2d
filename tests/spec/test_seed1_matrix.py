"""Seed 1, S1.3: what may be done depends on the kind of queue, on its place, and on both."""

import pytest

from tests.support.msmq_matrix import LEVELS, cases, expected, found
from tests.support.msmq_site import msmq_site


@pytest.mark.parametrize("level", LEVELS)
def test_s1_03_every_case_of_the_matrix(level: int) -> None:
    """S1.3: send and receive requirements depend on queue type (transactional or not) AND queue
    location (local or remote): the matrix of them, in a transaction or not, is fully specified, and
    each of its cases is tried."""
    with msmq_site(msmq_level=level) as site:
        wrong = []
        for number, case in enumerate(one for one in cases() if one.level == level):
            outcome = found(site, case, f"q{number}")
            if outcome != expected(case):
                wrong.append(f"{case}: {outcome}, not {expected(case)}")
    assert wrong == []
    assert len(list(cases())) == 2 * 2 * 3 * 3 * len(LEVELS)
