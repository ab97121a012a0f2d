"""Our numbers are those of ibmmq, under the same names."""

from ibmmq import CMQC, CMQXC

from adapter import mq_constants as constants
from tests.support.each import each

NAMES = [name for name in vars(constants) if name.startswith("MQ")]


@each(NAMES)
def test_a_number_is_that_of_the_manual(name: str) -> None:
    manual = CMQC if hasattr(CMQC, name) else CMQXC
    assert getattr(constants, name) == getattr(manual, name)


def test_there_are_many() -> None:
    assert len(NAMES) > 250
