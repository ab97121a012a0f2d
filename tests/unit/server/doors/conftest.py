"""Tests of doors are coroutines where they stand in for one: on the loop that a server runs on."""

import pytest
import uvloop

from tests.unit.aio.conftest import LoopFactory, pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]


@pytest.fixture(autouse=True)
def loops() -> LoopFactory:
    return uvloop.new_event_loop
