"""The selectors are those of ibmmq's constants."""

from ibmmq import CMQC

from adapter.mqi.inquiring import BY_NUMBER
from adapter.mqi.selectors import TEXT_LENGTHS, WHOLE_NUMBERS

NO_SELECTORS = ("FIRST", "LAST", "USER_LIST")
"""Bounds of ranges."""


def constants(prefix: str) -> dict[str, int]:
    return {
        name.removeprefix(prefix): value
        for name, value in vars(CMQC).items()
        if name.startswith(prefix) and name.removeprefix(prefix) not in NO_SELECTORS
    }


def test_every_selector_of_the_manual_is_one_and_no_other_number() -> None:
    assert set(constants("MQCA_").values()) == set(TEXT_LENGTHS)
    assert set(constants("MQIA_").values()) == WHOLE_NUMBERS


def test_texts_are_as_long_as_their_constants_say() -> None:
    for name, selector in constants("MQCA_").items():
        length = getattr(CMQC, f"MQ_{name}_LENGTH", None)
        assert length in (None, TEXT_LENGTHS[selector]), name


def test_texts_of_objects_here_have_a_length() -> None:
    kinds = ("queue", "model", "alias", "remote", "process", "namelist", "queue_manager")
    for kind in kinds:
        for number, row in BY_NUMBER[kind].items():
            if 2001 <= number <= 4000 and row.name != "names":
                assert (row.attribute.length or 48) >= TEXT_LENGTHS[number], row.name
