"""What becomes of errors of commands."""

import pytest

from adapter.command import failures

KINDS = KeyError, OSError


def test_expected_errors_are_one_sentence() -> None:
    with pytest.raises(failures.Failed) as raised, failures.expect(*KINDS):
        raise OSError("the file is gone")
    assert str(raised.value) == "the file is gone"
    assert isinstance(raised.value.__cause__, OSError)


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(ValueError, match="neither"), failures.expect(*KINDS):
        raise ValueError("neither")
