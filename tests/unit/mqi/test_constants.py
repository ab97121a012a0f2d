"""Our numbers are those of ibmmq, under the same names."""

import pytest
from ibmmq import CMQC

from adapter.mqi import constants

NAMES = [name for name in vars(constants) if name.startswith("MQ")]


@pytest.mark.parametrize("name", NAMES)
def test_a_number_is_that_of_the_manual(name: str) -> None:
    assert getattr(constants, name) == getattr(CMQC, name)


def test_there_are_many() -> None:
    assert len(NAMES) > 250
