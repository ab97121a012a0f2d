"""What is called again and again: a fault that lasts is logged once."""

from __future__ import annotations

import pytest
import structlog

from adapter.errors import StartError
from adapter.server.process.repeating import LastingFault


def test_a_fault_is_logged_once_until_it_changes_or_comes_back() -> None:
    fault = LastingFault("the file stays as it was")
    with structlog.testing.capture_logs() as lines:
        for reason in ("gone", "gone", "damaged", "damaged", "", "damaged"):
            with fault.log():
                if reason:
                    raise StartError(reason)
    assert [line["event"] for line in lines] == ["the file stays as it was"] * 3
    expected = [str(StartError(reason)) for reason in ("gone", "damaged", "damaged")]
    assert [line["reason"] for line in lines] == expected


def test_another_error_is_raised() -> None:
    with pytest.raises(ZeroDivisionError), LastingFault("it stays").log():
        raise ZeroDivisionError
